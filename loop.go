package headway

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"slices"
	"time"

	"headway/fetch/guard"
	"headway/frontier"
	"headway/internal/committer"
	"headway/internal/discovery"
	"headway/internal/fetchpool"
	"headway/internal/jobrun"
	"headway/internal/loop"
	"headway/internal/ownership"
	"headway/internal/redirects"
	"headway/job"
	"headway/politeness"
	"headway/robots"
	"headway/store"
	"headway/visit"
)

// jobs are those that are worked on.
type jobs struct {
	*base
	hosts *hosts
	runs  map[job.ID]*run
	only  *run // the only one there will be; nil in a fleet
}

// queues read what waits in the store, and end what need not wait.
type queues struct {
	*base
	hosts *hosts
	jobs  *jobs

	refills    []frontier.Want
	refilling  bool
	sifts      []frontier.Sift // to be judged by a robots.txt that is new
	sifting    bool
	siftStored func()            // called when what it ended is stored
	tokens     int               // reservations under way
	rates      store.Timeline    // of tenants, where nobody shares the store
	reading    bool              // hosts are being read
	reads      []store.HostQuery // further hosts to be read
}

// learner learns from answers.
type learner struct {
	*base
	hosts     *hosts
	jobs      *jobs
	redirects *redirects.Redirects
}

// Times of the loop.
const (
	tickEvery    = 250 * time.Millisecond // limits, disk and progress are looked at
	graceful     = 2 * time.Second        // what is in flight gets after the time limit
	diskPatience = 10 * time.Minute       // how long too little room is waited out
)

// maxBehind is how many visits may wait for their commit before nothing more is
// fetched, maxLinksBehind how many links of theirs, and maxOutbox how many batches for
// the outputs.
const (
	maxBehind      = 2 * store.MaxVisits
	maxLinksBehind = 20_000
	maxOutbox      = 64
)

// ownTrouble ends the crawl for an error that is neither a host's nor the order
// to stop.
func (lr *learner) ownTrouble(err error) {
	if !lr.halted && !errors.Is(err, context.Canceled) && !errors.Is(err, ownership.ErrExpired) && !errors.Is(err, errEnded) && !fetchpool.CalledOff(err) {
		lr.loop.Fail(err)
	}
}

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
	case c.lowDisk, pages >= maxBehind, links >= maxLinksBehind, c.outbox.Len() >= maxOutbox:
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
	if most, ok := c.mode.mayStart(); ok && permits > most {
		return most, visit.WaitBudget
	}
	return permits, short
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

// tookPage learns from a page, or from its absence.
func (lr *learner) tookPage(now time.Time, l fetchpool.Page) {
	r, run := l.Request, lr.jobs.runs[l.Request.Job]
	if l.First && l.Own == nil && !l.RobotsLost {
		run.findSitemaps(lr.sites[r.Host], l.Sitemaps) // before its end is committed, which may be that of the job
	}
	switch {
	case l.Own != nil:
		lr.redirects.Drop(&r.Item)
		lr.calledOff(now, r, l.Sent, l.Own)
	case l.Judged:
		lr.f.PutBack(now, r)
		run.sifted(now)
	case l.RobotsLost:
		s := lr.sites[r.Host]
		delete(lr.hosts.versions, s.robots.Sum) // the store has lost it
		s.robots = s.robots.Forget()
		lr.f.PutBack(now, r)
		lr.f.SetRobots(now, r.Host, lr.hosts.robotsState(s, now, lr.hosts.crawlDelay(r.Host)))
	case l.Skipped:
		lr.f.Skip(now, r)
		lr.settledPage(now, r, l.Visit, nil, frontier.Settled{})
	default:
		lr.pool.ReportHeard(now)
		settled := lr.f.Settle(now, r, l.Answer, l.Visit)
		lr.measure(r, &l.Answer, l.Wire, settled.Effect)
		lr.noteEffect(now, r.Host, settled.Effect)
		lr.hosts.touch(r.Host)
		pages := int64(0)
		if settled.Verdict == frontier.Ended && l.Visit.Outcome.Page() {
			pages = 1
		}
		run.spend(now, pages, left(l.Answer), l.Wire)
		if v := l.Visit; v.Outcome == visit.Fetched && v.Page.Digest != "" && !l.Leaf {
			run.duplicates.Observe(v.Item.URL, v.Page.SimHash, v.Page.Digest)
		}
		lr.settledPage(now, r, l.Visit, run.fresh(now, l.Links), settled)
	}
}

// calledOff takes a request back that our own trouble kept from its end. One that had
// left counts for the pace, whoever has the host next; sent is zero if it had not.
func (lr *learner) calledOff(now time.Time, r frontier.Request, sent time.Time, own error) {
	if !sent.IsZero() {
		lr.f.Sent(sent, r) // as it may have been told
	}
	if lr.f.PutBack(now, r) {
		lr.hosts.touch(r.Host)
	}
	lr.ownTrouble(own)
}

