package headway

import (
	"time"

	"headway/frontier"
	"headway/internal/fetchpool"
	"headway/politeness"
)

// watching lets the schedule tell what it promises.
func (hs *hosts) watching(t frontier.Trace) frontier.Trace {
	taken := t.Taken
	t.Taken = func(now time.Time, r frontier.Request, p frontier.Promise) {
		if s := hs.sites[r.Host]; s != nil {
			s.promise = fetchpool.Promise{Pace: p.Pace, Cap: int32(p.Cap)}
		}
		if taken != nil {
			taken(now, r, p)
		}
	}
	return t
}

// measure counts a request that is over, and what its answer did to the host.
func (lr *learner) measure(r frontier.Request, a *frontier.Answer, wire int64, e politeness.Effect) {
	view, ok := lr.f.View(r.Host)
	s := lr.sites[r.Host]
	refusal, cut := politeness.IsRefusal(a.Status), false
	if ok && view.Policy != nil {
		refusal = view.Policy.Refuses(a.Status)
		cut = e.Has(politeness.Incident) && s != nil && view.Policy.Cap(view.State) < int(s.promise.Cap)
	}
	lr.meter.Landed(r.Kind, a, wire)
	lr.meter.Affected(a.Status, refusal, cut, e)
}
