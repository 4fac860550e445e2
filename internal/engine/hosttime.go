package engine

import (
	"time"

	"headway/frontier"
	"headway/internal/committer"
	"headway/store"
)

// How often the host time of a fleet job is stored: what a worker did since then is lost if
// it is killed or leaves. It goes with a commit that is made anyway, and has its own only after a
// while. With many jobs it is stored less often, so that it stays a small part of all
// writes.
const (
	hostTimeEvery  = 500 * time.Millisecond
	hostTimePerJob = 25 * time.Millisecond
	hostTimeAlone  = 5 * time.Second
)

// hostTime is what was already stored of the host time of a job.
type hostTime struct {
	at     time.Time // when it may be stored next
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

// dueHostTime takes the host time of the fleet jobs that are due, to go with a commit.
func (js *jobs) dueHostTime(now time.Time) (list []store.HostTime) {
	for _, r := range js.runs {
		if !r.shared || now.Before(r.hostTime.at) {
			continue
		}
		if len(list) > store.MaxHostTimes/2 {
			break // the others with the next one
		}
		r.hostTime.at = now.Add(max(hostTimeEvery, time.Duration(len(js.runs))*hostTimePerJob))
		list = append(list, r.takeHostTime(now)...)
	}
	return list
}

// storeHostTime stores the host time of a job for which there was no commit for long.
func (m *member) storeHostTime(now time.Time, r *run) {
	if r.hostTime.at.IsZero() {
		r.hostTime.at = now.Add(hostTimeEvery)
	}
	if now.Before(r.hostTime.at.Add(hostTimeAlone)) {
		return
	}
	r.hostTime.at = now.Add(hostTimeEvery)
	if list := r.takeHostTime(now); len(list) > 0 {
		m.enqueue(committer.Entry{Times: list})
	}
}
