package fetchpool

import (
	"sync/atomic"
	"time"

	"headway/gauge"
)

// Departures is what is seen of a host where its requests leave. The schedule decides
// when a request may leave and how many may be under way; this checks whether they do as
// it decided. Workers call it at the moment the first byte of a request is written. It
// knows nothing of the schedule except what that promised when it handed the request out,
// and changes nothing.
type Departures struct {
	last     atomic.Int64 // when the last request left, in Unix nanoseconds; 0: none that we saw
	inFlight atomic.Int32 // requests that have left and are not over
}

// Promise is what a host was promised when a request was handed out.
type Promise struct {
	Pace time.Duration // since the last request
	Cap  int32         // requests under way, this one included
}

// Leave notes that a request leaves, and counts on the meter what it breaks.
func (d *Departures) Leave(at time.Time, p Promise, m *gauge.Meter) {
	if n := d.inFlight.Add(1); n > p.Cap {
		m.OverCap.Add(1)
	}
	d.follow(at, p, m)
}

// End notes that a request that left is over.
func (d *Departures) End() { d.inFlight.Add(-1) }

// follow counts a request that left too soon after the last one. Requests to a host with
// a pace leave one after the other: none is handed out while another is about to leave.
func (d *Departures) follow(at time.Time, p Promise, m *gauge.Meter) {
	if last := d.last.Swap(at.UnixNano()); last != 0 && at.UnixNano()-last < int64(p.Pace) {
		m.ShortGaps.Add(1)
	}
}
