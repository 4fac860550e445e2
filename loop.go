package headway

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"time"

	"headway/frontier"
	"headway/job"
	"headway/limit"
	"headway/politeness"
	"headway/robots"
	"headway/scope"
	"headway/store"
	"headway/visit"
)

// Times of the loop.
const (
	tickEvery    = 250 * time.Millisecond // limits, disk and progress are looked at
	graceful     = 2 * time.Second        // what is in flight gets after the time limit
	diskPatience = 10 * time.Minute       // how long too little room is waited out
)

// maxBehind is how many visits may wait for their commit before nothing more is
// fetched, and maxOutbox how many batches for the outputs.
const (
	maxBehind = 2 * store.MaxVisits
	maxOutbox = 64
)

// post hands something to the loop. It blocks while the loop is behind.
func (c *Crawl) post(f func(now time.Time)) { c.events <- f }

// fail ends the crawl with an error.
func (c *Crawl) fail(err error) {
	if c.fatal == nil && err != nil {
		c.fatal = err
	}
}

// ownTrouble ends the crawl for an error that is neither a host's nor the order
// to stop.
func (c *Crawl) ownTrouble(err error) {
	if c.stop == nil && !errors.Is(err, context.Canceled) && !errors.Is(err, errNotOurs) && !errors.Is(err, errHeld) {
		c.fail(err)
	}
}

// loop is the owner of everything that is remembered.
func (c *Crawl) loop(ctx, work context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	drain, ended := c.cfg.Drain, ctx.Done()
	c.watchDisk(c.now())
	c.warm(work)
	c.revisit(c.now())
	for c.fatal == nil {
		now := c.now()
		c.dispatch(work, now)
		c.startCommit(work, now)
		c.handOut()
		if c.finished(work, now) {
			return
		}
		select {
		case f := <-c.events:
			f(c.now())
			for n := len(c.events); n > 0; n-- {
				f := <-c.events
				f(c.now())
			}
		case <-timer.C:
		case <-tick.C:
			c.look(work, c.now())
		case <-drain:
			drain = nil
			c.halt(c.now(), &Stop{Reason: "interrupted"}, false)
		case <-ended:
			ended = nil
			c.halt(c.now(), &Stop{Reason: "interrupted"}, true)
		}
		timer.Reset(c.wake(c.now()))
	}
}

// revisit looks at the hosts of the seeds again when a crawl is resumed though
// nothing may wait there: what is still to be read of their sitemaps is not
// stored.
func (c *Crawl) revisit(now time.Time) {
	if !c.resumed || c.cfg.Sitemaps == SitemapsOff {
		return
	}
	known := map[string]bool{}
	for _, u := range c.cfg.Seeds {
		if host := u.Host(); !known[host] {
			known[host] = true
			c.site(u)
			if !c.f.Warm(now, u, []job.ID{c.job}) {
				return // the others are met when there is room for them
			}
		}
	}
}

// wake is how long to sleep unless something happens.
func (c *Crawl) wake(now time.Time) time.Duration {
	if c.nextWake.IsZero() {
		return time.Hour
	}
	return max(c.nextWake.Sub(now), 0)
}

// permits is how many more requests may start, and what those wait for that may
// not.
func (c *Crawl) permits(now time.Time) (int, visit.Wait) {
	c.gov.InFlight(c.busy)
	if c.committing {
		c.gov.Stalled(now, c.committed)
	}
	switch {
	case c.stop != nil:
		return 0, visit.WaitBudget
	case c.lowDisk, c.pages >= maxBehind, len(c.outbox) >= maxOutbox:
		return 0, visit.WaitStorage
	case !c.tenure.Load().MayStart(time.Now()):
		return 0, visit.WaitLease
	}
	short := visit.WaitWorkers
	switch c.gov.Reason() {
	case "storage":
		short = visit.WaitStorage
	case "parse", "memory":
		short = visit.WaitParse
	}
	if c.sifting {
		return max(1-c.busy, 0), visit.WaitBudget
	}
	permits := max(c.gov.Permits(now)-c.busy, 0)
	if c.cfg.Ungoverned {
		permits, short = c.cfg.Workers-c.busy, visit.WaitWorkers
	}
	if l := c.cfg.Limits.Of(limit.Requests); l.Limited() {
		if left := max(l.Max-c.budget.Spent().Requests-int64(c.busy), 0); int64(permits) > left {
			return int(left), visit.WaitBudget
		}
	}
	return permits, short
}

