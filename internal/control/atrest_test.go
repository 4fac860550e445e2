package control_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"headway/ask"
	"headway/internal/control"
	"headway/internal/pace"
	"headway/politeness"
	"headway/store"
)

// shared is a store with a domain that crawls share.
type shared struct {
	store.Store
	claim store.Claim
	back  []store.Host
}

func (s *shared) Claim(context.Context, time.Time, []string) (store.Claim, error) {
	return s.claim, nil
}
func (s *shared) Wanted(context.Context, time.Time) ([]string, error) { return nil, nil }
func (s *shared) Keep(context.Context) ([]string, error)              { return nil, nil }
func (s *shared) Yield(_ context.Context, _ time.Time, _ []string, hosts []store.Host) error {
	s.back = hosts
	return nil
}

// TestOrderWithoutCrawl changes the stored state of a host that no crawl is using.
func TestOrderWithoutCrawl(t *testing.T) {
	h := store.Host{Host: shop}
	if err := pace.Write(&h, politeness.New(shop).WithPaused(true), pace.Stored{}); err != nil {
		t.Fatal(err)
	}
	kept := store.Claim{Granted: []string{"shop.example"}, Hosts: []store.Host{h}}
	for name, c := range map[string]struct {
		claim store.Claim
		host  string
		want  error
	}{
		"kept":                {kept, shop, nil},
		"unknown host":        {kept, "http://other.shop.example", control.ErrHostUnknown},
		"a crawl works on it": {store.Claim{}, shop, control.ErrHostTaken},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				st := &shared{claim: c.claim}
				change, err := control.OrderAtRest(t.Context(), st, ask.Question{Kind: ask.KindSlow, Host: c.host, Delay: ask.Seconds(4 * time.Second), By: "ann"})
				if !errors.Is(err, c.want) {
					t.Fatal(err)
				}
				if c.want != nil {
					if len(st.back) > 0 {
						t.Errorf("%+v", st.back)
					}
					return
				}
				var s politeness.State
				if err := s.UnmarshalBinary(st.back[0].Politeness); err != nil || s.Asked() != 4*time.Second || !s.Paused() {
					t.Errorf("kept: %v, paused %v, %v", s.Asked(), s.Paused(), err)
				}
				const learned = "paused, learned 0s, floor 0s, operator minimum "
				if change.By != "ann" || change.Host != shop || change.Before != learned+"0s" || change.After != learned+"4s" {
					t.Errorf("%+v", change)
				}
			})
		})
	}
}
