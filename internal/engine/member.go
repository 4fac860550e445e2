package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/frontier"
	"headway/gauge"
	"headway/internal/loop"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// Fleet is what a worker of a fleet has in common with the others.
type Fleet struct {
	// Open turns a stored job into what is to be crawled.
	Open   func(store.Job) (Job, error)
	Safety limit.Limits // of the operator
}

// Times of a worker of a fleet.
const (
	// pollEvery is how often a worker asks what it is told of anyway, in case it
	// was not; pollBlind the same where nobody tells.
	pollEvery = store.PollEvery
	pollBlind = time.Second
	// optOutsEvery is how often a worker looks at the list of opt-outs by itself.
	optOutsEvery = time.Minute
	// upkeepEvery is how often the worker that is responsible for a job looks how
	// it stands.
	upkeepEvery = time.Second
	// drainFor is what requests under way get when a worker is told to leave.
	drainFor = 10 * time.Second
	// settleFor is what the last pages of a job that drains get to be stored before
	// it ends.
	settleFor = time.Second
	// lastFor is what storing and giving back get after that, and endWithin when a
	// worker ends at once.
	lastFor   = 10 * time.Second
	endWithin = 500 * time.Millisecond
	// rejoinFirst and rejoinLast bound the wait before a worker that lost its
	// place, or its store, tries again.
	rejoinFirst = time.Second
	rejoinLast  = 15 * time.Second
)

// Bounds of a worker of a fleet.
const (
	maxArrivals = 1000 // notices taken at a time
	maxOpening  = 32   // jobs that are being opened
	maxTending  = 32   // jobs that are being looked after
)

