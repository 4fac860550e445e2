package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/internal/committer"
	"headway/internal/jobrun"
	"headway/internal/loop"
	"headway/job"
	"headway/limit"
	"headway/store"
)

// followJobs looks which jobs run.
func (m *member) followJobs(work context.Context, now time.Time) {
	if !m.follow.due(now) {
		return
	}
	queue, safety := m.opener.queue, m.safety
	loop.Once(work, m.loop, func(ctx context.Context) ([]store.Job, error) {
		if _, err := queue.Admit(ctx, m.loop.Now(), safety); err != nil {
			return nil, err
		}
		return queue.ActiveJobs(ctx)
	}, func(now time.Time, list []store.Job, err error) {
		m.follow.done(m.nextPoll(now))
		if err != nil {
			m.follow.at = now.Add(loop.RetryLast)
			m.lostStore(work, fmt.Errorf("list jobs: %w", err))
			return
		}
		m.tookJobs(work, now, list)
	})
}

// tookJobs begins, stops and ends runs as their jobs stand.
func (m *member) tookJobs(work context.Context, now time.Time, list []store.Job) {
	active := make(map[job.ID]bool, len(list))
	for i := range list {
		j := &list[i]
		active[j.ID] = true
		switch r := m.jobs.runs[j.ID]; {
		case r == nil && j.State != job.Paused:
			m.openRun(work, j.ID)
		case r == nil:
		case !r.started.Equal(j.StartedAt) || r.maxPages != j.MaxPages:
			// It was resumed or extended: what waits, and how much may be done,
			// is read anew.
			m.endRun(now, r)
			m.follow.at = now.Add(loop.RetryFirst)
		default:
			r.stands(now, j)
			r.setPace(now, j.Pace)
			if j.State != job.Running {
				m.queues.stopJob(now, j.ID)
			}
		}
	}
	for id, r := range m.jobs.runs {
		if !active[id] {
			m.endRun(now, r)
		}
	}
}

// stands notes the state of the job. One that drains lets what is in flight finish,
// for a time.
func (r *run) stands(now time.Time, j *store.Job) {
	if j.State == job.Draining && r.state != job.Draining {
		r.stopAt = now.Add(drainFor)
		if at, ok := r.budget.Deadline(); ok && j.Reason == string(limit.Time) {
			r.stopAt = at.Add(graceful)
		}
		r.tending.at = now
	}
	r.state, r.reason = j.State, j.Reason
}

// setPace keeps the hosts of the job at least this far apart, from the next request on.
func (r *run) setPace(now time.Time, pace time.Duration) {
	if r.pace != pace {
		r.pace = pace
		r.f.AddJob(r.frontierJob())
		r.f.ReconsiderJob(now, r.ID)
	}
}

// giveUpInFlight ends what is in flight of a job that has drained for long enough.
func (r *run) giveUpInFlight(now time.Time) {
	if r.state == job.Draining && r.cancel != nil && !now.Before(r.stopAt) {
		r.cancel(errEnded)
	}
}

// openRun takes a job in that has begun to run.
func (m *member) openRun(work context.Context, id job.ID) {
	if m.opening[id] {
		return
	}
	if len(m.opening) == maxOpening {
		m.unopened = true
		return
	}
	m.opening[id] = true
	open := m.opener
	loop.Once(work, m.loop, func(ctx context.Context) (*run, error) {
		return open.readRun(ctx, id)
	}, func(now time.Time, r *run, err error) {
		delete(m.opening, id)
		if m.unopened {
			m.unopened, m.follow.at = false, now
		}
		switch {
		case work.Err() != nil:
		case err != nil:
			m.lostStore(work, fmt.Errorf("open job %d: %w", id, err))
		case r != nil:
			m.jobs.runs[id] = r
			m.f.AddJob(r.frontierJob())
			if r.state != job.Running {
				m.f.StopJob(now, id)
			}
			m.queues.readHosts(work, store.HostQuery{Slots: m.slots.List(), Job: id})
		}
	})
}

// opener makes runs of stored jobs, in the background: what it makes belongs to the loop
// once it has it.
type opener struct {
	*base
	job   func(store.Job) (Job, error)
	queue store.Queue
}

