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
	"headway/store"
	"headway/visit"
)

// Fleet is the configuration that all workers of a fleet share.
type Fleet struct {
	// Open turns a stored job into what is to be crawled.
	Open func(store.Job) (Job, error)
	// Settings are those that the terms and the commit gap of the worker were taken from;
	// zero: they are not followed.
	Settings store.FleetSettings
}

// Times of a worker of a fleet.
const (
	// pollEvery is how often a worker polls for changes it should be notified of, pollBlind
	// the same without notifications.
	pollEvery = store.PollEvery
	pollBlind = time.Second
	// settingsEvery is how often the settings of the fleet are read while notifications
	// arrive: they rarely change, and idle workers should cost the database little.
	settingsEvery = 6 * pollEvery
	// optOutsEvery is how often a worker polls the list of opt-outs.
	optOutsEvery = time.Minute
	// superviseEvery is how often the worker responsible for a job checks its state.
	superviseEvery = time.Second
	// drainFor is how long requests in flight may continue when a worker drains.
	drainFor = 10 * time.Second
	// settleFor is how long the last pages of a draining job may take to be stored before
	// it ends, settleRawFor the same for pages with raw responses: their commits are up to
	// two seconds apart and wait for the archive.
	settleFor    = time.Second
	settleRawFor = 5 * time.Second
	// lastFor is how long final writes may take after that, endWithin the same when a
	// worker stops at once.
	lastFor   = 10 * time.Second
	endWithin = 500 * time.Millisecond
	// rejoinFirst and rejoinLast bound the backoff before a worker that lost its lease or
	// its store rejoins.
	rejoinFirst = time.Second
	rejoinLast  = 15 * time.Second
)

// Bounds of a worker of a fleet.
const (
	maxArrivals   = 1000 // arrivals read at a time
	maxOpening    = 32   // jobs opened at a time
	maxSupervised = 32   // jobs supervised at a time
)