// Work is a worker of a fleet, until ctx ends or it is drained. One that lost its place
// starts anew by itself. The error is one that trying again does not help.
func Work(ctx context.Context, w Worker, f Fleet) error {
	wait := rejoinFirst
	for {
		began := time.Now()
		c, m := newMember(w, f)
		err := c.live(ctx, m)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrNewer) {
			return err
		}
		if time.Since(began) > w.Terms.TakeOver {
			wait = rejoinFirst
		}
		w.Log.Warn("worker lost its place in the fleet, rejoining", "err", err, "wait", wait)
		select {
		case <-time.After(wait):
			wait = min(2*wait, rejoinLast)
		case <-w.Drain:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// member is a crawler's part in a fleet: it shares the store with others.
type member struct {
	*base
	hosts  *hosts
	jobs   *jobs
	queues *queues

	opener *opener
	safety limit.Limits

	rebalancing chore
	crowds      chore
	crowding    bool // others were told of our crowds
	follow      chore
	arrivals    chore
	optOuts     optOuts
	opening     map[job.ID]bool
	unopened    bool      // more jobs are to be opened
	tending     int       // jobs that are being looked after
	told        bool      // somebody tells us of news
	upAt        time.Time // when the time of the next job is up; zero: of none
}

// chore is something that is asked of the store now and then, one at a time.
type chore struct {
	at   time.Time // while it is under way zero, unless there are news since
	busy bool
}

// due tells whether it is time, and if so that it is under way.
func (c *chore) due(now time.Time) bool {
	if c.busy || now.Before(c.at) {
		return false
	}
	c.busy, c.at = true, time.Time{}
	return true
}

// done says when to ask again: sooner where there were news meanwhile, which the
// answer may not know of.
func (c *chore) done(at time.Time) {
	c.busy = false
	if c.at.IsZero() {
		c.at = at
	}
}

// newMember returns a crawler that is one of a fleet, and its part in that.
func newMember(w Worker, f Fleet) (*crawler, *member) {
	c := newCrawler(w, false)
	m := &member{
		base: c.base, hosts: c.hosts, jobs: c.jobs, queues: c.queues,
		opener: &opener{base: c.base, job: f.Open, queue: w.Store.(store.Queue)},
		safety: f.Safety, opening: map[job.ID]bool{},
	}
	c.mode = m
	c.cfg.OptedOut = m.optOuts.beside(w.OptedOut)
	return c, m
}

// live is one life of a worker.
func (c *crawler) live(ctx context.Context, m *member) error {
	c.loop.Begin()
	if err := c.open(ctx, c.loop.Now(), 0); err != nil {
		return err
	}
	err := m.firstOptOuts(ctx)
	if err == nil {
		err = c.crawl(ctx)
	} else {
		c.loop.Fail(err)
	}
	if c.loop.Err() != nil {
		// Nothing of us is under way any more, so nobody need wait until we are
		// found dead. Where the store is not to be had, they must.
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
		defer stop()
		if gone := c.st.Abandon(ctx, c.worker); gone != nil {
			c.cfg.Log.Warn("could not release slots; they free when the lease expires", "err", gone)
		}
		return errors.Join(err, c.pool.CloseJournal())
	}
	last, done := c.afterlife()
	defer done()
	errs := []error{err, c.giveBack(last, c.loop.Now())}
	for _, r := range c.jobs.runs {
		errs = append(errs, r.record(last))
	}
	return errors.Join(append(errs, c.leave(last))...)
}

// listener implements [mode].
func (m *member) listener() func(ctx context.Context) {
	teller, ok := m.st.(store.Fleet)
	if !ok {
		return func(context.Context) {}
	}
	loop, log, worker := m.loop, m.log, m.worker
	return func(ctx context.Context) {
		for ctx.Err() == nil {
			err := teller.Await(ctx, worker, func(n store.News) {
				loop.Post(func(now time.Time) { m.hear(now, n) })
			})
			if ctx.Err() != nil {
				return
			}
			log.Warn("notification listener lost, polling instead", "err", err)
			loop.Post(func(time.Time) { m.told = false })
			select {
			case <-ctx.Done():
			case <-time.After(listenAgain):
			}
		}
	}
}

// listenAgain is how soon news are listened to again when that failed.
const listenAgain = loop.RetryLast

// hear notes news.
func (m *member) hear(now time.Time, n store.News) {
	m.told = true
	if n&store.NewArrivals != 0 {
		m.arrivals.at = now
	}
	if n&store.NewJobs != 0 {
		m.follow.at = now
	}
	if n&store.NewLetters != 0 {
		m.control.ReadNow(now)
	}
	if n&store.NewOptOuts != 0 {
		m.optOuts.told(now)
	}
}

// chores does what a worker of a fleet has to do beside crawling.
func (m *member) chores(work context.Context, now time.Time) {
	m.giveUp(work, now)
	if m.halted {
		return
	}
	m.rebalance(work, now)
	m.tellCrowds(work, now)
	m.followOptOuts(work, now)
	m.followJobs(work, now)
	m.takeArrivals(work, now)
}

// again implements [mode]: while the lease lasts. A database that restarts is back before
// that.
func (m *member) again(error) bool { return !m.lease.Expired(time.Now()) }

// tend implements [mode].
func (m *member) tend(work context.Context, now time.Time) {
	m.chores(work, now)
	if !m.upAt.IsZero() && !now.Before(m.upAt) {
		m.stopInTime(now)
	}
}

// look implements [mode].
func (m *member) look(work context.Context, now time.Time) {
	m.stopInTime(now)
	for _, r := range m.jobs.runs {
		m.lookAfter(work, now, r)
	}
}

// permits implements [mode]. The limits of jobs are held by tokens and upkeep.
func (m *member) permits(n int, short visit.Wait) (int, visit.Wait) { return n, short }

// publish implements [mode]. The store says how jobs stand.
func (m *member) publish(time.Time, func(now time.Time) []gauge.Layer) {}

// drain implements [mode]: what is in flight has a moment.
func (m *member) drain(now time.Time) {
	m.queues.spareEndings(now, func(*frontier.Request) bool { return true })
	m.haltAt = now.Add(drainFor)
}

// finished implements [mode]: there is always more, until it is told to end.
func (m *member) finished(context.Context) bool { return m.halted }

// nextPoll is when to ask again for what we may have been told of.
func (m *member) nextPoll(now time.Time) time.Time {
	if m.told {
		return now.Add(pollEvery)
	}
	return now.Add(pollBlind)
}

// lostStore ends this life of a worker for an error that is not the end of ctx.
// What waits longer than a lease is ended by the renewal; a question that failed
// is asked again.
func (m *member) lostStore(work context.Context, err error) {
	m.meter.Stored(work, err)
	switch {
	case work.Err() != nil:
	case errors.Is(err, store.ErrFenced):
		m.loop.Fail(err)
	default:
		m.cfg.Log.Warn("store request failed, retrying", "err", err)
	}
}

// takeArrivals takes in hosts that others put URLs to waiting on.
func (m *member) takeArrivals(work context.Context, now time.Time) {
	if len(m.jobs.runs) == 0 || !m.arrivals.due(now) {
		return
	}
	read := m.read
	loop.Once(work, m.loop, read.arrived, func(now time.Time, a arrived, err error) {
		m.arrivals.done(m.nextPoll(now))
		if err != nil {
			m.arrivals.at = now.Add(loop.RetryLast)
			m.lostStore(work, fmt.Errorf("take arrivals: %w", err))
			return
		}
		if len(a.list) == maxArrivals {
			m.arrivals.at = now
		}
		m.tookArrivals(now, a)
	})
}

// tookArrivals puts what has arrived on the schedule.
func (m *member) tookArrivals(now time.Time, arrived arrived) {
	for _, a := range arrived.list {
		u, err := store.ParseHost(a.Host)
		if err != nil {
			m.loop.Fail(fmt.Errorf("stored host: %w", err))
			return
		}
		// What is not ours any more is read by its next owner, and what
		// is of a job that is not open yet when it is opened.
		if m.owns(store.SlotOf(m.key, u.Domain())) && m.jobs.runs[a.Job] != nil {
			m.hosts.site(u)
			m.f.Warm(now, u, []job.ID{a.Job})
			m.hosts.forgetUnscheduled(a.Host)
			m.hosts.shun(now, a.Host)
		}
	}
	m.jobs.sendErrands(now, arrived.errands)
}

// stopInTime starts nothing more for jobs whose time is up, whoever is to end them and
// whether he lives, and gives up what is in flight of them a moment later.
func (m *member) stopInTime(now time.Time) {
	m.upAt = time.Time{}
	for _, r := range m.jobs.runs {
		at, ok := r.budget.Deadline()
		switch {
		case !ok || r.state != job.Running:
		case now.Before(at):
			m.upAt = earliest(m.upAt, at)
		default:
			m.f.StopJob(now, r.ID)
			if r.cancel != nil && !now.Before(at.Add(graceful)) {
				r.cancel(errEnded)
			}
		}
	}
}

// earliest is the earlier of two moments; zero is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
