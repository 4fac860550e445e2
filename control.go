package headway

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

// newControl answers questions about the crawler and takes orders to it.
func (c *crawler) newControl() *control.Control {
	cfg := control.Config{Loop: c.loop, Frontier: c.f, Commits: c.commits, Workers: c.cfg.Workers, Layers: c.layers, Log: c.cfg.Log}
	if c.fleet == nil {
		r := c.alone
		return control.NewSolo(cfg, control.Solo{Mail: c.cfg.Mail, Job: r.ID, Standing: r.standing, StopDiscovery: r.stopDiscovery})
	}
	mail, _ := c.st.(store.Mail)
	return control.NewWorker(cfg, control.Worker{
		ID: c.worker, Key: c.key, Hosts: c.st, Mail: mail, Self: c.standing, Drain: c.drain, Poll: c.nextPoll,
		Owns: func(s store.Slot) bool { _, ours := c.slots.Lease(s); return ours },
		Standing: func(now time.Time, id job.ID) (control.Standing, bool) {
			if r := c.runs[id]; r != nil {
				return r.standing(now), true
			}
			return control.Standing{}, false
		},
	})
}

// standing is how a worker of a fleet stands.
func (c *crawler) standing() ask.Worker {
	return ask.Worker{
		Worker: c.worker, Since: c.loop.Began().UTC().Round(0), Renewed: ask.Millis(c.lease.Tenure().Age(time.Now())), Slots: c.slots.Len(), Leaving: c.slots.Leaving(),
		Hosts: c.f.Stats().Working, InFlight: c.pool.Busy(), Most: c.cfg.Workers, Jobs: slices.Sorted(maps.Keys(c.runs)), Draining: c.halted,
	}
}

// drain finishes what is in flight, as far as there is time for it, and ends the part in
// the fleet.
func (c *crawler) drain(now time.Time) {
	if !c.halted {
		c.halt(now, &jobrun.End{Reason: "interrupted"}, false)
		c.haltAt = now.Add(drainFor)
	}
}

// standing is how the job stands, as far as this process knows.
func (r *run) standing(now time.Time) control.Standing {
	s := control.Standing{
		Spent: r.budget.Spent(), Ceilings: r.cfg.Limits.Ceilings(), Warnings: r.tally.Warnings, Counts: r.counts, Stopped: r.enough,
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

// stopDiscovery defers what is found from now on, and returns whether that was so before.
func (r *run) stopDiscovery() (before bool) {
	before, r.enough = r.enough, true
	return before
}
