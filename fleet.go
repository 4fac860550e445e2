package headway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// FleetConfig is one worker of a fleet.
type FleetConfig struct {
	// Config is the worker's: its store, its fetcher, how much it does at once.
	// What is a job's there is not used.
	Config
	// Open turns a stored job into what is to be crawled, from what was asked for.
	Open func(store.Job) (Config, error)
	// MaxRunning is how many jobs run at once in the whole fleet; 0 is no limit.
	MaxRunning int
}

// Times of a worker of a fleet.
const (
	// pollEvery is how often a worker asks what it is told of anyway, in case it
	// was not; pollBlind the same where nobody tells.
	pollEvery = store.PollEvery
	pollBlind = time.Second
	// upkeepEvery is how often the worker that is responsible for a job looks how
	// it stands.
	upkeepEvery = time.Second
	// retryLast is how long a worker waits at most before it asks a store again
	// that did not answer.
	retryLast = 2 * time.Second
	// drainFor is what requests under way get when a worker is told to leave.
	drainFor = 10 * time.Second
	// rejoinFirst and rejoinLast bound the wait before a worker that lost its
	// place, or its store, tries again.
	rejoinFirst = time.Second
	rejoinLast  = 15 * time.Second
)

// maxArrivals is how many notices are taken at a time.
const maxArrivals = 1000

