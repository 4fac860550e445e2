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

// followed is what a worker reads to follow the fleet.
type followed struct {
	jobs     []store.Job
	settings store.SettingsVersion
}

// followJobs polls for running jobs and the settings of the fleet.
func (m *member) followJobs(work context.Context, now time.Time) {
	if !m.follow.due(now) {
		return
	}
	queue, follows := m.opener.queue, m.settings != store.FleetSettings{} && m.fleetSettings.due(now)
	loop.Once(work, m.loop, func(ctx context.Context) (f followed, err error) {
		if _, err = queue.Admit(ctx, m.loop.Now()); err != nil {
			return f, err
		}
		if follows {
			if f.settings, err = queue.FleetSettings(ctx); err != nil {
				return f, err
			}
		}
		f.jobs, err = queue.ActiveJobs(ctx)
		return f, err
	}, func(now time.Time, f followed, err error) {
		m.follow.done(m.nextPoll(now))
		if follows {
			m.fleetSettings.done(m.nextSettings(now, err))
		}
		if err != nil {
			m.follow.at = now.Add(loop.RetryLast)
			m.onStoreError(work, fmt.Errorf("list jobs: %w", err))
			return
		}
		m.onJobs(work, now, f.jobs)
		if follows {
			m.onSettings(now, &f.settings)
		}
	})
}

// nextSettings is when to read the settings again: while notifications arrive rarely.
func (m *member) nextSettings(now time.Time, err error) time.Time {
	if m.listening && err == nil {
		return now.Add(settingsEvery)
	}
	return now
}

// onSettings leaves the fleet if its lease or commit gap have changed: the worker must join
// again with the new ones.
func (m *member) onSettings(now time.Time, v *store.SettingsVersion) {
	if m.outdated || m.halted || v.Version == 0 || v.Lease == m.settings.Lease && v.CommitGap == m.settings.CommitGap {
		return
	}
	m.outdated = true
	m.cfg.Log.Info("fleet settings changed, rejoining", "version", v.Version, "lease", v.Lease, "commit_gap", v.CommitGap)
	m.jobs.halt(now, &jobrun.End{Reason: "interrupted"})
	m.drain(now)
}

// onJobs opens, stops and ends runs according to the state of their jobs.
func (m *member) onJobs(work context.Context, now time.Time, list []store.Job) {
	active := make(map[job.ID]bool, len(list))
	for i := range list {
		j := &list[i]
		active[j.ID] = true
		switch r := m.jobs.runs[j.ID]; {
		case r == nil && j.State != job.Paused:
			m.openRun(work, j.ID)
		case r == nil:
		case !r.started.Equal(j.StartedAt) || r.maxPages != j.MaxPages || r.settings != j.Settings || !slices.Equal(r.layers, j.Layers):
			// It was resumed or extended, or the safety limits changed: read its queue and
			// budget again.
			m.endRun(now, r)
			m.follow.at = now.Add(loop.RetryFirst)
		default:
			r.setState(now, j)
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

// setState updates the state of the job. Requests in flight of a draining job may finish
// for a limited time.
func (r *run) setState(now time.Time, j *store.Job) {
	if j.State == job.Draining && r.state != job.Draining {
		r.stopAt = now.Add(drainFor)
		if at, ok := r.budget.Deadline(); ok && j.Reason == string(limit.Time) {
			r.stopAt = at.Add(graceful)
		}
		r.supervision.at = now
	}
	r.state, r.reason = j.State, j.Reason
}

// setPace sets the job's minimum interval between requests to one host, from the next
// request on.
func (r *run) setPace(now time.Time, pace time.Duration) {
	if r.pace != pace {
		r.pace = pace
		r.f.AddJob(r.frontierJob())
		r.f.ReconsiderJob(now, r.ID)
	}
}

// giveUpInFlight cancels the requests of a job whose drain time is over.
func (r *run) giveUpInFlight(now time.Time) {
	if r.state == job.Draining && r.cancel != nil && !now.Before(r.stopAt) {
		r.cancel(errEnded)
	}
}

// openRun opens a job that has started to run.
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
			m.onStoreError(work, fmt.Errorf("open job %d: %w", id, err))
		case r != nil:
			m.jobs.runs[id] = r
			m.f.AddJob(r.frontierJob())
			at, timed := r.budget.Deadline()
			if r.state != job.Running || timed && !now.Before(at) {
				m.f.StopJob(now, id)
			}
			m.queues.readHosts(work, store.HostQuery{Slots: m.slots.List(), Job: id})
		}
	})
}

