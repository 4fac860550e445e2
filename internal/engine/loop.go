package engine

import (
	"context"
	"runtime/metrics"
	"time"

	"headway/frontier"
	"headway/internal/committer"
	"headway/internal/jobrun"
	"headway/job"
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
// fetched, MaxLinksBehind how many links of theirs, and maxOutbox how many batches for
// the outputs.
const (
	maxBehind      = 2 * store.MaxVisits
	MaxLinksBehind = 20_000
	maxOutbox      = 64
)

// cycle is the work of the loop, which owns everything that is remembered.
func (c *crawler) cycle(ctx, work context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	ready := make(chan struct{})
	close(ready)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	drain, ended := c.cfg.Drain, ctx.Done()
	c.watchDisk(c.loop.Now())
	c.queues.warm(work)
	for c.loop.Err() == nil {
		now := c.loop.Now()
		c.mode.tend(work, now)
		c.dispatch(work, now)
		c.commits.Start(work, now, c.halted)
		c.outbox.Hand()
		if c.finished(work) {
			return
		}
		var soon chan struct{} // receives while there is something to do at once
		if wait := c.loop.Sleep(c.loop.Now()); wait > 0 {
			timer.Reset(wait)
		} else {
			soon = ready
		}
		select {
		case f := <-c.loop.Answers():
			c.loop.Take(f)
		case <-soon:
		case <-timer.C:
		case <-tick.C:
			c.look(work, c.loop.Now())
		case <-drain:
			drain = nil
			c.jobs.halt(c.loop.Now(), &jobrun.End{Reason: "interrupted"})
			c.mode.drain(c.loop.Now())
		case <-ended:
			ended = nil
			c.jobs.halt(c.loop.Now(), &jobrun.End{Reason: "interrupted"})
			c.stopWork(context.Canceled)
		}
	}
}

// permits is how many more requests may start, and what those wait for that may
// not.
func (c *crawler) permits(now time.Time) (int, visit.Wait) {
	c.gov.InFlight(c.pool.Busy())
	if since, underway := c.commits.Underway(); underway {
		c.gov.Stalled(now, since)
	}
	pages, links := c.commits.Behind()
	switch {
	case c.halted:
		return 0, visit.WaitBudget
	case c.lowDisk, pages >= maxBehind, links >= MaxLinksBehind, c.outbox.Len() >= maxOutbox:
		return 0, visit.WaitStorage
	case !c.lease.MayStart(time.Now()):
		return 0, visit.WaitLease
	}
	short := visit.WaitWorkers
	switch c.gov.Reason() {
	case "storage":
		short = visit.WaitStorage
	case "parse", "memory":
		short = visit.WaitParse
	}
	permits := max(c.gov.Permits(now)-c.pool.Busy(), 0)
	if c.cfg.Ungoverned {
		permits, short = c.cfg.Workers-c.pool.Busy(), visit.WaitWorkers
	}
	return c.mode.permits(permits, short)
}

// dispatch asks the schedule what to do and does it.
func (c *crawler) dispatch(work context.Context, now time.Time) {
	permits, short := c.permits(now)
	b := c.f.Next(now, permits, short)
	c.loop.SleepUntil(b.Wake)
	for i := range b.Resolved {
		r := &b.Resolved[i]
		if r.Forbidden {
			request := r.Request // the batch is used again
			s := c.sites[request.Host]
			c.commits.AddLast(committer.Entry{Request: &request, Visit: r.Visit, Slot: s.slot, Domain: s.domain})
			continue
		}
		c.learner.settledPage(now, r.Request, r.Visit, nil, r.Settled)
	}
	c.queues.siftOn()
	for i := range b.Requests {
		c.start(work, now, b.Requests[i])
	}
	c.jobs.takeHosts(work, now, b.Take)
	for _, p := range b.Parks {
		p = c.learner.parked(p)
		c.hosts.pendAt(p.Host, committer.Entry{Park: &p})
	}
	for _, r := range b.Rest {
		c.loader.rest(r)
	}
	if len(b.Refill) > 0 {
		c.queues.refills = append(c.queues.refills, b.Refill...)
	}
	c.queues.startRefill(work, now)
	c.queues.sifts = append(c.queues.sifts, b.Sift...)
	c.queues.startSift(work)
	for _, t := range b.Tokens {
		c.queues.reserve(work, t)
	}
	c.queues.askTurns(work, now, b.Turns)
	c.domains.Want(b.Load)
	for _, d := range b.Quiet {
		c.domains.Quiet(d)
	}
	c.loader.share(work, now)
	if at, ok := c.domains.RetryAt(); ok {
		c.loop.WakeAt(at)
	}
	if b.Cold {
		c.queues.warm(work)
	}
}

// start gives a request to a worker, or ends a page that must not be fetched.
func (c *crawler) start(work context.Context, now time.Time, r frontier.Request) {
	s, run := c.sites[r.Host], c.jobs.runs[r.Job]
	if r.Kind == frontier.Page {
		if v := run.unwanted(r.Item); v != nil {
			c.f.Skip(now, r)
			c.learner.settledPage(now, r, v, nil, frontier.Settled{})
			return
		}
	} else if c.cfg.OptedOut(s.home) {
		c.f.PutBack(now, r)
		c.hosts.shun(now, r.Host)
		return
	}
	ctx := work
	if run != nil && run.shared {
		if run.ctx == nil {
			run.ctx, run.cancel = context.WithCancelCause(work)
		}
		ctx = run.ctx
	}
	c.pool.Start(ctx, c.task(r))
}

// look is done a few times a second: limits, disk, progress.
func (c *crawler) look(work context.Context, now time.Time) {
	c.mode.look(work, now)
	c.jobs.recordPoints(work, now)
	if !c.haltAt.IsZero() && !now.Before(c.haltAt) {
		c.stopWork(context.Canceled)
		c.haltAt = time.Time{}
	}
	c.pool.ReportHeard(now)
	c.gov.Parse(now, int(c.pool.WaitingToParse()), c.cfg.Workers)
	c.watchMemory(now)
	c.watchDisk(now)
	c.control.ReadMail(work)
	c.mode.publish(now, c.layers)
	c.show(now, false)
}

// watchMemory tells the governor how much memory is in use, where that is
// limited.
func (c *crawler) watchMemory(now time.Time) {
	if c.cfg.MemoryLimit == 0 {
		return
	}
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	c.gov.Memory(now, int64(sample[0].Value.Uint64()-sample[1].Value.Uint64()), c.cfg.MemoryLimit)
}

// watchDisk pauses while there is too little room.
func (c *crawler) watchDisk(now time.Time) {
	if c.cfg.Free == nil {
		return
	}
	free, err := c.cfg.Free()
	if err != nil {
		c.cfg.Log.Warn("cannot determine free disk space", "err", err)
		return
	}
	c.free = free
	low := free < c.cfg.MinFree
	if low && !c.lowDisk {
		c.lowSince = now
		c.cfg.Log.Warn("low disk space, pausing fetches", "free_bytes", free, "min_free_bytes", c.cfg.MinFree)
	}
	c.lowDisk = low
	if low && !c.halted && now.Sub(c.lowSince) > diskPatience {
		c.jobs.halt(now, &jobrun.End{State: job.Partial, Reason: jobrun.Disk})
	}
}

// finished tells whether the crawl is over, and how.
func (c *crawler) finished(ctx context.Context) bool {
	if c.pool.Busy()+c.pool.Dragging() > 0 || !c.commits.Idle() || c.outbox.Len() > 0 || c.domains.Asking() {
		return false
	}
	return c.mode.finished(ctx)
}
