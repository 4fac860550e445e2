package headway_test

import (
	"testing"
	"testing/synctest"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
)

// optOut adds a host of the web to the fleet's opt-out list.
func (f *fleet) optOut(host string) {
	f.Helper()
	_, added, err := f.st.(store.OptOuts).AddOptOut(f.Context(), store.OptOut{Name: host, At: time.Now()})
	if err != nil || !added {
		f.Fatalf("added %v: %v", added, err)
	}
}

// TestFleetOptOut: workers without notifications learn of an opt-out within a minute. No
// request is sent there from then on, not even for robots.txt by a worker that starts
// later, and all URLs there have ended.
func TestFleetOptOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 300
		f := &fleet{simulated: newSimulated(t, 4, small(pages))}
		id := f.submit(0)
		workers := []*worker{f.start(), f.start()}
		const gone = "h1.site1.example"
		time.Sleep(20 * time.Second)
		f.optOut("site1.example")
		time.Sleep(time.Minute + time.Second)
		asked := f.web.Host(gone).Requests
		if asked == 0 || asked > 100 {
			t.Fatalf("%d requests before", asked)
		}
		next := f.submit(0) // in addition to the first
		time.Sleep(10 * time.Second)
		f.drain(workers)
		workers = []*worker{f.start()}
		for _, id := range []job.ID{id, next} {
			j, counts := f.await(id, time.Hour)
			out := counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.OptedOut}]
			if j.State != job.Complete || out == 0 || counts.Waiting != 0 || counts.Errands != 0 {
				t.Errorf("%s (%s): %+v", j.State, j.Reason, counts)
			}
			if fetched := counts.Ended[store.Ending{Outcome: visit.Fetched}]; fetched < 3*pages {
				t.Errorf("%d pages of the others", fetched)
			}
		}
		f.drain(workers)
		if n := f.web.Host(gone).Requests; n != asked {
			t.Errorf("%d requests to a host that opted out", n-asked)
		}
		f.polite(time.Second)
	})
}

// TestFleetOptOutAtRest: URLs that wait when a worker starts are ended without a request
// for robots.txt.
func TestFleetOptOutAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{simulated: newSimulated(t, 2, small(20))}
		id := f.submit(0)
		if _, err := f.st.Add(t.Context(), time.Now(), []store.Found{{Item: visit.Item{Job: id, URL: mustURL("http://h1.site1.example/a"), Found: visit.FoundSeed}}}); err != nil {
			t.Fatal(err)
		}
		f.optOut("h1.site1.example")
		workers := []*worker{f.start()}
		j, counts := f.await(id, 10*time.Minute)
		f.drain(workers)
		if n := f.web.Host("h1.site1.example").Requests; n != 0 || j.State != job.Complete || counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.OptedOut}] < 2 {
			t.Errorf("%d requests, %s: %+v", n, j.State, counts)
		}
	})
}
