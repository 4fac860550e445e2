package exchange

import (
	"sync/atomic"
	"time"

	"headway/fetch"
	"headway/politeness"
)

// Gate closes a host for requests that were handed out before it refused and have
// not left yet. The schedule learns of a refusal a moment later than the worker
// that read it; the gate bridges that moment, and no more, because it is the
// schedule that decides.
type Gate struct{ until atomic.Int64 } // Unix nanoseconds

// maxGate is how long the schedule may take to learn of a refusal.
const maxGate = 10 * time.Second

// Heed closes the gate as long as a refusal asks for.
func (g *Gate) Heed(res *fetch.Result) {
	if !politeness.IsRefusal(res.Status) {
		return
	}
	now := time.Now()
	if d, ok := retryAfter(res, now); ok {
		g.until.Store(now.Add(min(d, maxGate)).UnixNano())
	}
}

// Closed tells whether the host has asked to be left alone.
func (g *Gate) Closed(now time.Time) bool { return now.UnixNano() < g.until.Load() }