// dispatch asks the schedule what to do and does it.
func (c *Crawl) dispatch(work context.Context, now time.Time) {
	permits, short := c.permits(now)
	b := c.f.Next(now, permits, short)
	c.nextWake = b.Wake
	for i := range b.Resolved {
		r := &b.Resolved[i]
		c.settledPage(now, r.Request, r.Visit, nil, r.Settled)
	}
	for i := range b.Requests {
		c.start(work, now, b.Requests[i])
	}
	for _, p := range b.Parks {
		c.pend(entry{park: &p})
	}
	for _, r := range b.Rest {
		c.rest(r)
	}
	if len(b.Refill) > 0 {
		c.refills = append(c.refills, b.Refill...)
	}
	c.startRefill(work, now)
	for _, t := range b.Tokens {
		c.reserve(work, t)
	}
	c.loader.want(b.Load)
	for _, d := range b.Quiet {
		c.quiet(d)
	}
	c.share(work, now)
	if b.Cold {
		c.warm(work)
	}
}

// start gives a request to a worker, or ends a page that must not be fetched.
func (c *Crawl) start(work context.Context, now time.Time, r frontier.Request) {
	s := c.sites[r.Host]
	if r.Kind == frontier.Page {
		if v := c.unwanted(r.Item); v != nil {
			c.f.Skip(now, r)
			c.settledPage(now, r, v, nil, frontier.Settled{})
			return
		}
	}
	t := task{request: r, home: s.home, owned: s.owned, secrets: s.secrets, gate: &s.gate, robots: s.robots, ignored: s.ignored, sift: c.sifting}
	if r.Kind == frontier.Sitemap {
		t.nested = s.sitemaps[r.URL]
	}
	if c.hands == c.busy && c.hands < c.cfg.Workers {
		c.hands++
		c.background.Go(func() { c.work(work) })
	}
	c.busy++
	c.tasks <- t
}

// unwanted is the visit of a page that must not be fetched though it waits, nil
// for others.
func (c *Crawl) unwanted(item visit.Item) *visit.Visit {
	if c.guilty[item.URL] {
		return &visit.Visit{Item: item, Outcome: visit.Failed, Reason: visit.Quarantined, Detail: "in flight at several crashes of the crawler"}
	}
	if c.cfg.OptedOut(item.URL) {
		return &visit.Visit{Item: item, Outcome: visit.Skipped, Reason: visit.OptedOut}
	}
	d := scope.Decision{In: true}
	if c.resumed || c.cfg.Scope.Leaves {
		d = c.stillInScope(item)
	}
	if d.In && !d.Leaf && item.Found != visit.FoundSeed {
		d = c.duplicates.Look(item.URL)
	}
	if d.In {
		return nil
	}
	return &visit.Visit{Item: item, Outcome: visit.Skipped, Reason: visit.Reason(d.Reason), Detail: d.Rule}
}

// tookPage learns from a page, or from its absence.
func (c *Crawl) tookPage(now time.Time, l landing) {
	r := l.request
	if c.journal != nil && !l.skipped && !l.forgot && !l.sifted {
		if err := c.journal.Done(r.Item.Job, r.Item.URL); err != nil {
			c.fail(err)
		}
	}
	switch {
	case l.own != nil:
		c.f.PutBack(now, r)
		c.ownTrouble(l.own)
	case l.sifted:
		c.f.PutBack(now, r)
		c.sifted(now)
	case l.forgot:
		s := c.sites[r.Host]
		delete(c.versions, s.robots.Sum) // the store has lost it
		s.robots = s.robots.Forget()
		c.f.PutBack(now, r)
		c.f.SetRobots(now, r.Host, c.robotsState(s, now, c.crawlDelay(r.Host)))
	case l.skipped:
		c.f.Skip(now, r)
		c.settledPage(now, r, l.visit, nil, frontier.Settled{})
	default:
		settled := c.f.Settle(now, r, l.answer, l.visit)
		c.noteEffect(now, r.Host, settled.Effect)
		c.touch(r.Host)
		pages := int64(0)
		if settled.Verdict == frontier.Ended && l.visit.Outcome.Page() {
			pages = 1
		}
		c.spend(now, pages, left(l.answer), l.wire)
		if v := l.visit; v.Outcome == visit.Fetched && v.Page.Digest != "" && !l.leaf {
			c.duplicates.Observe(v.Item.URL, v.Page.SimHash, v.Page.Digest)
		}
		c.settledPage(now, r, l.visit, c.fresh(now, l.links), settled)
	}
}