// Work runs a worker of a fleet until ctx ends or it is drained. A worker that loses its
// lease rejoins by itself. It returns only errors that a retry does not help, and
// [store.ErrSettingsChanged].
func Work(ctx context.Context, w Worker, f Fleet) error {
	wait := rejoinFirst
	for {
		began := time.Now()
		c, m := newMember(w, f)
		err := c.runOnce(ctx, m)
		if err == nil && m.outdated {
			return store.ErrSettingsChanged
		}
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

// member is the mode of a worker of a fleet, which shares its store with others.
type member struct {
	*base
	hosts    *hosts
	jobs     *jobs
	queues   *queues
	suspects *suspects

	opener   *opener
	settings store.FleetSettings // that it runs with; zero: they are not followed
	outdated bool                // they have changed, and it leaves

	rebalancing   chore
	addressLoads  chore
	sharedLoad    bool // others know of our address load
	follow        chore
	fleetSettings chore // part of follow
	arrivals      chore
	optOuts       optOuts
	opening       map[job.ID]bool
	unopened      bool      // more jobs wait to be opened
	supervised    int       // jobs being supervised
	listening     bool      // notifications arrive
	nextDeadline  time.Time // the next time limit of a job; zero: none
}

// chore is periodic work that queries the store, one query at a time.
type chore struct {
	at   time.Time // when it is due; zero while busy, unless it was requested again
	busy bool
}

// due reports whether it is time, and if so marks the chore as busy.
func (c *chore) due(now time.Time) bool {
	if c.busy || now.Before(c.at) {
		return false
	}
	c.busy, c.at = true, time.Time{}
	return true
}

// done ends a run and schedules the next: earlier if it was requested meanwhile, because
// the result may be older than that.
func (c *chore) done(at time.Time) {
	c.busy = false
	if c.at.IsZero() {
		c.at = at
	}
}

// newMember returns a crawler in a fleet, and its mode.
func newMember(w Worker, f Fleet) (*crawler, *member) {
	c := newCrawler(w, false)
	m := &member{
		base: c.base, hosts: c.hosts, jobs: c.jobs, queues: c.queues, suspects: c.suspects,
		opener:   &opener{base: c.base, job: f.Open, queue: w.Store.(store.Queue)},
		settings: f.Settings, opening: map[job.ID]bool{},
	}
	c.mode = m
	c.cfg.OptedOut = m.optOuts.combine(w.OptedOut)
	return c, m
}

// runOnce runs the worker until it leaves the fleet or loses its lease.
func (c *crawler) runOnce(ctx context.Context, m *member) error {
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
		// Nothing of ours is under way, so release the slots now instead of letting the
		// lease expire. If the store cannot be reached, it expires.
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
		defer stop()
		if gone := c.st.Abandon(ctx, c.worker); gone != nil {
			c.cfg.Log.Warn("could not release slots; they free when the lease expires", "err", gone)
		}
		return errors.Join(err, c.pool.CloseJournal())
	}
	last, done := c.shutdownContext()
	defer done()
	errs := []error{err, c.giveBack(last, c.loop.Now())}
	for _, r := range c.jobs.runs {
		errs = append(errs, r.record(last))
	}
	return errors.Join(append(errs, c.leave(last))...)
}

// listener implements [mode].
func (m *member) listener() func(ctx context.Context) {
	notifier, ok := m.st.(store.Fleet)
	if !ok {
		return func(context.Context) {}
	}
	loop, log, worker := m.loop, m.log, m.worker
	return func(ctx context.Context) {
		for ctx.Err() == nil {
			err := notifier.Await(ctx, worker, func(n store.News) {
				loop.Post(func(now time.Time) { m.onNotification(now, n) })
			})
			if ctx.Err() != nil {
				return
			}
			log.Warn("notification listener lost, polling instead", "err", err)
			loop.Post(func(time.Time) { m.listening = false })
			select {
			case <-ctx.Done():
			case <-time.After(listenAgain):
			}
		}
	}
}

// listenAgain is how soon the notification listener reconnects.
const listenAgain = loop.RetryLast

// onNotification handles a notification.
func (m *member) onNotification(now time.Time, n store.News) {
	m.listening = true
	if n&store.NewArrivals != 0 {
		m.arrivals.at = now
	}
	if n&store.NewJobs != 0 {
		m.follow.at, m.fleetSettings.at = now, now
	}
	if n&store.NewMessages != 0 {
		m.control.ReadNow(now)
	}
	if n&store.NewOptOuts != 0 {
		m.optOuts.onChanged(now)
	}
}

// chores runs the periodic work of a fleet worker.
func (m *member) chores(work context.Context, now time.Time) {
	m.releaseSlots(work, now)
	if m.halted {
		return
	}
	m.rebalance(work, now)
	m.shareAddressLoad(work, now)
	m.followOptOuts(work, now)
	m.followJobs(work, now)
	m.takeArrivals(work, now)
}

// retryable implements [mode]: retry while the lease lasts. A database restart is shorter
// than that.
func (m *member) retryable(error) bool { return !m.lease.Expired(time.Now()) }

// runFleetDuties implements [mode].
func (m *member) runFleetDuties(work context.Context, now time.Time) {
	m.chores(work, now)
	if !m.nextDeadline.IsZero() && !now.Before(m.nextDeadline) {
		m.stopOverdueJobs(now)
	}
}

// tick implements [mode].
func (m *member) tick(work context.Context, now time.Time) {
	m.stopOverdueJobs(now)
	for _, r := range m.jobs.runs {
		m.tickJob(work, now, r)
	}
}

// permits implements [mode]. Limits of jobs are enforced by page tokens and supervision.
func (m *member) permits(n int, short visit.Wait) (int, visit.Wait) { return n, short }

// publish implements [mode]. Progress of fleet jobs is read from the store.
func (m *member) publish(time.Time, func(now time.Time) []gauge.Layer) {}

// drain implements [mode]: requests in flight may continue for a while.
func (m *member) drain(now time.Time) {
	m.queues.withdrawEndings(now, func(*frontier.Request) bool { return true })
	m.haltAt = now.Add(drainFor)
}

// finished implements [mode]: a worker runs until it is stopped.
func (m *member) finished(context.Context) bool { return m.halted }

// nextPoll is when to poll for changes that may have been missed.
func (m *member) nextPoll(now time.Time) time.Time {
	if m.listening {
		return now.Add(pollEvery)
	}
	return now.Add(pollBlind)
}

// onStoreError handles a failed store request. A fenced worker stops and rejoins; other
// errors are logged and the request is retried later. If the store stays away, the lease
// expires.
func (m *member) onStoreError(work context.Context, err error) {
	m.meter.StoreAttempt(work, err)
	switch {
	case work.Err() != nil:
	case errors.Is(err, store.ErrFenced):
		m.loop.Fail(err)
	default:
		m.cfg.Log.Warn("store request failed, retrying", "err", err)
	}
}

// takeArrivals loads hosts on which other workers have queued URLs.
func (m *member) takeArrivals(work context.Context, now time.Time) {
	if len(m.jobs.runs) == 0 || !m.arrivals.due(now) {
		return
	}
	read := m.read
	loop.Once(work, m.loop, read.arrived, func(now time.Time, a arrived, err error) {
		m.arrivals.done(m.nextPoll(now))
		if err != nil {
			m.arrivals.at = now.Add(loop.RetryLast)
			m.onStoreError(work, fmt.Errorf("take arrivals: %w", err))
			return
		}
		if len(a.list) == maxArrivals {
			m.arrivals.at = now
		}
		m.onArrivals(now, a)
	})
}

// onArrivals adds them to the schedule.
func (m *member) onArrivals(now time.Time, arrived arrived) {
	for _, a := range arrived.list {
		u, err := store.ParseHost(a.Host)
		if err != nil {
			m.loop.Fail(fmt.Errorf("stored host: %w", err))
			return
		}
		// Slots released since are read by their next owner; jobs not open yet are read
		// when they are opened.
		if m.owns(store.SlotOf(m.key, u.Domain())) && m.jobs.runs[a.Job] != nil {
			m.hosts.site(u)
			m.f.Warm(now, u, []job.ID{a.Job})
			m.hosts.forgetUnscheduled(a.Host)
			m.hosts.dropOptedOut(now, a.Host)
		}
	}
	m.jobs.sendErrands(now, arrived.errands)
}

// stopOverdueJobs stops jobs whose time limit has passed, even if the worker responsible
// for them is dead, and cancels their requests shortly after.
func (m *member) stopOverdueJobs(now time.Time) {
	m.nextDeadline = time.Time{}
	for _, r := range m.jobs.runs {
		at, ok := r.budget.Deadline()
		switch {
		case !ok || r.state != job.Running:
		case now.Before(at):
			m.nextDeadline = earliest(m.nextDeadline, at)
		default:
			m.f.StopJob(now, r.ID)
			if r.cancel != nil && !now.Before(at.Add(graceful)) {
				r.cancel(errEnded)
			}
		}
	}
}

// earliest returns the earlier of two times; zero means none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
