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

// longest is when a run without a time limit has failed to end.
const longest = 90 * 24 * time.Hour

// crawl is one job that is crawled by [headway.Run], life after life, with a
// store of its own. Jobs that share no host are crawls beside each other; for those
// that do see [fleet].
type crawl struct {
	world *world
	job   *job
	store *shelf
}

func newCrawl(w *world, j *job) *crawl {
	return &crawl{world: w, job: j, store: newShelf(memory.Config{})}
}

// live runs the crawls until the given time has passed or nothing is left to
// do, and ends them: a clean stop lets what is under way end and is stored, a
// crash loses it.
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

// run is one life of a crawl.
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
	report, err := headway.Run(ctx, w, c.world.asked(c.job))
	l.end, l.worked = time.Now(), c.store.worked(c.world)
	if err == nil {
		l.shares = report.Shares
	}
	c.world.ended(l)
	return err
}

// asked is a job as the engine takes it.
func (w *world) asked(j *job) headway.Job {
	asked := headway.Job{
		Name: "scenario", Sitemaps: headway.SitemapsOff, Policy: j.policy,
		Limits: limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Patience: j.patience}}),
	}
	for _, h := range w.hosts {
		for _, t := range h.targets {
			if t.job == j {
				asked.Seeds = append(asked.Seeds, t.url)
			}
		}
	}
	if !j.whole() {
		asked.Scope = scope.Config{Include: []string{"/only-the-seeds"}}
	}
	return asked
}

// worker is a worker for these jobs, without a store. robots.txt is treated as the
// most careful of them does.
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

// settle reads how the URLs of a job ended, and what was learned of its hosts.
func (s *shelf) settle(w *world, id jobs.ID, j *job) error {
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
			w.problem("%s was %s, and nobody wanted it", u, e.Outcome)
		}
	}
	return nil
}

// settle takes in how the URL ended.
func (t *target) settle(e *store.Entry) {
	t.outcome, t.reason, t.charged = e.Outcome, e.Reason, e.Item.Attempt > 0
	if v := e.Visit; v != nil {
		failed := v.Outcome == visit.Failed || v.Outcome == visit.ServerError || v.Outcome == visit.Throttled
		t.charged = failed || v.Item.Attempt > 0
	}
}