// settledPage hands a visit to the next commit.
func (lr *learner) settledPage(now time.Time, r frontier.Request, v *visit.Visit, links []discovery.Link, s frontier.Settled) {
	switch s.Verdict {
	case frontier.InDoubt:
	case frontier.Again:
		v.Outcome, v.Reason, v.Wait = visit.Pending, "", visit.WaitHold
		v.Links = nil
		lr.meter.Totals.Retries[s.Effect.Charge()]++
		lr.hosts.pendAt(r.Host, committer.Entry{Request: &r, Retry: &store.Retry{Visit: *v, Attempt: s.Attempt}})
		if s.Effect.Urgent() {
			lr.commits.Hurry()
		}
	case frontier.Ended:
		lr.hosts.pendAt(r.Host, committer.Entry{Request: &r, Visit: v, Found: links})
	}
}

// left is how many requests an answer is to: none where it never left.
func left(a frontier.Answer) int64 {
	if a.SentAt.IsZero() {
		return 0
	}
	return 1
}

// noteEffect logs and keeps what an answer did to a host.
func (lr *learner) noteEffect(now time.Time, host string, e politeness.Effect) {
	if e.Has(politeness.Incident) {
		for _, r := range lr.jobs.runsOf(host) {
			r.tally.Incidents++
		}
	}
	from, to := e.Pace()
	if from != to {
		cause := "probe"
		switch {
		case e.Has(politeness.Noise):
			cause = "noise"
		case e.Has(politeness.Relieved):
			cause = "url"
		case e.Has(politeness.ProbeFailed):
			cause = "probe_failed"
		case e.Has(politeness.Incident), e.Has(politeness.Slowed):
			cause = "incident"
		}
		lr.commits.Pace(store.PaceChange{Host: host, At: now, From: from, To: to, Cause: cause}, lr.hosts.slotOf(host))
		if to > from {
			lr.cfg.Log.Info("host slowed", "host", host, "delay", to, "why", e.String())
		} else {
			lr.cfg.Log.Info("host quickened", "host", host, "delay", to, "why", e.String())
		}
	}
	if e.Urgent() {
		lr.commits.Hurry()
	}
	if !e.Has(politeness.Cancelled) {
		return
	}
	for _, r := range lr.jobs.runsOf(host) {
		if most := r.cfg.Policy.CancelAfter; most > 0 && r.stop == nil {
			lr.meter.Totals.Cancelled++
			r.halt(now, &jobrun.End{State: job.Cancelled, Reason: fmt.Sprintf("%s refused %d times in a row at the slowest pace", host, most)})
		}
	}
}

// touch notes that the state of a host must be stored.
func (hs *hosts) touch(host string) { hs.commits.Touch(host) }

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

// halt sends nothing more, for nobody.
func (js *jobs) halt(now time.Time, s *jobrun.End) {
	js.halted = true
	for _, r := range js.runs {
		r.halt(now, s)
	}
}

// runsOf lists the runs that have a part in a host.
func (js *jobs) runsOf(host string) []*run {
	if js.only != nil {
		return []*run{js.only}
	}
	var list []*run
	for _, id := range js.f.Jobs(host) {
		if r := js.runs[id]; r != nil {
			list = append(list, r)
		}
	}
	return list
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
	if low && !c.halted && now.Sub(c.lowSince) > diskPatience {
		c.jobs.halt(now, &jobrun.End{State: job.Partial, Reason: Disk})
	}
}