// opener builds runs from stored jobs in the background. The result belongs to the loop.
type opener struct {
	*base
	job   func(store.Job) (Job, error)
	queue store.Queue
}

// readRun builds the run of a stored job. It is nil for an invalid job, which is marked as
// failed. Errors are those of the store.
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
			err = nil // another worker marked it first
		}
		return nil, err
	}
	if err := r.readOwned(ctx); err != nil {
		return nil, err
	}
	if err := r.RestoreScope(ctx); err != nil {
		return nil, err
	}
	if err := r.openBudget(ctx, o.loop.Now()); err != nil {
		return nil, err
	}
	r.setState(o.loop.Now(), &j)
	return r, nil
}

// newRun builds a run from a job's specification.
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
	r.settings, r.ranFor = j.Settings, j.RanFor
	r.layers, r.Queue, r.Worker = j.Layers, o.queue, o.worker
	r.requests = newRequests(o.base, r.Stored)
	r.Metered = slices.ContainsFunc(j.Layers, func(l limit.Layer) bool { return l.Level == limit.Usage && l.Limits != (limit.Limits{}) })
	r.home = store.SlotOf(o.key, cfg.Seeds[0].Domain())
	return r, nil
}

// endRun drops a job that no longer runs, here or anywhere.
func (m *member) endRun(now time.Time, r *run) {
	if r.stop == nil {
		r.stop = &jobrun.End{State: job.Cancelled}
		m.queues.stopJob(now, r.ID)
		if r.cancel != nil {
			r.cancel(errEnded)
		}
		last := []store.Point{r.point(now)}
		shutdownContext, st, log, id := m.shutdownContext, m.st, m.log, r.ID
		m.loop.Go(func() {
			ctx, done := shutdownContext()
			defer done()
			if err := st.Record(ctx, last); err != nil {
				log.Warn("cannot store the end of the job's time series", "job", id, "err", err)
			}
		})
	}
	if back, ok := r.unused(m.f.Unused(r.ID)); ok {
		m.enqueue(committer.Entry{Tokens: &back})
	}
	times := r.takeHostTime(now)
	if len(times) > 0 {
		m.enqueue(committer.Entry{Times: times})
	}
	if m.f.DropJob(now, r.ID) {
		delete(m.jobs.runs, r.ID)
	}
}

var errEnded = errors.New("the job has ended")

// tickJob runs a few times a second for a job of a fleet.
func (m *member) tickJob(work context.Context, now time.Time, r *run) {
	r.giveUpInFlight(now)
	m.supervise(work, now, r)
	m.f.Again(r.ID) // others may have returned tokens
	r.returnUnspent(now)
	m.storeHostTime(now, r)
}

// supervise is done by one worker per job, the owner of the slot of its first seed: it adds
// the seeds, enforces limits and detects the end of the job.
func (m *member) supervise(work context.Context, now time.Time, r *run) {
	if r.stop != nil || m.halted || r.state == job.Paused || !m.owns(r.home) || m.supervised == maxSupervised || !r.supervision.due(now) {
		return
	}
	m.supervised++
	r.budget.Observe(now, limit.Use{})
	settle := settleFor
	if r.cfg.Raw {
		settle = settleRawFor
	}
	q := jobrun.Snapshot{
		State: r.state, Reason: r.reason, Drained: r.stopAt.Add(settle), Seeded: r.seeded, DiscoveryStopped: r.discoveryStopped,
		Spent: r.budget.Spent(), Tokens: r.maxPages > 0, Starved: m.f.Starved(r.ID),
	}
	m.loop.Go(func() {
		changed, counts, err := r.Supervise(work, q)
		m.loop.Post(func(now time.Time) {
			m.supervised--
			r.supervision.done(r.nextSupervision(now))
			switch {
			case err != nil && work.Err() == nil:
				r.supervision.at = now.Add(loop.RetryLast)
				m.meter.StoreAttempt(work, err)
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

// nextSupervision is when to check again: periodically, and at the job's time limit.
func (r *run) nextSupervision(now time.Time) time.Time {
	next := now.Add(superviseEvery)
	if at, ok := r.budget.Deadline(); ok && at.After(now) && at.Before(next) {
		next = at
	}
	return next
}
