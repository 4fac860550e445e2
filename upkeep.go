package headway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// followJobs looks which jobs run.
func (c *crawler) followJobs(work context.Context, now time.Time) {
	f := c.fleet
	if !f.jobs.due(now) {
		return
	}
	c.background.Go(func() {
		_, err := f.queue.Admit(work, c.now(), f.safety)
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
	r.job, r.tenant, r.state, r.resumed, r.started = j.ID, j.Tenant, j.State, true, j.StartedAt
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