// finished tells whether the crawl is over, and how.
func (c *crawler) finished(ctx context.Context) bool {
	if c.pool.Busy()+c.pool.Dragging() > 0 || !c.commits.Idle() || c.outbox.Len() > 0 || c.domains.Asking() {
		return false
	}
	return c.mode.finished(ctx)
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
func (qs *queues) warm(ctx context.Context) {
	qs.readHosts(ctx, store.HostQuery{Slots: qs.slots.List()})
}

// readHosts takes in hosts that wait in the store: those asked for, or some more.
// One reading is under way at a time.
func (qs *queues) readHosts(ctx context.Context, q store.HostQuery) {
	q.Max = warmPage
	if qs.reading {
		whole := func(q store.HostQuery) bool { return q.Job == 0 && len(q.Slots) == qs.slots.Len() }
		switch {
		case qs.alone || slices.ContainsFunc(qs.reads, whole):
		case len(qs.reads) == maxReads:
			qs.reads = []store.HostQuery{{Slots: qs.slots.List(), Max: warmPage}} // all at once is cheaper
		default:
			qs.reads = append(qs.reads, q)
		}
		return
	}
	qs.reading = true
	qs.loop.Go(func() {
		for {
			var page store.HostPage
			var errands []store.Errand
			err := qs.loop.Retry(ctx, func() (err error) {
				if page, err = qs.st.Hosts(ctx, q); err == nil {
					errands, err = errandsOf(ctx, qs.st, page.Hosts)
				}
				return err
			})
			if err != nil {
				qs.loop.Post(func(time.Time) { qs.reading = false; qs.loop.FailUnless(ctx, fmt.Errorf("read hosts: %w", err)) })
				return
			}
			more := make(chan bool, 1)
			qs.loop.Post(func(now time.Time) {
				ok := qs.tookHosts(now, page.Hosts, page.Next == "", q.Job == 0 && len(q.Slots) == qs.slots.Len())
				qs.jobs.sendErrands(now, errands)
				if !ok {
					qs.reading = false
					if len(qs.reads) > 0 && qs.loop.Err() == nil {
						next := qs.reads[0]
						qs.reads = qs.reads[1:]
						qs.readHosts(ctx, next)
					}
				}
				more <- ok
			})
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

// errandsOf reads the errands that wait on hosts.
func errandsOf(ctx context.Context, st store.Store, hosts []store.HostWork) ([]store.Errand, error) {
	var wants []store.Want
	for i := range hosts {
		for _, j := range hosts[i].Jobs {
			wants = append(wants, store.Want{Host: hosts[i].Host.Host, Job: j.Job, Max: store.MaxErrands})
		}
	}
	return readErrands(ctx, st, wants)
}

// readErrands reads errands, as many queues at a time as the store takes.
func readErrands(ctx context.Context, st store.Store, wants []store.Want) ([]store.Errand, error) {
	var all []store.Errand
	for some := range slices.Chunk(wants, store.MaxWants) {
		list, err := st.Errands(ctx, some)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// Bounds of reading hosts.
const (
	warmPage = 2000 // hosts read at a time
	maxReads = 16   // readings that wait: of jobs or slots that are new
)

// tookHosts takes in a page of hosts and tells whether to read on. The whole is
// all hosts of all our slots.
func (qs *queues) tookHosts(now time.Time, hosts []store.HostWork, last, whole bool) bool {
	room := true
	for i := range hosts {
		h := &hosts[i]
		u, err := store.ParseHost(h.Host.Host)
		if err != nil {
			qs.loop.Fail(fmt.Errorf("stored host: %w", err))
			return false
		}
		jobs := make([]job.ID, 0, len(h.Jobs))
		for _, j := range h.Jobs {
			if qs.jobs.runs[j.Job] != nil {
				jobs = append(jobs, j.Job)
			}
		}
		if len(jobs) > 0 && room && qs.owns(store.SlotOf(qs.key, u.Domain())) {
			qs.hosts.site(u)
			room = qs.f.Warm(now, u, jobs)
			qs.hosts.forgetUnscheduled(h.Host.Host)
		}
	}
	if last && whole {
		qs.f.Warmed()
	}
	return !last && room && qs.loop.Err() == nil
}

// again tells whether a question to the store that failed is put again.
func (c *crawler) again(err error) bool { return !lasting(err) && c.mode.again(err) }

// scarce tells whether there was no descriptor for a question to the store.
func scarce(err error) bool { return errors.Is(err, store.ErrScarce) || guard.NoDescriptor(err) }

// lasting tells whether an error of the store stays what it is when it is tried
// again.
func lasting(err error) bool {
	for _, e := range []error{store.ErrFenced, store.ErrNotWaiting, store.ErrTokens, store.ErrNotFound, store.ErrConflict, store.ErrCorrupt, store.ErrNewer} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// startRefill reads the heads of queues, one question at a time.
func (qs *queues) startRefill(ctx context.Context, now time.Time) {
	if qs.refilling || len(qs.refills) == 0 {
		return
	}
	wants := qs.refills
	qs.refills, qs.refilling = nil, true
	list := make([]store.Want, len(wants))
	for i, w := range wants {
		list[i] = store.Want(w)
	}
	st := qs.st
	loop.Ask(ctx, qs.loop, func(ctx context.Context) ([]visit.Item, error) {
		return st.Heads(ctx, now, list)
	}, func(now time.Time, items []visit.Item, err error) {
		qs.refilling = false
		if err != nil {
			qs.loop.FailUnless(ctx, fmt.Errorf("read queues: %w", err))
			return
		}
		qs.f.Refilled(now, wants, items)
	})
}

// reserveTokens asks the store for page tokens. Near the limit it gives single ones,
// because of others that may need them; on one machine there are none.
func (qs *queues) reserveTokens(ctx context.Context, t frontier.Tokens) (n int, err error) {
	for more := true; more; more = qs.alone && n < t.N {
		var got int
		err = qs.loop.Retry(ctx, func() (err error) {
			got, err = qs.st.Reserve(ctx, qs.worker, t.Job, t.N-n)
			return err
		})
		if n += got; err != nil || got == 0 {
			break
		}
	}
	return n, err
}

// reserve asks for page tokens.
func (qs *queues) reserve(ctx context.Context, t frontier.Tokens) {
	qs.tokens++
	loop.Once(ctx, qs.loop, func(ctx context.Context) (int, error) {
		return qs.reserveTokens(ctx, t)
	}, func(now time.Time, n int, err error) {
		qs.tokens--
		if err != nil {
			qs.loop.FailUnless(ctx, fmt.Errorf("reserve pages: %w", err))
			return
		}
		qs.f.Grant(now, t.Job, n)
	})
}
