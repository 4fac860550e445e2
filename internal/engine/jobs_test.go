package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"headway/frontier"
	"headway/internal/jobrun"
	"headway/job"
	"headway/limit"
	"headway/politeness"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// errandStore is a store in which one errand waits, on a host that its job has reserved.
type errandStore struct {
	store.Store
	errand store.Errand
}

func (s errandStore) TakeHosts(context.Context, job.ID, int64, []string) (store.Taken, error) {
	return store.Taken{N: 1, Hosts: []string{s.errand.URL.Host()}}, nil
}

func (s errandStore) Errands(context.Context, []store.Want) ([]store.Errand, error) {
	return []store.Errand{s.errand}, nil
}

// TestErrandsRunOnce checks that a sitemap that waits in the store is read exactly once,
// whichever way the worker learns of it.
func TestErrandsRunOnce(t *testing.T) {
	u, err := weburl.Parse("http://a.example/sitemap.xml")
	if err != nil {
		t.Fatal(err)
	}
	errand := store.Errand{Job: 1, URL: u}
	const beforeReserved = "in the store before its host is known to be reserved"
	for name, deliver := range map[string]func(*crawler, *jobrun.Hosts, time.Time){
		"in the store": func(c *crawler, _ *jobrun.Hosts, now time.Time) {
			c.jobs.sendErrands(now, []store.Errand{errand})
		},
		"in the store after we requested it too": func(c *crawler, _ *jobrun.Hosts, now time.Time) {
			c.hosts.site(u).sitemapsOf(1)[u] = sitemap{}
			c.jobs.sendErrands(now, []store.Errand{errand})
		},
		beforeReserved: func(c *crawler, l *jobrun.Hosts, now time.Time) {
			c.jobs.sendErrands(now, []store.Errand{errand})
			l.Learn(&store.Taken{N: 1, Hosts: []string{u.Host()}}) // with the response for another host
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrawler(newWorker(errandStore{memory.Open(memory.Config{}), errand}), false)
				now := time.Now().UTC()
				c.f = frontier.New(frontier.Config{Head: 10, MaxItems: 10, HotHosts: 10, Robots: 1, Slow: 1}, now)
				slot := store.SlotOf(c.key, u.Domain())
				c.slots.Own([]store.Lease{{Slot: slot}})
				r := &run{base: c.base, Stored: &jobrun.Stored{ID: 1, Store: c.st}}
				r.Limits = limit.Resolve(limit.Layer{Level: limit.Plan, Limits: limit.Limits{Hosts: 1}})
				r.budget = limit.NewBudget(r.Limits, now, limit.Use{})
				c.jobs.runs[1] = r
				if name == beforeReserved {
					r.hosts = jobrun.NewHosts(1)
				}
				policy, _ := politeness.Preset(politeness.DefaultPreset)
				c.f.AddJob(frontier.Job{ID: 1, Patience: time.Hour, HostLimited: r.hosts != nil, Policy: func(string) *politeness.Policy { return &policy }})
				deliver(c, r.hosts, now)
				read := 0
				for range 10 {
					if read > 0 {
						c.jobs.sendErrands(now, []store.Errand{errand}) // as the next read of the store does
					}
					b := c.f.Next(now, 1, visit.WaitWorkers)
					for _, h := range b.Load {
						c.f.Loaded(now, frontier.HostState{Host: h, Robots: frontier.RobotsState{Known: true, Ever: true}})
					}
					c.f.Refilled(now, b.Refill, nil)
					c.jobs.reserveHosts(t.Context(), now, b.Take)
					for _, r := range b.Requests {
						if r.Kind == frontier.Sitemap && r.URL == u {
							read++
						}
						c.f.Skip(now, r)
					}
					synctest.Wait()
					for len(c.loop.Answers()) > 0 {
						(<-c.loop.Answers())(now)
					}
					now = now.Add(10 * time.Second) // longer than any pace
				}
				if read != 1 {
					t.Errorf("it was read %d times", read)
				}
			})
		})
	}
}
