package fetchpool

import (
	"sync/atomic"
	"time"

	"headway/gauge"
)

// Departures checks at the network edge that requests to a host keep the pace and
// concurrency promised by the schedule. Workers call it when the first byte of a request is
// written. It knows only the promise, counts violations, and changes nothing.
type Departures struct {
	last     atomic.Int64 // when the last request was sent, in Unix nanoseconds; 0: none seen
	inFlight atomic.Int32 // requests sent and not finished
}

// Promise is what the schedule guaranteed a host when a request was handed out.
type Promise struct {
	Pace time.Duration // since the last request
	Cap  int32         // requests under way, including this one
}

// Leave notes that a request is sent, and counts violations of the promise.
func (d *Departures) Leave(at time.Time, p Promise, m *gauge.Meter) {
	if n := d.inFlight.Add(1); n > p.Cap {
		m.OverCap.Add(1)
	}
	d.follow(at, p, m)
}

// End notes that a sent request is over.
func (d *Departures) End() { d.inFlight.Add(-1) }

// follow counts a request that was sent too soon after the last one. Requests to a host
// with a pace are sent one after the other: none is handed out while another is about to be
// sent.
func (d *Departures) follow(at time.Time, p Promise, m *gauge.Meter) {
	if last := d.last.Swap(at.UnixNano()); last != 0 && at.UnixNano()-last < int64(p.Pace) {
		m.ShortGaps.Add(1)
	}
}
