package headway

import (
	"time"

	"headway/job"
)

// stopInTime starts nothing more for jobs whose time is up, whoever is to end them and
// whether he lives, and gives up what is in flight of them a moment later.
func (c *crawler) stopInTime(now time.Time) {
	c.upAt = time.Time{}
	for _, r := range c.runs {
		at, ok := r.budget.Deadline()
		switch {
		case !ok || r.state != job.Running:
		case now.Before(at):
			c.upAt = earliest(c.upAt, at)
		default:
			c.f.StopJob(now, r.ID)
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
