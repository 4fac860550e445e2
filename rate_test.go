package headway_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// TestFleetRate limits a tenant with two jobs to its plan's rate while workers join, leave
// and crash; its hosts and another tenant's job would allow more. Hosts see in no second
// more requests than the rate plus one, plus one for each worker, which may have kept a
// reservation for hosts that moved to another; and the rate is nearly all used.
func TestFleetRate(t *testing.T) {
	for name, layers := range map[string]struct{ safety, plan int64 }{"plan": {0, 5}, "safety": {5, 50}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const hosts, pages, rate = 30, 6, 5
				f := newLimited(t, farm(hosts, small(pages)), limit.Limits{RequestsPerSecond: layers.safety})
				f.cfg.Policy.InFlight = 1
				f.plan(store.Plan{Name: "acme", Limits: limit.Limits{RequestsPerSecond: layers.plan}})
				began := time.Now()
				ids := []job.ID{f.request("acme", 0), f.request("acme", 0)}
				workers := []*worker{f.start()}
				time.Sleep(10 * time.Second)
				workers = append(workers, f.start())
				time.Sleep(15 * time.Second)
				workers[0].crash()
				workers = append(workers[1:], f.start())
				time.Sleep(10 * time.Second)
				close(workers[0].drain)
				if err := <-workers[0].done; err != nil {
					t.Errorf("a worker that was drained: %v", err)
				}
				workers = append(workers[1:], f.start())
				for _, id := range ids {
					if j, counts := f.await(id, 10*time.Minute); j.State != job.Complete || counts.Ended[store.Ending{Outcome: visit.Fetched}] != hosts*pages {
						t.Errorf("%s (%s): %v", j.State, j.Reason, counts.Ended)
					}
				}
				took := time.Since(began)
				f.drain(workers)
				f.polite(time.Second)
				n, most := f.seen()
				t.Logf("%d requests in %v, at most %d within a second", n, took, most)
				if bound := rate + 1 + len(workers); most > bound {
					t.Errorf("%d requests within a second, want at most %d", most, bound)
				}
				if float64(n) < 0.7*rate*took.Seconds() {
					t.Errorf("%d requests in %v: the rate was not used", n, took)
				}
			})
		})
	}
}

// seen is how many requests all hosts saw, and the maximum within a second.
func (f *fleet) seen() (n, most int) {
	var at []time.Time
	for _, r := range f.web.Log() {
		at = append(at, r.Start)
	}
	slices.SortFunc(at, time.Time.Compare)
	for from, to := 0, 0; to < len(at); to++ {
		for at[to].Sub(at[from]) >= time.Second {
			from++
		}
		most = max(most, to-from+1)
	}
	return len(at), most
}
