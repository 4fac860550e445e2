package headway_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
)

// TestFleetAtItsLimit: a job whose limit is exactly what it needs is complete, though URLs
// that robots.txt forbids end a moment after its last page, and one is found there; with one less it is partial.
func TestFleetAtItsLimit(t *testing.T) {
	const hosts, yes, no = 3, 4, 30
	const pages = hosts * (yes + 1)
	for name, tc := range map[string]struct {
		asked limit.Limits
		want  job.State
	}{
		"pages":         {limit.Limits{Pages: pages}, job.Complete},
		"one page less": {limit.Limits{Pages: pages - 1}, job.Partial},
	} {
		for workers := 1; workers <= 2; workers++ {
			t.Run(fmt.Sprintf("%s, %d workers", name, workers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newLimited(t, farm(1, small(1)), limit.Limits{})
					f.worker = func(c *headway.Worker) { c.Store = farStore{f.st.(*memory.Store)} }
					f.cfg.Seeds, f.cfg.Fetcher = nil, &fenced{yes: yes, no: no, late: "http://a0.example/no/late"}
					for i := range hosts {
						f.cfg.Seeds = append(f.cfg.Seeds, mustURL(fmt.Sprintf("http://a%d.example/", i)))
					}
					id := f.requestLimited(tc.asked)
					fleet := f.startAll(workers)
					j, counts := f.await(id, 10*time.Minute)
					f.drain(fleet)
					forbidden := counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.RobotsDisallow}]
					if j.State != tc.want || tc.want == job.Complete && (counts.Pages() != pages || forbidden != hosts*no+1) {
						t.Errorf("%s (%s) with %d pages, %d forbidden, %d waiting, want %s", j.State, j.Reason, counts.Pages(), forbidden, counts.Waiting, tc.want)
					}
				})
			})
		}
	}
}

// TestCrawlAtItsLimit is the same on one machine.
func TestCrawlAtItsLimit(t *testing.T) {
	const hosts, yes, no = 3, 4, 30
	const pages, requests = hosts * (yes + 1), hosts * (yes + 2)
	for name, tc := range map[string]struct {
		asked limit.Limits
		want  job.State
	}{
		"pages":            {limit.Limits{Pages: pages}, job.Complete},
		"one page less":    {limit.Limits{Pages: pages - 1}, job.Partial},
		"requests":         {limit.Limits{Requests: requests}, job.Complete},
		"one request less": {limit.Limits{Requests: requests - 1}, job.Partial},
		"both":             {limit.Limits{Pages: pages, Requests: requests}, job.Complete},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulated(t, 1, small(1))
				s.cfg.Store = farStore{s.st.(*memory.Store)}
				s.cfg.Seeds, s.cfg.Fetcher = nil, &fenced{yes: yes, no: no, late: "http://a0.example/no/late"}
				for i := range hosts {
					s.cfg.Seeds = append(s.cfg.Seeds, mustURL(fmt.Sprintf("http://a%d.example/", i)))
				}
				s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: tc.asked})
				r := s.run()
				forbidden := r.Counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.RobotsDisallow}]
				if r.State != tc.want || tc.asked.Requests > 0 && r.Requests > tc.asked.Requests || tc.want == job.Complete && (r.Counts.Pages() != pages || forbidden != hosts*no+1) {
					t.Errorf("%s (%s) with %d pages, %d requests, %d forbidden, %d waiting, want %s", r.State, r.Reason, r.Counts.Pages(), r.Requests, forbidden, r.Counts.Waiting, tc.want)
				}
			})
		})
	}
}
