package headway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/frontier"
	"headway/internal/exchange"
	"headway/job"
	"headway/robots"
	"headway/store"
	"headway/visit"
)

// How many URLs that end without a turn go with one commit: few enough that a page or
// an order does not wait long behind them. A store that is a network away is slower: there
// pages go first.
const (
	endingsAtOnce  = 64
	endingsOfFleet = 4 // and none beside pages
)

// siftPage is how many waiting URLs are read from the store at a time to be judged
// by a robots.txt that is new.
const siftPage = store.MaxVisits

// forbidden is how a URL that waits ends if the robots.txt of its host forbids it, nil
// otherwise. It belongs to the loop and never waits: where the rules are not in memory
// the verdict before the request decides alone, as it does for all others.
func (c *crawler) forbidden(it *visit.Item) *visit.Visit {
	s, run := c.sites[it.URL.Host()], c.runs[it.Job]
	if s == nil || run == nil || s.ignored {
		return nil
	}
	now := c.loop.Now()
	verdict := c.cfg.Robots.Verdict(s.robots, now)
	if c.domains.Yielding(s.domain) || c.halted || !exchange.ByRules(verdict) {
		return nil
	}
	file := c.rules.Peek(verdict.Sum)
	if file == nil {
		return nil
	}
	v := c.forbid(verdict, file, it, now)
	if v != nil {
		run.findSitemaps(s, exchange.SitemapsOf(file)) // before its end is committed, which may be that of the job
	}
	return v
}

// forbid is the visit of a URL that a robots.txt forbids, nil for others.
func (c *crawler) forbid(verdict robots.Verdict, file *robots.File, it *visit.Item, now time.Time) *visit.Visit {
	rules := file.For(c.cfg.Agent)
	if verdict.Decide(rules, it.URL).Allowed {
		return nil
	}
	v := &visit.Visit{Item: *it}
	exchange.Judge(v, verdict, rules, now)
	return v
}

// endingsBeside is how many URLs that end without a turn go with a commit of so many
// visits.
func (c *crawler) endingsBeside(visits int) int {
	switch {
	case c.halted:
		return store.MaxVisits // nobody waits behind them
	case c.fleet != nil && visits > 0:
		return 0
	case c.fleet != nil:
		return endingsOfFleet
	}
	return endingsAtOnce
}

// spareEndings leaves URLs waiting that would end without a turn and are in no commit
// yet: those of a domain that is given up, of a job that stops, or all. Nobody waits for
// them to leave.
func (c *crawler) spareEndings(now time.Time, which func(*frontier.Request) bool) {
	c.f.Spare(now, c.commits.Spare(which))
	c.siftOn()
}

// yield stops sending to a domain.
func (c *crawler) yield(now time.Time, domain string) {
	c.spareEndings(now, func(r *frontier.Request) bool { return r.Item.URL.Domain() == domain })
	c.f.Yield(now, domain)
}

// stopJob starts nothing more for a job of a fleet.
func (c *crawler) stopJob(now time.Time, id job.ID) {
	c.spareEndings(now, func(r *frontier.Request) bool { return r.Job == id })
	c.f.StopJob(now, id)
}

// siftOn lets a sift go on once what it ended is stored.
func (c *crawler) siftOn() {
	if stored := c.siftStored; stored != nil && !c.commits.Ending() {
		c.siftStored = nil
		stored()
	}
}

// startSift judges what waits in the store beyond what is in memory, one queue at a
// time. A process that is killed meanwhile leaves the rest waiting: it is judged when the
// host is next taken into memory.
func (c *crawler) startSift(ctx context.Context) {
	if c.sifting || len(c.sifts) == 0 {
		return
	}
	next := c.sifts[0]
	c.sifts = c.sifts[1:]
	s := c.sites[next.Host]
	if s == nil || s.ignored || !exchange.ByRules(c.cfg.Robots.Verdict(s.robots, c.loop.Now())) {
		c.f.Sifted(c.loop.Now(), next)
		c.startSift(ctx)
		return
	}
	c.sifting = true
	state := s.robots
	c.loop.Go(func() {
		err := c.sift(ctx, next, state)
		c.loop.Post(func(now time.Time) {
			c.sifting = false
			c.f.Sifted(now, next)
			if err != nil && !errors.Is(err, robots.ErrNotStored) { // which is fetched again before the next page
				c.loop.FailUnless(ctx, fmt.Errorf("judge what waits on %s: %w", next.Host, err))
			}
		})
	})
}

// sift reads what waits of a job on a host, page by page, and ends what is forbidden
// before it reads on.
func (c *crawler) sift(ctx context.Context, s frontier.Sift, state robots.State) error {
	verdict := c.cfg.Robots.Verdict(state, c.loop.Now())
	file, err := c.rules.Get(ctx, verdict.Sum)
	if err != nil {
		return err
	}
	q := store.Query{Job: s.Job, Host: s.Host, Outcome: visit.Pending, Max: siftPage}
	for more := true; more; {
		var page store.Page
		if err := c.loop.Retry(ctx, func() (err error) { page, err = c.st.List(ctx, q); return err }); err != nil {
			return err
		}
		var list []*visit.Visit
		for i := range page.Entries {
			if v := c.forbid(verdict, file, &page.Entries[i].Item, c.loop.Now()); v != nil {
				list = append(list, v)
			}
		}
		if more = page.Next != ""; len(list) > 0 && !c.endForbidden(ctx, s, list) {
			return nil
		}
		q.After = page.Next
	}
	return nil
}

// endForbidden ends URLs and waits until that is stored. It tells whether to go on.
func (c *crawler) endForbidden(ctx context.Context, s frontier.Sift, list []*visit.Visit) bool {
	ended := make(chan bool, 1)
	c.loop.Post(func(now time.Time) {
		if !c.f.Forbid(now, s, list) {
			ended <- false
			return
		}
		c.siftStored = func() { ended <- true }
	})
	select {
	case more := <-ended:
		return more
	case <-ctx.Done():
		return false
	}
}