// settledPage hands a visit to the next commit.
func (c *Crawl) settledPage(now time.Time, r frontier.Request, v *visit.Visit, links []link, s frontier.Settled) {
	switch s.Verdict {
	case frontier.InDoubt:
	case frontier.Again:
		v.Outcome, v.Reason, v.Wait = visit.Pending, "", visit.WaitHold
		v.Links = nil
		c.pend(entry{request: &r, retry: &store.Retry{Visit: *v, Attempt: s.Attempt}})
		if s.Effect.Urgent() {
			c.urgent = true
		}
	case frontier.Ended:
		c.pend(entry{request: &r, visit: v, found: links})
	}
}

// left is how many requests an answer is to: none where it never left.
func left(a frontier.Answer) int64 {
	if a.SentAt.IsZero() {
		return 0
	}
	return 1
}

// spend counts against the limits and for the time series.
func (c *Crawl) spend(now time.Time, pages, requests, bytes int64) {
	use := limit.Use{Pages: pages, Requests: requests, Bytes: bytes}
	c.budget.Observe(now, use)
	c.tally.add(use)
	c.holdToLimits(now)
}

// holdToLimits stops at a limit that was met. The page limit is kept by tokens.
func (c *Crawl) holdToLimits(now time.Time) {
	if over := c.budget.Exceeded(); over != nil && c.stop == nil && over.Limit != limit.Pages {
		c.halt(now, stopFor(over), false)
	}
}

// noteEffect logs and keeps what an answer did to a host.
func (c *Crawl) noteEffect(now time.Time, host string, e politeness.Effect) {
	if e.Has(politeness.Incident) {
		c.tally.incidents++
	}
	from, to := e.Pace()
	if from != to {
		cause := "probe"
		switch {
		case e.Has(politeness.ProbeFailed):
			cause = "probe_failed"
		case e.Has(politeness.Incident), e.Has(politeness.Slowed):
			cause = "incident"
		}
		c.paces = append(c.paces, store.PaceChange{Host: host, At: now, From: from, To: to, Cause: cause})
		if to > from {
			c.cfg.Log.Info("host slowed", "host", host, "delay", to, "why", e.String())
		} else {
			c.cfg.Log.Info("host quickened", "host", host, "delay", to, "why", e.String())
		}
	}
	if e.Urgent() {
		c.urgent = true
	}
	if e.Has(politeness.Cancelled) && c.cfg.Policy.CancelAfter > 0 && c.stop == nil {
		c.halt(now, &Stop{State: job.Cancelled, Reason: fmt.Sprintf("%s refused %d times in a row at the slowest pace", host, c.cfg.Policy.CancelAfter)}, false)
	}
}

// touch notes that the state of a host must be stored.
func (c *Crawl) touch(host string) { c.touched[host] = struct{}{} }

// look is done a few times a second: limits, disk, progress.
func (c *Crawl) look(work context.Context, now time.Time) {
	c.budget.Observe(now, limit.Use{})
	for _, w := range c.budget.Warnings() {
		c.tally.warnings = append(c.tally.warnings, w.String())
		c.cfg.Log.Warn("a limit comes near", "limit", w.String())
	}
	c.holdToLimits(now)
	if c.stop == nil && !c.sifting && c.cfg.Limits.Of(limit.Pages).Limited() && c.f.Exhausted(c.job) {
		c.sift(now)
	}
	if !c.stopAt.IsZero() && !now.Before(c.stopAt) {
		c.stopWork(errTimeUp)
		c.stopAt = time.Time{}
	}
	c.gov.Parse(now, int(c.queued.Load()), c.cfg.Workers)
	c.watchMemory(now)
	c.watchDisk(now)
	c.count(work, now)
	c.recordPoint(work, now)
	c.readMail(work)
	c.publish(now)
}

