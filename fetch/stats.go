package fetch

import (
	"errors"
	"sync/atomic"

	"headway/fetch/guard"
)

// Stats are the counters and the current state of a Client.
type Stats struct {
	Conns    guard.Layer // open connections, idle ones included
	Idle     int         // of these
	Bodies   guard.Layer // memory of bodies; Limit and Use are in KiB
	Decoders guard.Layer // bodies being decompressed

	Requests uint64 // requests sent
	Answers  uint64 // responses with a status
	Failures uint64 // exchanges that ended in an *Error
	Reused   uint64 // requests on a kept-alive connection
	Stale    uint64 // of these, on a dead connection
	Wire     uint64 // body bytes as sent
	Decoded  uint64 // body bytes decompressed
}

// counters are the totals behind Stats.
type counters struct {
	requests, answers, failures, reused, stale, wire, decoded atomic.Uint64
}

// count adds one exchange to the totals.
func (c *counters) count(r *Result, err error) {
	if !r.Timing.Sent.IsZero() {
		c.requests.Add(1)
		if r.Timing.Reused {
			c.reused.Add(1)
		}
	}
	if r.Status != 0 {
		c.answers.Add(1)
	}
	if e, ok := errors.AsType[*Error](err); ok {
		c.failures.Add(1)
		if e.Stale {
			c.stale.Add(1)
		}
	}
	c.wire.Add(uint64(r.WireBytes))
	c.decoded.Add(uint64(len(r.Body)))
}

// Stats returns a snapshot.
func (c *Client) Stats() Stats {
	conns, idle := c.pool.stats()
	return Stats{
		Conns: conns, Idle: idle, Bodies: c.budget.layer(), Decoders: c.decoders.layer(),
		Requests: c.counters.requests.Load(), Answers: c.counters.answers.Load(), Failures: c.counters.failures.Load(),
		Reused: c.counters.reused.Load(), Stale: c.counters.stale.Load(),
		Wire: c.counters.wire.Load(), Decoded: c.counters.decoded.Load(),
	}
}
