package frontier

import (
	"time"

	"headway/job"
	"headway/politeness"
	"headway/weburl"
)

// Order changes the state of a host as ordered by an operator, and returns the state
// before and after. ok is false if the host's state is not in memory.
func (f *Frontier) Order(now time.Time, name string, change func(politeness.State) politeness.State) (before, after politeness.State, ok bool) {
	h := f.hosts.find(name)
	if h == nil || h.stage != live && h.stage != yielding {
		return before, after, false
	}
	before = h.state
	h.state = change(h.state)
	f.look(h, now)
	return before, h.state, true
}

// Find reports whether a waiting URL of a job is in flight, and since when. ok is
// false if its host is not in memory.
func (f *Frontier) Find(id job.ID, u weburl.URL) (sent bool, since time.Time, ok bool) {
	h := f.hosts.find(u.Host())
	if h == nil {
		return false, time.Time{}, false
	}
	if q := h.queue(id); q != nil {
		for _, fl := range q.busy {
			if fl.entry.url == u {
				return true, fl.sentAt, true
			}
		}
	}
	return false, time.Time{}, true
}