// sift looks whether anything is left that the page limit keeps from being
// fetched: what waits goes on to be judged by robots.txt, which costs no page,
// until the first URL that would.
func (c *Crawl) sift(now time.Time) {
	c.sifting = true
	j := c.frontierJob()
	j.Limited = false
	c.f.AddJob(j)
	c.f.Wake(now, c.job)
}

// sifted ends a crawl at its page limit: a page would have been fetched.
func (c *Crawl) sifted(now time.Time) {
	if c.stop == nil {
		c.halt(now, stopFor(c.cfg.Limits.Of(limit.Pages).Exceeded(c.budget.Spent().Pages)), false)
	}
}

var errTimeUp = errors.New("the time of the crawl is up")

// halt sends nothing more. What is in flight goes on, gets a moment, or is ended
// at once.
func (c *Crawl) halt(now time.Time, s *Stop, atOnce bool) {
	if c.stop == nil {
		c.stop = s
		c.f.StopJob(now, c.job)
	}
	switch {
	case atOnce:
		c.stopWork(context.Canceled)
	case s.timeout:
		c.stopAt = now.Add(graceful)
	}
}

// watchMemory tells the governor how much memory is in use, where that is
// limited.
func (c *Crawl) watchMemory(now time.Time) {
	if c.cfg.MemoryLimit == 0 {
		return
	}
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	c.gov.Memory(now, int64(sample[0].Value.Uint64()-sample[1].Value.Uint64()), c.cfg.MemoryLimit)
}

// watchDisk pauses while there is too little room.
func (c *Crawl) watchDisk(now time.Time) {
	if c.cfg.Free == nil {
		return
	}
	free, err := c.cfg.Free()
	if err != nil {
		c.cfg.Log.Warn("free disk unknown", "err", err)
		return
	}
	c.free = free
	low := free < c.cfg.MinFree
	if low && !c.lowDisk {
		c.lowSince = now
		c.cfg.Log.Warn("disk nearly full, fetching pauses", "free", free, "min_free", c.cfg.MinFree)
	}
	c.lowDisk = low
	if low && c.stop == nil && now.Sub(c.lowSince) > diskPatience {
		c.halt(now, &Stop{State: job.Partial, Reason: "disk"}, false)
	}
}

// finished tells whether the crawl is over, and how.
func (c *Crawl) finished(ctx context.Context, now time.Time) bool {
	if c.busy > 0 || len(c.pending) > 0 || len(c.touched) > 0 || c.committing || len(c.outbox) > 0 || c.loader.asking {
		return false
	}
	if c.stop != nil {
		return c.concluded(ctx)
	}
	if !c.f.Idle() || c.refilling || c.loader.busy() || c.tokens > 0 {
		return false
	}
	idle, err := store.Complete(ctx, c.job, c.st)
	if err != nil {
		c.fail(fmt.Errorf("ask whether anything waits: %w", err))
		return false
	}
	if !idle {
		c.warm(ctx)
		return false
	}
	return c.complete(ctx)
}

// complete ends a crawl that has nothing left to do.
func (c *Crawl) complete(ctx context.Context) bool {
	counts, err := c.st.Counts(context.WithoutCancel(ctx), c.job)
	if err != nil {
		c.fail(fmt.Errorf("read counts: %w", err))
		return true
	}
	state, reason := verdict(counts)
	if state == job.Partial && c.enough {
		reason = DiscoveryStopped
	}
	c.stop = &Stop{State: state, Reason: reason}
	return true
}

