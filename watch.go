package headway

import (
	"sync/atomic"
	"time"

	"headway/frontier"
	"headway/gauge"
	"headway/politeness"
)

// watched is what is seen of a host where its requests leave. The schedule says
// when a request may leave and how many may be under way; this is whether they do
// as it says. It is asked by workers at the moment the first byte of a request is
// written, knows nothing of the schedule but what that promised when it handed the
// request out, and changes nothing.
type watched struct {
	promise promise      // to the request that was handed out last; the loop's
	left    atomic.Int64 // when the last request left, in nanoseconds since 1970; 0: none that we saw
	under   atomic.Int32 // requests that have left and are not over
}

// promise is what a host was promised when a request was handed out.
type promise struct {
	pace time.Duration
	cap  int32
}

// watching lets the schedule tell what it promises.
func (c *crawler) watching(t frontier.Trace) frontier.Trace {
	taken := t.Taken
	t.Taken = func(now time.Time, r frontier.Request, p frontier.Promise) {
		if s := c.sites[r.Host]; s != nil {
			s.watched.promise = promise{pace: p.Pace, cap: int32(p.Cap)}
		}
		if taken != nil {
			taken(now, r, p)
		}
	}
	return t
}

// leaves notes that a request leaves, and counts what it breaks.
func (w *watched) leaves(at time.Time, p promise, m *gauge.Meter) {
	if under := w.under.Add(1); under > p.cap {
		m.OverCap.Add(1)
	}
	w.follows(at, p, m)
}

// follows counts a request that left too soon after the last one. Requests to a
// host with a pace leave one after the other: none is handed out while another is
// about to leave.
func (w *watched) follows(at time.Time, p promise, m *gauge.Meter) {
	if last := w.left.Swap(at.UnixNano()); last != 0 && at.UnixNano()-last < int64(p.pace) {
		m.ShortGaps.Add(1)
	}
}

// measure counts a request that is over, and what its answer did to the host.
func (c *crawler) measure(r frontier.Request, a *frontier.Answer, wire int64, e politeness.Effect) {
	view, ok := c.f.View(r.Host)
	s := c.sites[r.Host]
	refusal, cut := politeness.IsRefusal(a.Status), false
	if ok && view.Policy != nil {
		refusal = view.Policy.Refuses(a.Status)
		cut = e.Has(politeness.Incident) && s != nil && view.Policy.Cap(view.State) < int(s.watched.promise.cap)
	}
	c.meter.Landed(r.Kind, a, wire)
	c.meter.Affected(a.Status, refusal, cut, e)
}
