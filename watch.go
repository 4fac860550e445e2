package headway

import (
	"time"

	"headway/frontier"
	"headway/internal/fetchpool"
	"headway/politeness"
)

// watching lets the schedule tell what it promises.
func (c *crawler) watching(t frontier.Trace) frontier.Trace {
	taken := t.Taken
	t.Taken = func(now time.Time, r frontier.Request, p frontier.Promise) {
		if s := c.sites[r.Host]; s != nil {
			s.promise = fetchpool.Promise{Pace: p.Pace, Cap: int32(p.Cap)}
		}
		if taken != nil {
			taken(now, r, p)
		}
	}
	return t
}

// measure counts a request that is over, and what its answer did to the host.
func (c *crawler) measure(r frontier.Request, a *frontier.Answer, wire int64, e politeness.Effect) {
	view, ok := c.f.View(r.Host)
	s := c.sites[r.Host]
	refusal, cut := politeness.IsRefusal(a.Status), false
	if ok && view.Policy != nil {
		refusal = view.Policy.Refuses(a.Status)
		cut = e.Has(politeness.Incident) && s != nil && view.Policy.Cap(view.State) < int(s.promise.Cap)
	}
	c.meter.Landed(r.Kind, a, wire)
	c.meter.Affected(a.Status, refusal, cut, e)
}
