package engine

import (
	"maps"
	"slices"
	"time"

	"headway/ask"
	"headway/internal/control"
	"headway/internal/jobrun"
	"headway/job"
	"headway/store"
)

// newControl implements [mode].
func (s *solo) newControl(cfg control.Config) *control.Control {
	return control.NewSolo(cfg, control.Solo{Mail: s.cfg.Mail, Job: s.r.ID, JobStatus: s.r.jobStatus, StopDiscovery: s.r.stopDiscovery})
}

// newControl implements [mode].
func (m *member) newControl(cfg control.Config) *control.Control {
	mail, _ := m.st.(store.Mail)
	return control.NewWorker(cfg, control.Worker{
		ID: m.worker, Key: m.key, Hosts: m.st, Mail: mail, Self: m.workerStatus, Drain: m.leave, Poll: m.nextPoll,
		Owns: func(s store.Slot) bool { _, ours := m.slots.Lease(s); return ours },
		JobStatus: func(now time.Time, id job.ID) (control.JobStatus, bool) {
			if r := m.jobs.runs[id]; r != nil {
				return r.jobStatus(now), true
			}
			return control.JobStatus{}, false
		},
	})
}

// workerStatus describes this worker of a fleet.
func (m *member) workerStatus() ask.Worker {
	return ask.Worker{
		ID: m.worker, StartedAt: m.loop.Began().UTC().Round(0), Renewed: ask.Seconds(m.lease.Tenure().Age(time.Now())), Slots: m.slots.Len(), Leaving: m.slots.Leaving(),
		Hosts: m.f.Stats().Working, InFlight: m.pool.Busy(), Most: m.cfg.Workers, Jobs: slices.Sorted(maps.Keys(m.jobs.runs)), Draining: m.halted,
	}
}

// leave drains the worker: requests in flight may finish for a limited time, then it leaves
// the fleet.
func (m *member) leave(now time.Time) {
	if !m.halted {
		m.jobs.halt(now, &jobrun.End{Reason: "interrupted"})
		m.haltAt = now.Add(drainFor)
	}
}

// jobStatus describes the job, as far as this process knows.
func (r *run) jobStatus(now time.Time) control.JobStatus {
	s := control.JobStatus{
		Spent: r.budget.Spent(), Ceilings: r.cfg.Limits.Ceilings(), Warnings: r.tally.Warnings, Counts: r.counts, Stopped: r.discoveryStopped,
	}
	if !r.shared {
		s.Elapsed, s.Rate = now.Sub(r.loop.Began().Round(0)), r.tally.Rate(now)
	} else {
		s.Elapsed = max(now.Sub(r.started), 0)
	}
	if r.stop != nil {
		s.Stopping = r.stop.Reason
	}
	return s
}

// stopDiscovery defers all URLs found from now on, and returns whether discovery was
// already stopped.
func (r *run) stopDiscovery() (before bool) {
	before, r.discoveryStopped = r.discoveryStopped, true
	return before
}
