package engine

import (
	"time"

	"headway/frontier"
	"headway/internal/committer"
	"headway/store"
)

// How often the host time of a fleet job is stored, together with other changes: what a
// worker did since then is lost if it is killed. With many jobs it is stored less often,
// so that it stays a small part of all writes.
const (
	hostTimeEvery  = 500 * time.Millisecond
	hostTimePerJob = 25 * time.Millisecond
)

// hostTime is what was already stored of the host time of a job.
type hostTime struct {
	at     time.Time // when it is stored next
	stored map[frontier.State]time.Duration
}

// takeHostTime returns the host time of a job that is not stored yet.
func (r *run) takeHostTime(now time.Time) []store.HostTime {
	if _, ok := r.st.(store.HostTimes); !ok {
		return nil
	}
	if r.hostTime.stored == nil {
		r.hostTime.stored = map[frontier.State]time.Duration{}
	}
	var list []store.HostTime
	for _, s := range r.f.HostTime(now, r.ID) {
		// Whole microseconds, which is what stores keep: the rest is for the next time.
		if spent := (s.Spent - r.hostTime.stored[s.State]).Truncate(time.Microsecond); spent > 0 {
			r.hostTime.stored[s.State] += spent
			list = append(list, store.HostTime{Job: r.ID, State: s.State.String(), Spent: spent})
		}
	}
	return list
}

// storeHostTime stores the host time of a job, if it is due.
func (m *member) storeHostTime(now time.Time, r *run) {
	if now.Before(r.hostTime.at) {
		return
	}
	r.hostTime.at = now.Add(max(hostTimeEvery, time.Duration(len(m.jobs.runs))*hostTimePerJob))
	if list := r.takeHostTime(now); len(list) > 0 {
		m.enqueue(committer.Entry{Times: list})
	}
}
