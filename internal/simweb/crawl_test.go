package simweb_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"headway"
	"headway/fetch"
	jobs "headway/job"
	"headway/limit"
	"headway/politeness"
	"headway/robots"
	"headway/scope"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// longest is when a run without a time limit counts as hanging.
const longest = 90 * 24 * time.Hour

// crawl is one job that is crawled by [headway.Run], run after run, with its own store.
// Jobs that share no host are separate crawls; for those that do see [fleet].
type crawl struct {
	world *world
	job   *job
	store *meteredStore
}

func newCrawl(w *world, j *job) *crawl {
	return &crawl{world: w, job: j, store: newShelf(memory.Config{})}
}

// live runs the crawls until the given time has passed or no work is left, and ends them: a
// clean stop finishes and stores what is under way, a crash loses it.
func live(w *world, crawls []*crawl, st step, crash bool) error {
	client, err := w.client(st.timeout)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, kill := context.WithCancel(context.Background())
	defer kill()
	drain, over := make(chan struct{}), make(chan error, len(crawls))
	for _, c := range crawls {
		go func() { over <- c.run(ctx, drain, gated{client, w}, st.workers) }()
	}
	span := st.span
	if span == 0 {
		span = longest
	}
	timer := time.NewTimer(span)
	defer timer.Stop()
	for range crawls {
		select {
		case err = <-over:
		case <-timer.C:
			w.gate.pass(halting, "", 0)
			if st.span == 0 {
				w.problem("work is left")
			}
			if crash {
				for _, c := range crawls {
					c.store.killed.Store(true)
				}
				kill()
			} else {
				close(drain)
			}
			err = <-over
		}
		if err != nil && !(crash && errors.Is(err, errKilled)) {
			return err
		}
	}
	if !crash {
		return nil
	}
	for _, c := range crawls {
		if err := c.store.revive(); err != nil {
			return err
		}
	}
	return nil
}

// run is one run of a crawl.
func (c *crawl) run(ctx context.Context, drain <-chan struct{}, fetcher fetch.Fetcher, workers int) error {
	select {
	case <-time.After(time.Until(c.world.begin.Add(c.job.start))):
	case <-drain:
		return nil
	case <-ctx.Done():
		return nil
	}
	l := &life{}
	w := c.world.worker(fetcher, workers, c.job)
	w.Store, w.Drain, w.Trace = c.store, drain, c.world.watch(l)
	c.store.begin()
	report, err := headway.Run(ctx, w, c.world.engineJob(c.job))
	l.end, l.worked = time.Now(), c.store.worked(c.world)
	if err == nil {
		l.shares = report.Shares
	}
	c.world.ended(l)
	return err
}

// engineJob returns a job for the engine.
func (w *world) engineJob(j *job) headway.Job {
	out := headway.Job{
		Name: "scenario", Sitemaps: headway.SitemapsOff, Policy: j.policy,
		Limits: limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Patience: j.patience}}),
	}
	for _, h := range w.hosts {
		for _, t := range h.targets {
			if t.job == j {
				out.Seeds = append(out.Seeds, t.url)
			}
		}
	}
	if !j.whole() {
		out.Scope = scope.Config{Include: []string{"/only-the-seeds"}}
	}
	return out
}

// worker returns a worker for these jobs, without a store. robots.txt follows the strictest
// of them.
func (w *world) worker(fetcher fetch.Fetcher, workers int, jobs ...*job) headway.Worker {
	careful := func(j *job) bool { return !j.policy.AllowUnreachableRobots }
	return headway.Worker{
		Fetcher: fetcher, Bounds: headway.Bounds{Workers: workers}, Robots: robots.Policy{AllowUnreachable: !slices.ContainsFunc(jobs, careful)},
		Owned:     func(weburl.URL) bool { return true }, // any policy may be simulated
		Addresses: w.sharedAddresses(),
	}
}

// settle reads how everything ended.
func (c *crawl) settle() error {
	list, err := c.store.JobList(context.Background(), 0, 1)
	if err != nil || len(list) == 0 {
		return err
	}
	if err := c.store.settle(c.world, list[0].ID, c.job); err != nil {
		return err
	}
	for _, h := range c.world.hosts {
		if slices.Contains(c.job.hosts, h.name) {
			h.pace = c.job.policy.Pace(h.state)
		}
	}
	return nil
}

// settle reads how the URLs of a job ended, and what was learned about its hosts.
func (s *meteredStore) settle(w *world, id jobs.ID, j *job) error {
	ctx := context.Background()
	entries := map[weburl.URL]store.Entry{}
	for q := (store.Query{Job: id, Max: store.MaxPage}); ; {
		page, err := s.List(ctx, q)
		if err != nil {
			return err
		}
		for _, e := range page.Entries {
			entries[e.Item.URL] = e
		}
		if page.Next == "" {
			break
		}
		q.After = page.Next
	}
	for _, h := range w.hosts {
		if !slices.Contains(j.hosts, h.name) {
			continue
		}
		for _, t := range h.targets {
			if t.job != j {
				continue
			}
			if e, ok := entries[t.url]; !ok {
				w.problem("%s is not stored", t.url)
			} else {
				t.settle(&e)
			}
			delete(entries, t.url)
		}
		stored, err := s.Host(ctx, "http://"+h.name)
		switch {
		case errors.Is(err, store.ErrNotFound):
			h.state = politeness.New(h.name)
		case err != nil:
			return err
		default:
			if err := h.state.UnmarshalBinary(stored.Politeness); err != nil {
				return err
			}
		}
	}
	for u, e := range entries {
		if e.Outcome != visit.Skipped {
			w.problem("%s was %s, but no job wanted it", u, e.Outcome)
		}
	}
	return nil
}

// settle records how the URL ended.
func (t *target) settle(e *store.Entry) {
	t.outcome, t.reason, t.charged = e.Outcome, e.Reason, e.Item.Attempt > 0
	if v := e.Visit; v != nil {
		failed := v.Outcome == visit.Failed || v.Outcome == visit.ServerError || v.Outcome == visit.Throttled
		t.charged = failed || v.Item.Attempt > 0
	}
}
