package headway_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"headway/fetch"
	"headway/job"
	"headway/store"
	"headway/weburl"
)

// public is a fetcher for which no address is the operator's own.
type public struct{ fetch.Fetcher }

func (p public) Do(ctx context.Context, req fetch.Request) (*fetch.Result, error) {
	res, err := p.Fetcher.Do(ctx, req)
	res.Owned = req.Owned
	return res, err
}

func (p public) Robots(ctx context.Context, req fetch.Request) (*fetch.Result, []weburl.URL, error) {
	res, hops, err := p.Fetcher.Robots(ctx, req)
	res.Owned = req.Owned
	return res, hops, err
}

// TestFleetOwnedHosts: settings for owned hosts apply only to a tenant that owns the host,
// whatever the job says.
func TestFleetOwnedHosts(t *testing.T) {
	const host = "http://h0.site0.example"
	for name, tt := range map[string]struct {
		tenant string
		proven bool
		quick  bool
	}{
		"claimed":   {"acme", false, false},
		"proven":    {"acme", true, true},
		"another's": {"other", true, false},
		"no tenant": {"", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{simulated: newSimulated(t, 1, small(10))}
				f.cfg.Fetcher = public{f.cfg.Fetcher}
				f.cfg.Policy = preset("owned")
				f.cfg.Policy.Base = 100 * time.Millisecond
				hosts := f.st.(store.OwnedHosts)
				if _, err := hosts.ClaimHost(t.Context(), store.OwnedHost{Tenant: "acme", Host: host, Token: "x"}); err != nil {
					t.Fatal(err)
				}
				if tt.proven {
					if err := hosts.ProveHost(t.Context(), time.Now(), "acme", host, store.ByFile, "key"); err != nil {
						t.Fatal(err)
					}
				}
				now := time.Now().UTC()
				id, err := f.st.CreateJob(t.Context(), store.Job{Name: "test", Tenant: tt.tenant, State: job.Running, CreatedAt: now, StartedAt: now})
				if err != nil {
					t.Fatal(err)
				}
				workers := []*worker{f.start()}
				f.await(id, 10*time.Minute)
				f.drain(workers)
				stats := f.web.Host("h0.site0.example")
				if gap := stats.MinGapMS; stats.Requests < 10 || tt.quick != (gap < 200) || !tt.quick && gap < 1000 {
					t.Errorf("%d requests, the smallest gap %v ms", stats.Requests, gap)
				}
			})
		})
	}
}
