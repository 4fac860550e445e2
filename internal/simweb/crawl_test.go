package simweb_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"headway"
	"headway/fetch"
	"headway/limit"
	"headway/politeness"
	"headway/robots"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// longest is when a run without a time limit has failed to end.
const longest = 90 * 24 * time.Hour

// crawl is one job that is crawled by [headway.Run], life after life, with a
// store of its own. Jobs that share no host are crawls beside each other.
type crawl struct {
	world *world
	job   *job
	store *shelf
	seeds []weburl.URL
	begun bool
}

func newCrawl(w *world, j *job) *crawl {
	c := &crawl{world: w, job: j, store: newShelf()}
	for _, h := range w.hosts {
		for _, t := range h.targets {
			if t.job == j {
				c.seeds = append(c.seeds, t.url)
			}
		}
	}
	return c
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
	l := &life{worked: map[*host]time.Duration{}}
	w, j := c.config(fetcher, workers)
	w.Drain, w.Trace = drain, c.world.watch(l)
	if !c.begun {
		c.begun = true
		for _, u := range c.seeds {
			l.worked[c.world.names[u.Host()]] = 0
		}
	}
	for name, n := range c.store.waiting {
		if n > 0 {
			l.worked[c.world.names[name]] = 0
		}
	}
	from := time.Now()
	clear(c.store.again)
	report, err := headway.Run(ctx, w, j)
	l.end = time.Now()
	for name := range c.store.again {
		l.worked[c.world.names[name]] = 0
	}
	if err == nil {
		l.shares = report.Shares
	}
	for h := range l.worked {
		to := l.end
		if name := "http://" + h.name; c.store.waiting[name] == 0 {
			to = c.store.ended[name]
		}
		l.worked[h] = to.Sub(from)
	}
	c.world.ended(l)
	return err
}

// config is what is asked of the engine.
func (c *crawl) config(fetcher fetch.Fetcher, workers int) (headway.Worker, headway.Job) {
	j := c.job
	work := headway.Job{
		Name: "scenario", Seeds: c.seeds, Sitemaps: headway.SitemapsOff, Policy: j.policy,
		Limits: limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Patience: j.patience}}),
	}
	if !j.whole() {
		work.Scope = scope.Config{Include: []string{"/only-the-seeds"}}
	}
	return headway.Worker{
		Store: c.store, Fetcher: fetcher, Bounds: headway.Bounds{Workers: workers}, Robots: robots.Policy{AllowUnreachable: j.policy.AllowUnreachableRobots},
		Owned:     func(weburl.URL) bool { return true }, // any policy may be simulated
		Addresses: c.world.sharedAddresses(),
	}, work
}

// settle reads how everything ended.
func (c *crawl) settle() error {
	ctx := context.Background()
	jobs, err := c.store.JobList(ctx, 0, 1)
	if err != nil || len(jobs) == 0 {
		return err
	}
	entries := map[weburl.URL]store.Entry{}
	for q := (store.Query{Job: jobs[0].ID, Max: store.MaxPage}); ; {
		page, err := c.store.List(ctx, q)
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
	for _, h := range c.world.hosts {
		if !slices.Contains(c.job.hosts, h.name) {
			continue
		}
		for _, t := range h.targets {
			if e, ok := entries[t.url]; !ok {
				c.world.problem("%s is not stored", t.url)
			} else {
				t.settle(&e)
			}
			delete(entries, t.url)
		}
		stored, err := c.store.Host(ctx, "http://"+h.name)
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
		h.pace = c.job.policy.Pace(h.state)
	}
	for u, e := range entries {
		if e.Outcome != visit.Skipped {
			c.world.problem("%s was %s, and nobody wanted it", u, e.Outcome)
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
