package engine

import (
	"context"
	"runtime/metrics"
	"time"

	"headway/frontier"
	"headway/internal/committer"
	"headway/internal/fetchpool"
	"headway/internal/jobrun"
	"headway/job"
	"headway/store"
	"headway/visit"
)

// Times of the loop.
const (
	tickEvery    = 250 * time.Millisecond // interval of the checks of limits, disk and progress
	graceful     = 2 * time.Second        // time for requests in flight after the time limit
	diskPatience = 10 * time.Minute       // how long to wait for free disk space
)

// maxBehind is how many visits may wait for their commit before fetching stops,
// MaxLinksBehind how many of their links, and maxOutbox how many batches may wait for the
// outputs. maxTextsBehind is how many bytes of their texts may wait for either, and maxArchiving
// how many of their archived exchanges may be in memory.
const (
	maxBehind      = 2 * store.MaxVisits
	MaxLinksBehind = 20_000
	maxTextsBehind = store.MaxTexts
	maxArchiving   = 32 << 20
	maxOutbox      = 64
)

// cycle runs the loop, which owns all state.
func (c *crawler) cycle(ctx, work context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	ready := make(chan struct{})
	close(ready)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	drain, ended := c.cfg.Drain, ctx.Done()
	c.watchDisk(c.loop.Now())
	c.causes.charge(c.loop.Now()) // what follows is measured from here
	c.queues.warm(work)
	for c.loop.Err() == nil {
		now := c.loop.Now()
		c.mode.runFleetDuties(work, now)
		c.dispatch(work, now)
		c.commits.Start(work, now, c.halted)
		c.outbox.Flush()
		if c.finished(work) {
			return
		}
		now = c.loop.Now()
		c.causes.observe(now)
		var soon chan struct{} // ready while there is work to do at once
		if wait := c.loop.Sleep(now); wait > 0 {
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
			c.tick(work, c.loop.Now())
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

// permits is how many more requests may start, and what the others wait for.
func (c *crawler) permits(now time.Time) (int, visit.Wait) {
	c.gov.InFlight(c.pool.Busy())
	if since, underway := c.commits.Underway(); underway {
		c.gov.Stalled(now, since)
	}
	pages, links, texts := c.commits.Behind()
	switch {
	case c.halted:
		return 0, visit.WaitBudget
	case c.lowDisk, pages >= maxBehind, links >= MaxLinksBehind, texts+c.outbox.Texts() >= maxTextsBehind, c.commits.Archiving() >= maxArchiving, c.outbox.Len() >= maxOutbox:
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
	busy := c.pool.Busy() + c.suspects.waiting
	permits := max(c.gov.Permits(now)-busy, 0)
	if c.cfg.Ungoverned {
		permits, short = c.cfg.Workers-busy, visit.WaitWorkers
	}
	return c.mode.permits(permits, short)
}

// dispatch carries out what the schedule decides.
func (c *crawler) dispatch(work context.Context, now time.Time) {
	permits, short := c.permits(now)
	b := c.f.Next(now, permits, short)
	c.loop.SleepUntil(b.Wake)
	for i := range b.Resolved {
		r := &b.Resolved[i]
		if r.Forbidden {
			request := r.Request // the batch is reused
			s := c.sites[request.Host]
			c.commits.AddLowPriority(committer.Entry{Request: &request, Visit: r.Visit, Slot: s.slot, Domain: s.domain})
			continue
		}
		c.learner.commitPage(now, r.Request, &fetchpool.Page{Visit: r.Visit}, nil, r.Settled)
	}
	c.queues.continueRecheck()
	for i := range b.Requests {
		c.start(work, now, b.Requests[i])
	}
	c.jobs.reserveHosts(work, now, b.Take)
	for _, p := range b.Parks {
		p = c.learner.parked(p)
		c.hosts.enqueueFor(p.Host, committer.Entry{Park: &p})
	}
	for _, r := range b.Rest {
		c.loader.evict(r)
	}
	if len(b.Refill) > 0 {
		c.queues.refills = append(c.queues.refills, b.Refill...)
	}
	c.queues.startRefill(work, now)
	c.queues.rechecks = append(c.queues.rechecks, b.Sift...)
	c.queues.startRecheck(work)
	for _, t := range b.Tokens {
		c.queues.reserve(work, t)
	}
	c.queues.reserveRate(work, now, b.Turns)
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

// start hands a request to a worker, or ends a page that must not be fetched.
func (c *crawler) start(work context.Context, now time.Time, r frontier.Request) {
	s, run := c.sites[r.Host], c.jobs.runs[r.Job]
	if r.Kind == frontier.Page {
		v := c.suspects.quarantine(r.Item)
		if v == nil {
			v = run.unwanted(r.Item)
		}
		if v != nil {
			c.f.Skip(now, r)
			c.learner.commitPage(now, r, &fetchpool.Page{Visit: v}, nil, frontier.Settled{})
			return
		}
	} else if c.cfg.OptedOut(s.home) {
		c.f.PutBack(now, r)
		c.hosts.dropOptedOut(now, r.Host)
		return
	}
	ctx := work
	if run != nil && run.shared {
		if run.ctx == nil {
			run.ctx, run.cancel = context.WithCancelCause(work)
		}
		ctx = run.ctx
	}
	if r.Kind == frontier.Page && r.Watched() {
		c.suspects.start(ctx, c.task(r))
		return
	}
	c.pool.Start(ctx, c.task(r))
}

// tick runs a few times a second: limits, disk, progress.
func (c *crawler) tick(work context.Context, now time.Time) {
	c.causes.charge(now)
	c.mode.tick(work, now)
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

// watchMemory reports memory use to the governor if there is a memory limit.
func (c *crawler) watchMemory(now time.Time) {
	if c.cfg.MemoryLimit == 0 {
		return
	}
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	c.gov.Memory(now, int64(sample[0].Value.Uint64()-sample[1].Value.Uint64()), c.cfg.MemoryLimit)
}

// watchDisk pauses fetching while disk space is low.
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

// finished reports whether the crawl is over.
func (c *crawler) finished(ctx context.Context) bool {
	if c.pool.Busy()+c.pool.Stalled()+c.suspects.waiting > 0 || !c.commits.Idle() || c.outbox.Len() > 0 || c.domains.Querying() {
		return false
	}
	return c.mode.finished(ctx)
}