// readRun makes the run of a stored job. It is nil for a job that cannot be worked
// on, which has ended then. The error is the store's.
func (o *opener) readRun(ctx context.Context, id job.ID) (*run, error) {
	j, err := o.st.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	r, broken := o.newRun(j)
	if broken != nil {
		o.cfg.Log.Error("invalid job, marking it failed", "job", id, "err", broken)
		err := o.st.SetState(ctx, o.loop.Now(), id, j.State, job.Failed, broken.Error())
		if errors.Is(err, store.ErrConflict) {
			err = nil // others have found the same
		}
		return nil, err
	}
	if err := r.readOwned(ctx); err != nil {
		return nil, err
	}
	if err := r.WidenAgain(ctx); err != nil {
		return nil, err
	}
	if err := r.openBudget(ctx, o.loop.Now()); err != nil {
		return nil, err
	}
	r.stands(o.loop.Now(), &j)
	return r, nil
}

// newRun makes the run of what a job asked for.
func (o *opener) newRun(j store.Job) (*run, error) {
	cfg, err := o.job(j)
	if err != nil {
		return nil, err
	}
	r, err := newRun(o.base, o.cfg.OptedOut, cfg)
	if err != nil {
		return nil, err
	}
	r.shared, r.ID, r.Tenant, r.resumed, r.started, r.maxPages, r.pace = true, j.ID, j.Tenant, true, j.StartedAt, j.MaxPages, j.Pace
	r.Queue = o.queue
	r.Metered = slices.ContainsFunc(j.Layers, func(l limit.Layer) bool { return l.Level == limit.Usage && l.Limits != (limit.Limits{}) })
	r.home = store.SlotOf(o.key, cfg.Seeds[0].Domain())
	return r, nil
}

// endRun lets go of a job that runs no more, here or anywhere.
func (m *member) endRun(now time.Time, r *run) {
	if r.stop == nil {
		r.stop = &jobrun.End{State: job.Cancelled}
		m.queues.stopJob(now, r.ID)
		if r.cancel != nil {
			r.cancel(errEnded)
		}
		last := []store.Point{r.point(now)}
		afterlife, st, log, id := m.afterlife, m.st, m.log, r.ID
		m.loop.Go(func() {
			ctx, done := afterlife()
			defer done()
			if err := st.Record(ctx, last); err != nil {
				log.Warn("cannot store the end of the job's time series", "job", id, "err", err)
			}
		})
	}
	if n := m.f.Unused(r.ID); n > 0 && r.cfg.Limits.Of(limit.Pages).Limited() {
		m.pend(committer.Entry{Tokens: &store.Return{Job: r.ID, Tokens: n}})
	}
	if m.f.DropJob(now, r.ID) {
		delete(m.jobs.runs, r.ID)
	}
}

var errEnded = errors.New("the job has ended")

// lookAfter is done a few times a second for a job of a fleet.
func (m *member) lookAfter(work context.Context, now time.Time, r *run) {
	r.giveUpInFlight(now)
	m.upkeep(work, now, r)
	if m.f.Exhausted(r.ID) {
		m.f.Again(r.ID) // others may have returned tokens
	}
	r.returnUnspent(now)
}

// upkeep is done for a job by the one worker that owns the slot of its first seed:
// it adds the seeds, and finds out when the job is over.
func (m *member) upkeep(work context.Context, now time.Time, r *run) {
	if r.stop != nil || m.halted || r.state == job.Paused || !m.owns(r.home) || m.tending == maxTending || !r.tending.due(now) {
		return
	}
	m.tending++
	r.budget.Observe(now, limit.Use{})
	q := jobrun.Inquiry{State: r.state, Reason: r.reason, Drained: r.stopAt.Add(settleFor), Seeded: r.seeded, Enough: r.enough, Spent: r.budget.Spent()}
	m.loop.Go(func() {
		changed, counts, err := r.Standing(work, q)
		m.loop.Post(func(now time.Time) {
			m.tending--
			r.tending.done(r.nextUpkeep(now))
			switch {
			case err != nil && work.Err() == nil:
				r.tending.at = now.Add(loop.RetryLast)
				m.meter.Stored(work, err)
				m.cfg.Log.Warn("job supervision failed, retrying", "job", r.ID, "err", err)
			case err == nil:
				r.counts, r.seeded = counts, true
				if changed {
					m.follow.at = now
				}
			}
		})
	})
}

// nextUpkeep is when to look again: in a while, and when the time of the job is
// up.
func (r *run) nextUpkeep(now time.Time) time.Time {
	next := now.Add(upkeepEvery)
	if at, ok := r.budget.Deadline(); ok && at.After(now) && at.Before(next) {
		next = at
	}
	return next
}