// Work is a worker of a fleet, until ctx ends or it is drained: it takes its share
// of the slots, works on every job that runs, and gives everything back at the
// end. A worker that was taken for dead, or could not reach its store for so long
// that it may have been, starts anew by itself. The error is one that trying again
// does not help.
func Work(ctx context.Context, cfg FleetConfig) error {
	cfg.Config = cfg.withDefaults()
	if err := cfg.validateWorker(); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	if _, ok := cfg.Store.(store.Queue); !ok {
		return errors.New("worker: the store is not one that a fleet can share")
	}
	if cfg.Open == nil {
		return errors.New("worker: nothing turns jobs into crawls")
	}
	wait := rejoinFirst
	for {
		began := time.Now()
		err := newMember(cfg).live(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrNewer) {
			return err
		}
		if time.Since(began) > cfg.Terms.TakeOver {
			wait = rejoinFirst
		}
		cfg.Log.Warn("the worker lost its place and starts anew", "err", err, "wait", wait)
		select {
		case <-time.After(wait):
			wait = min(2*wait, rejoinLast)
		case <-cfg.Drain:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// fleet is the part of a crawler that shares its store with others.
type fleet struct {
	open       func(store.Job) (Config, error)
	queue      store.Queue
	maxRunning int

	leaving  map[store.Slot]bool      // slots to be given up
	released int                      // slots that are being given up
	moved    map[store.Slot]time.Time // when slots became ours
	balance  chore
	jobs     chore
	arrivals chore
	opening  map[job.ID]bool
	told     bool // somebody tells us of news
}

// chore is something that is asked of the store now and then, one at a time.
type chore struct {
	at   time.Time
	busy bool
}

// due tells whether it is time, and if so that it is under way.
func (c *chore) due(now time.Time) bool {
	if c.busy || now.Before(c.at) {
		return false
	}
	c.busy = true
	return true
}

// done says when to ask again.
func (c *chore) done(at time.Time) { c.busy, c.at = false, at }

// newMember returns a crawler that is one of a fleet.
func newMember(cfg FleetConfig) *crawler {
	c := newCrawler(cfg.Config)
	c.fleet = &fleet{
		open: cfg.Open, queue: cfg.Store.(store.Queue), maxRunning: cmp.Or(cfg.MaxRunning, math.MaxInt32), leaving: map[store.Slot]bool{}, moved: map[store.Slot]time.Time{},
		opening: map[job.ID]bool{},
	}
	return c
}

// live is one life of a worker.
func (c *crawler) live(ctx context.Context) error {
	c.began = time.Now()
	if err := c.open(ctx, c.now(), 0); err != nil {
		return errors.Join(err, c.closeJournal())
	}
	err := c.crawl(ctx)
	if c.fatal != nil {
		return errors.Join(err, c.closeJournal())
	}
	ctx = context.WithoutCancel(ctx)
	errs := []error{err, c.giveBack(ctx, c.now())}
	for _, r := range c.runs {
		errs = append(errs, r.record(ctx))
	}
	return errors.Join(append(errs, c.leave(ctx))...)
}

// await listens for news until ctx ends.
func (c *crawler) await(ctx context.Context) {
	teller, ok := c.st.(store.Fleet)
	if !ok {
		return
	}
	for ctx.Err() == nil {
		err := teller.Await(ctx, c.worker, func(n store.News) {
			c.post(func(now time.Time) {
				c.fleet.told = true
				if n&store.NewArrivals != 0 {
					c.fleet.arrivals.at = now
				}
				if n&store.NewJobs != 0 {
					c.fleet.jobs.at = now
				}
			})
		})
		if ctx.Err() != nil {
			return
		}
		c.cfg.Log.Warn("news of the fleet are not heard", "err", err)
		c.post(func(time.Time) { c.fleet.told = false })
		select {
		case <-ctx.Done():
		case <-time.After(retryLast):
		}
	}
}

// tend does what a worker of a fleet has to do beside crawling.
func (c *crawler) tend(work context.Context, now time.Time) {
	c.giveUp(work, now)
	if c.halted {
		return
	}
	c.rebalance(work, now)
	c.followJobs(work, now)
	c.takeArrivals(work, now)
}

// nextPoll is when to ask again for what we may have been told of.
func (c *crawler) nextPoll(now time.Time) time.Time {
	if c.fleet.told {
		return now.Add(pollEvery)
	}
	return now.Add(pollBlind)
}

// owns tells whether a slot is ours to work on.
func (c *crawler) owns(s store.Slot) bool {
	_, ok := c.leases[s]
	return ok && (c.fleet == nil || !c.fleet.leaving[s])
}

// fairShare is how many slots a worker should own: all the same, and one more for
// the oldest where that does not come out even.
func fairShare(workers []store.Worker, w store.WorkerID) int {
	at := slices.IndexFunc(workers, func(x store.Worker) bool { return x.ID == w })
	if at < 0 {
		return 0
	}
	share := store.SlotCount / len(workers)
	if at < store.SlotCount%len(workers) {
		share++
	}
	return share
}

// rebalance takes slots that are free, up to our share, and gives up those beyond
// it: somebody has come.
func (c *crawler) rebalance(work context.Context, now time.Time) {
	f := c.fleet
	if !f.balance.due(now) {
		return
	}
	own, most := len(c.leases), len(c.leases)+f.released
	c.background.Go(func() {
		workers, err := c.st.Workers(work)
		var leases []store.Lease
		share := fairShare(workers, c.worker)
		for _, w := range workers {
			if w.ID == c.worker && w.Slots > most {
				// The answer to a question for slots was lost, and nobody works on them.
				err = fmt.Errorf("the store counts %d slots as ours, we know of %d: %w", w.Slots, most, store.ErrFenced)
			}
		}
		if err == nil {
			// Also for none: it is here that the dead are noticed.
			leases, err = c.st.Acquire(work, c.now(), c.worker, max(share-own, 0))
		}
		c.post(func(now time.Time) {
			f.balance.done(now.Add(c.cfg.Terms.Renew))
			if err != nil {
				f.balance.at = now.Add(retryLast)
				c.lostStore(work, fmt.Errorf("share the slots: %w", err))
				return
			}
			c.acquired(work, now, leases)
			c.surplus(len(c.leases) - len(f.leaving) - share)
		})
	})
}

// acquired begins with the work that waits in new slots.
func (c *crawler) acquired(work context.Context, now time.Time, leases []store.Lease) {
	if len(leases) == 0 {
		return
	}
	slots := make([]store.Slot, len(leases))
	for i, l := range leases {
		c.leases[l.Slot], slots[i] = l, l.Slot
		c.fleet.moved[l.Slot] = now
	}
	c.cfg.Log.Info("slots acquired", "slots", len(leases), "owned", len(c.leases))
	c.readHosts(work, store.HostQuery{Slots: slots})
}

// surplus marks slots to be given up, those with the fewest hosts first.
func (c *crawler) surplus(n int) {
	if n <= 0 {
		return
	}
	hosts := map[store.Slot]int{}
	for _, s := range c.sites {
		hosts[s.slot]++
	}
	var slots []store.Slot
	for s := range c.leases {
		if !c.fleet.leaving[s] {
			slots = append(slots, s)
		}
	}
	slices.SortFunc(slots, func(a, b store.Slot) int { return cmp.Or(cmp.Compare(hosts[a], hosts[b]), cmp.Compare(a, b)) })
	for _, s := range slots[:min(n, len(slots))] {
		c.fleet.leaving[s] = true
	}
	c.cfg.Log.Info("slots to be given up", "slots", n, "owned", len(c.leases))
}

// giveUp releases slots to be given up, once nothing of them is under way and
// all of it is stored.
func (c *crawler) giveUp(work context.Context, now time.Time) {
	f := c.fleet
	if len(f.leaving) == 0 || c.loader.asking || c.refilling || len(c.refills) > 0 {
		return
	}
	unstored := c.unstored()
	domains := map[store.Slot][]string{}
	waits := map[store.Slot]bool{}
	for _, s := range c.sites {
		if !f.leaving[s.slot] {
			continue
		}
		quiet, asked := c.loader.yields[s.domain]
		switch {
		case !asked:
			c.loader.yields[s.domain] = false
			c.f.Yield(now, s.domain)
			waits[s.slot] = true
		case !quiet:
			waits[s.slot] = true
		case unstored[s.domain]:
			c.urgent = true
			waits[s.slot] = true
		}
		domains[s.slot] = append(domains[s.slot], s.domain)
	}
	var leases []store.Lease
	for s := range f.leaving {
		if waits[s] {
			continue
		}
		for _, d := range domains[s] {
			c.f.Release(now, d)
			delete(c.loader.yields, d)
		}
		leases = append(leases, c.leases[s])
		delete(c.leases, s)
		delete(f.leaving, s)
		delete(f.moved, s)
	}
	if len(leases) == 0 {
		return
	}
	for name, s := range c.sites {
		if _, ours := c.leases[s.slot]; !ours {
			delete(c.sites, name)
		}
	}
	f.released += len(leases)
	c.background.Go(func() {
		err := c.insist(work, func() error { return c.st.Release(context.WithoutCancel(work), c.worker, leases...) })
		c.post(func(time.Time) {
			f.released -= len(leases)
			if err != nil {
				c.failUnless(work, fmt.Errorf("release slots: %w", err)) // nobody else gets them while we live
			}
		})
	})
}

// lostStore ends this life of a worker for an error that is not the end of ctx.
// What waits longer than a lease is ended by the renewal; a question that failed
// is asked again.
func (c *crawler) lostStore(work context.Context, err error) {
	switch {
	case work.Err() != nil:
	case errors.Is(err, store.ErrFenced):
		c.fail(err)
	default:
		c.cfg.Log.Warn("the store does not answer", "err", err)
	}
}

// followJobs looks which jobs run.
func (c *crawler) followJobs(work context.Context, now time.Time) {
	f := c.fleet
	if !f.jobs.due(now) {
		return
	}
	c.background.Go(func() {
		_, err := f.queue.Admit(work, c.now(), f.maxRunning)
		var list []store.Job
		if err == nil {
			list, err = f.queue.ActiveJobs(work)
		}
		c.post(func(now time.Time) {
			f.jobs.done(c.nextPoll(now))
			if err != nil {
				f.jobs.at = now.Add(retryLast)
				c.lostStore(work, fmt.Errorf("list jobs: %w", err))
				return
			}
			c.tookJobs(work, now, list)
		})
	})
}

// tookJobs begins, stops and ends runs as their jobs stand.
func (c *crawler) tookJobs(work context.Context, now time.Time, list []store.Job) {
	active := make(map[job.ID]bool, len(list))
	for i := range list {
		j := &list[i]
		active[j.ID] = true
		switch r := c.runs[j.ID]; {
		case r == nil && j.State != job.Paused:
			c.openRun(work, j.ID)
		case r == nil:
		case !r.started.Equal(j.StartedAt):
			// It was resumed or extended: what waits, and how much may be done,
			// is read anew.
			c.endRun(work, now, r)
			c.fleet.jobs.at = now.Add(retryFirst)
		default:
			r.state = j.State
			if j.State != job.Running {
				c.f.StopJob(now, j.ID)
			}
		}
	}
	for id, r := range c.runs {
		if !active[id] {
			c.endRun(work, now, r)
		}
	}
}

// openRun takes a job in that has begun to run.
func (c *crawler) openRun(work context.Context, id job.ID) {
	f := c.fleet
	if f.opening[id] {
		return
	}
	f.opening[id] = true
	c.background.Go(func() {
		r, err := c.readRun(work, id)
		c.post(func(now time.Time) {
			delete(f.opening, id)
			switch {
			case work.Err() != nil:
			case err != nil:
				c.lostStore(work, fmt.Errorf("open job %d: %w", id, err))
			case r != nil:
				c.runs[id] = r
				c.f.AddJob(r.frontierJob())
				if r.state != job.Running {
					c.f.StopJob(now, id)
				}
				c.readHosts(work, store.HostQuery{Slots: slotsOf(c.leases), Job: id})
			}
		})
	})
}

// readRun makes the run of a stored job. It is nil for a job that cannot be worked
// on, which has ended then. The error is the store's.
func (c *crawler) readRun(ctx context.Context, id job.ID) (*run, error) {
	j, err := c.st.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	r, broken := c.newRun(j)
	if broken != nil {
		c.cfg.Log.Error("a job cannot be worked on", "job", id, "err", broken)
		err := c.st.SetState(ctx, c.now(), id, j.State, job.Failed, broken.Error())
		if errors.Is(err, store.ErrConflict) {
			err = nil // others have found the same
		}
		return nil, err
	}
	if err := r.widenAgain(ctx); err != nil {
		return nil, err
	}
	return r, r.openBudget(ctx, c.now())
}

// newRun makes the run of what a job asked for.
func (c *crawler) newRun(j store.Job) (*run, error) {
	cfg, err := c.fleet.open(j)
	if err != nil {
		return nil, err
	}
	// What is the operator's no job decides.
	cfg.Store, cfg.Fetcher, cfg.Agent, cfg.Owned, cfg.OptedOut, cfg.Log = c.cfg.Store, c.cfg.Fetcher, c.cfg.Agent, c.cfg.Owned, c.cfg.OptedOut, c.cfg.Log
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	r, err := newRun(c, cfg)
	if err != nil {
		return nil, err
	}
	r.job, r.state, r.resumed, r.started = j.ID, j.State, true, j.StartedAt
	r.home = store.SlotOf(c.key, cfg.Seeds[0].Domain())
	return r, nil
}

// endRun lets go of a job that runs no more, here or anywhere.
func (c *crawler) endRun(work context.Context, now time.Time, r *run) {
	if r.stop == nil {
		r.stop = &Stop{State: job.Cancelled}
		c.f.StopJob(now, r.job)
		if r.cancel != nil {
			r.cancel(errEnded)
		}
		last := []store.Point{r.lastPoint(now)}
		c.background.Go(func() {
			if err := c.st.Record(context.WithoutCancel(work), last); err != nil {
				c.cfg.Log.Warn("the last of a job's time series is lost", "job", r.job, "err", err)
			}
		})
	}
	if c.f.DropJob(now, r.job) {
		delete(c.runs, r.job)
	}
}

var errEnded = errors.New("the job has ended")

// takeArrivals takes in hosts that others put URLs to waiting on.
func (c *crawler) takeArrivals(work context.Context, now time.Time) {
	f := c.fleet
	if len(c.runs) == 0 || !f.arrivals.due(now) {
		return
	}
	c.background.Go(func() {
		list, err := c.st.Arrivals(work, c.worker, maxArrivals)
		var errands []store.Errand
		if err == nil && len(list) > 0 {
			wants := make([]store.Want, len(list))
			for i, a := range list {
				wants[i] = store.Want{Host: a.Host, Job: a.Job, Max: store.MaxErrands}
			}
			errands, err = c.errands(work, wants)
		}
		c.post(func(now time.Time) {
			f.arrivals.done(c.nextPoll(now))
			if err != nil {
				f.arrivals.at = now.Add(retryLast)
				c.lostStore(work, fmt.Errorf("take arrivals: %w", err))
				return
			}
			if len(list) == maxArrivals {
				f.arrivals.at = now
			}
			for _, a := range list {
				u, err := store.ParseHost(a.Host)
				if err != nil {
					c.fail(fmt.Errorf("stored host: %w", err))
					return
				}
				// What is not ours any more is read by its next owner, and what
				// is of a job that is not open yet when it is opened.
				if c.owns(store.SlotOf(c.key, u.Domain())) && c.runs[a.Job] != nil {
					c.site(u)
					c.f.Warm(now, u, []job.ID{a.Job})
					c.forgetUnscheduled(a.Host)
				}
			}
			c.run(now, c.unknown(errands))
		})
	})
}

// upkeep is done for a job by the one worker that owns the slot of its first seed:
// it adds the seeds, and finds out when the job is over.
func (r *run) upkeep(work context.Context, now time.Time) {
	if r.stop != nil || r.c.halted || r.state == job.Paused || !r.c.owns(r.home) || !r.tending.due(now) {
		return
	}
	r.budget.Observe(now, limit.Use{})
	c, state, seeded, ran := r.c, r.state, r.seeded, r.budget.Spent().Time
	c.background.Go(func() {
		end, counts, err := r.standing(work, state, seeded, ran)
		c.post(func(now time.Time) {
			r.tending.done(now.Add(upkeepEvery))
			switch {
			case err != nil && work.Err() == nil:
				r.tending.at = now.Add(retryLast)
				c.cfg.Log.Warn("a job is not looked after", "job", r.job, "err", err)
			case err == nil:
				r.counts, r.seeded = counts, true
				if end != nil {
					c.fleet.jobs.at = now
				}
			}
		})
	})
}

// standing looks how a job stands, and ends it when it is over.
func (r *run) standing(ctx context.Context, is job.State, seeded bool, ran time.Duration) (end *Stop, counts store.Counts, err error) {
	st := r.c.st
	if !seeded {
		if err := r.addFirst(ctx, r.c.now()); err != nil {
			return nil, counts, err
		}
	}
	counts, err = st.Counts(ctx, r.job)
	if err != nil {
		return nil, counts, fmt.Errorf("read counts: %w", err)
	}
	switch {
	case is == job.Draining:
		end = &Stop{State: job.Partial, Reason: "drained"}
	case counts.Waiting > 0 || counts.Errands > 0:
		if end, err = r.overLimit(ctx, &counts, ran); err != nil {
			return nil, counts, err
		}
	default:
		done, err := store.Complete(ctx, r.job, st)
		if err != nil {
			return nil, counts, fmt.Errorf("ask whether anything waits: %w", err)
		}
		if done {
			if counts, err = st.Counts(ctx, r.job); err != nil {
				return nil, counts, fmt.Errorf("read counts: %w", err)
			}
			state, reason := verdict(counts)
			end = &Stop{State: state, Reason: reason}
		}
	}
	if end == nil {
		return nil, counts, nil
	}
	err = st.SetState(ctx, r.c.now(), r.job, is, end.State, end.Reason)
	if errors.Is(err, store.ErrConflict) {
		err = nil // somebody paused or cancelled it meanwhile
	}
	return end, counts, err
}

// overLimit is the end that a limit brings to a job with work left, if it is met.
func (r *run) overLimit(ctx context.Context, counts *store.Counts, ran time.Duration) (*Stop, error) {
	spent := limit.Use{Pages: counts.Pages(), Time: ran}
	if r.cfg.Limits.Of(limit.Requests).Limited() || r.cfg.Limits.Of(limit.Bytes).Limited() {
		list, err := r.c.st.Points(ctx, r.job)
		if err != nil {
			return nil, fmt.Errorf("read time series: %w", err)
		}
		for i := range list {
			spent.Requests += list[i].Requests
			spent.Bytes += list[i].Bytes
		}
	}
	if over := limit.NewBudget(r.cfg.Limits, r.c.now(), spent).Exceeded(); over != nil {
		return stopFor(over), nil
	}
	return nil, nil
}
