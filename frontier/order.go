package frontier

import (
	"time"

	"headway/job"
	"headway/politeness"
	"headway/weburl"
)

// Order changes the state of a host as an operator says, and returns the state
// before and after. It is not ok for a host whose state is not in memory.
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

// Find tells where a URL of a job is that waits in the store: sent for, since
// when, or not. It is not ok for one whose host is not in memory.
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