// concluded ends a crawl that was told to stop. One that was stopped by a limit
// with nothing left to do is complete.
func (c *Crawl) concluded(ctx context.Context) bool {
	if c.stop.State != job.Partial {
		return true
	}
	idle, err := c.st.Idle(context.WithoutCancel(ctx), c.job)
	if err != nil {
		c.fail(fmt.Errorf("ask whether anything waits: %w", err))
		return true
	}
	if idle.None {
		return c.complete(ctx)
	}
	return true
}

// robotsSource is the store as the cache of compiled files sees it.
type robotsSource struct{ st store.Store }

// LoadRobots implements [robots.Source].
func (s robotsSource) LoadRobots(ctx context.Context, sum robots.Sum) ([]byte, error) {
	v, err := s.st.Robots(ctx, sum)
	if errors.Is(err, store.ErrNotFound) {
		return nil, robots.ErrNotStored
	}
	return v.Body, err
}

// warm takes in hosts that wait in the store.
func (c *Crawl) warm(ctx context.Context) {
	if c.warming {
		return
	}
	c.warming = true
	c.background.Go(func() {
		q := store.HostQuery{Slots: slotsOf(c.leases), Max: warmPage}
		for {
			page, err := c.st.Hosts(ctx, q)
			if err != nil {
				c.post(func(time.Time) { c.warming = false; c.failUnless(ctx, fmt.Errorf("read hosts: %w", err)) })
				return
			}
			more := make(chan bool, 1)
			c.post(func(now time.Time) { more <- c.tookHosts(now, page.Hosts, page.Next == "") })
			select {
			case ok := <-more:
				if !ok {
					return
				}
			case <-ctx.Done():
				return
			}
			q.After = page.Next
		}
	})
}

// warmPage is how many hosts are read at a time.
const warmPage = 2000

// tookHosts takes in a page of hosts and tells whether to read on.
func (c *Crawl) tookHosts(now time.Time, hosts []store.HostWork, last bool) bool {
	room := true
	for i := range hosts {
		h := &hosts[i]
		u, err := store.ParseHost(h.Host.Host)
		if err != nil {
			c.fail(fmt.Errorf("stored host: %w", err))
			return false
		}
		jobs := make([]job.ID, 0, len(h.Jobs))
		for _, j := range h.Jobs {
			if j.Job == c.job {
				jobs = append(jobs, j.Job)
			}
		}
		if len(jobs) > 0 && room {
			c.site(u)
			room = c.f.Warm(now, u, jobs)
			c.forgetUnscheduled(h.Host.Host)
		}
	}
	if last {
		c.f.Warmed()
	}
	if last || !room || c.fatal != nil {
		c.warming = false
		return false
	}
	return true
}

// failUnless fails for an error that is not the end of ctx.
func (c *Crawl) failUnless(ctx context.Context, err error) {
	if ctx.Err() == nil {
		c.fail(err)
	}
}

func slotsOf(leases map[store.Slot]store.Lease) []store.Slot {
	slots := make([]store.Slot, 0, len(leases))
	for s := range leases {
		slots = append(slots, s)
	}
	return slots
}

// startRefill reads the heads of queues, one question at a time.
func (c *Crawl) startRefill(ctx context.Context, now time.Time) {
	if c.refilling || len(c.refills) == 0 {
		return
	}
	wants := c.refills
	c.refills, c.refilling = nil, true
	c.background.Go(func() {
		ask := make([]store.Want, len(wants))
		for i, w := range wants {
			ask[i] = store.Want(w)
		}
		items, err := c.st.Heads(ctx, now, ask)
		c.post(func(now time.Time) {
			c.refilling = false
			if err != nil {
				c.failUnless(ctx, fmt.Errorf("read queues: %w", err))
				return
			}
			c.f.Refilled(now, wants, items)
		})
	})
}

// reserve asks for page tokens.
func (c *Crawl) reserve(ctx context.Context, t frontier.Tokens) {
	c.tokens++
	c.background.Go(func() {
		n, err := c.st.Reserve(ctx, c.worker, t.Job, t.N)
		c.post(func(now time.Time) {
			c.tokens--
			if err != nil {
				c.failUnless(ctx, fmt.Errorf("reserve pages: %w", err))
				return
			}
			c.f.Grant(now, t.Job, n)
		})
	})
}
