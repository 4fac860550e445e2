package headway

import (
	"time"

	"headway/job"
)

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
