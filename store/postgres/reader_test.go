package postgres

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// TestReader runs the queries of store.Reader on a small job, which shares its tables, and
// on a large one. Hosts of other jobs are not included.
func TestReader(t *testing.T) {
	for name, pages := range map[string]int64{"shared": 10, "own": 0} {
		t.Run(name, func(t *testing.T) {
			s := openTest(t, t.TempDir(), nil)
			defer s.Close()
			now := time.Now().UTC()
			w, leases := joined(t, s, store.SlotCount)
			var ids [2]job.ID
			for i := range ids {
				var err error
				ids[i], err = s.CreateJob(t.Context(), store.Job{State: job.Running, MaxPages: pages})
				fatal(t, err)
			}
			item := func(id job.ID, host, page int) visit.Item {
				u, err := weburl.Parse(fmt.Sprintf("http://host%d.example/%d", host, page))
				fatal(t, err)
				return visit.Item{Job: id, URL: u, Found: visit.FoundSeed}
			}
			outside := item(ids[0], 99, 0)
			found := []store.Found{{Item: outside, Outcome: visit.Skipped, Reason: visit.OutOfScope}}
			for host := range 7 {
				for page := range host + 1 {
					found = append(found, store.Found{Item: item(ids[0], host, page)})
				}
				found = append(found, store.Found{Item: item(ids[1], host+5, 0)})
			}
			_, err := s.Add(t.Context(), now, found)
			fatal(t, err)
			tried := item(ids[0], 3, 1)
			_, err = s.Commit(t.Context(), store.Commit{
				Worker: w, Number: 1, At: now, Leases: leases,
				Retries: []store.Retry{{Visit: visit.Visit{Item: tried, Outcome: visit.Pending, Wait: visit.WaitHold, Detail: "not now"}, NotBefore: now}},
				Paces:   []store.PaceChange{{Host: tried.URL.Host(), At: now, To: time.Second, Cause: "incident"}},
			})
			fatal(t, err)

			var got []string
			for q := (store.HostListQuery{Job: ids[0], Max: 3}); ; {
				page, err := s.HostList(t.Context(), q)
				fatal(t, err)
				for _, h := range page.Hosts {
					got = append(got, fmt.Sprintf("%s %d %d", h.Host.Host, h.Waiting, h.Incidents))
				}
				if q.After = page.Next; q.After == "" {
					break
				}
			}
			var want []string
			for host := range 7 {
				incidents := 0
				if host == 3 {
					incidents = 1
				}
				want = append(want, fmt.Sprintf("http://host%d.example %d %d", host, host+1, incidents))
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("hosts %v, want %v", got, want)
			}

			for host, n := range map[string]int{"http://host6.example": 1, "http://host8.example": 0, "http://nobody.example": 0} {
				page, err := s.HostList(t.Context(), store.HostListQuery{Job: ids[0], Host: host, Max: 5})
				if err != nil || len(page.Hosts) != n || page.Next != "" || n == 1 && (page.Hosts[0].Host.Host != host || page.Hosts[0].Waiting != 7) {
					t.Errorf("the host %s alone: %+v, %v", host, page, err)
				}
			}
			page, err := s.Attempts(t.Context(), store.AttemptQuery{Job: ids[0], Host: tried.URL.Host(), Max: 1})
			fatal(t, err)
			if len(page.Attempts) != 1 || page.Attempts[0].Item.URL != tried.URL || page.Attempts[0].Detail != "not now" || page.Next != "" {
				t.Errorf("attempts %+v", page)
			}
			for host, n := range map[string]int{"http://host4.example": 0, "http://nobody.example": 0} {
				if page, err := s.Attempts(t.Context(), store.AttemptQuery{Job: ids[0], Host: host, Max: 10}); err != nil || len(page.Attempts) != n {
					t.Errorf("attempts on %s: %+v, %v", host, page, err)
				}
			}

			for u, want := range map[weburl.URL]bool{outside.URL: true, tried.URL: false} {
				if is, err := s.Aside(t.Context(), ids[0], u); err != nil || is != want {
					t.Errorf("%s aside: %v, %v", u, is, err)
				}
			}
			if is, err := s.Aside(t.Context(), ids[1], outside.URL); err != nil || is {
				t.Errorf("aside in another job: %v, %v", is, err)
			}
			if _, err := s.HostList(t.Context(), store.HostListQuery{Job: 99, Max: 1}); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("hosts of no job: %v", err)
			}
		})
	}
}

// TestControl stores orders in the order they came, and lists owners.
func TestControl(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	now := store.Stored(time.Now())
	want := []store.Order{
		{At: now, By: "ann", What: "slow", Host: "http://a.example", Worker: 3, Before: "1s", After: "5s"},
		{At: now, By: "bob", What: "cancel", Tenant: "acme", Job: 7, Before: "running", After: "cancelled"},
	}
	for i, o := range want {
		fatal(t, s.LogOrder(t.Context(), o))
		want[i].Number = int64(i + 1)
	}
	var got []store.Order
	for after := int64(0); ; {
		list, err := s.Orders(t.Context(), store.OrderQuery{All: true, After: after, Max: 1})
		fatal(t, err)
		if len(list) == 0 {
			break
		}
		got, after = append(got, list...), list[0].Number
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	w, leases := joined(t, s, 10)
	list, err := s.Holdings(t.Context())
	fatal(t, err)
	owned := 0
	for i, h := range list {
		if int(h.Slot) != i || (h.Owner == 0) != h.Since.IsZero() {
			t.Errorf("slot %d: %+v", i, h)
		}
		if h.Owner == w {
			owned++
		}
	}
	if len(list) != store.SlotCount || owned != len(leases) {
		t.Errorf("%d of %d slots owned, want %d", owned, len(list), len(leases))
	}
}
