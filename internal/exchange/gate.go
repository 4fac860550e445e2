package exchange

import (
	"sync/atomic"
	"time"

	"headway/fetch"
	"headway/politeness"
)

// Gate blocks requests that were handed out before their host refused another one and have
// not been sent yet. The schedule learns of a refusal a moment later than the worker that
// read it; the gate covers only that moment.
type Gate struct{ until atomic.Int64 } // Unix nanoseconds

// maxGate is the longest time the schedule needs to learn of a refusal.
const maxGate = 10 * time.Second

// CloseOnRefusal closes the gate for the Retry-After of a refusal.
func (g *Gate) CloseOnRefusal(res *fetch.Result) {
	if !politeness.IsRefusal(res.Status) {
		return
	}
	now := time.Now()
	if d, ok := retryAfter(res, now); ok {
		g.until.Store(now.Add(min(d, maxGate)).UnixNano())
	}
}

// Closed reports whether requests to the host must wait.
func (g *Gate) Closed(now time.Time) bool { return now.UnixNano() < g.until.Load() }
