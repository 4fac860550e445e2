package guard

import (
	"context"
	"sync/atomic"
	"time"
)

// Layer is the state of one bounded resource.
type Layer struct {
	Limit   int
	Use     int
	Waiting int
	Waits   uint64        // number of waits
	Waited  time.Duration // total time waited
}

// Stats are the counters and the current state of a Dialer.
type Stats struct {
	Lookups Layer // lookups under way

	Entries int    // answers in the DNS cache
	Limit   int    // of Entries
	Hits    uint64 // cache hits
	Misses  uint64 // cache misses, including joined lookups
	Evicted uint64 // answers evicted to stay within the limit

	LookupFailures uint64 // lookups without an address
	Blocked        uint64 // destinations refused by name, address or port
	Dials          uint64 // connection attempts
	DialFailures   uint64 // failed connection attempts
}

// counters are the totals behind Stats.
type counters struct {
	hits, misses, lookupFailures, blocked, dials, dialFailures atomic.Uint64
}

// Stats returns a snapshot.
func (d *Dialer) Stats() Stats {
	entries, evicted := d.cache.size()
	return Stats{
		Lookups:        d.lookups.layer(),
		Entries:        entries,
		Limit:          d.cfg.MaxEntries,
		Hits:           d.counters.hits.Load(),
		Misses:         d.counters.misses.Load(),
		Evicted:        evicted,
		LookupFailures: d.counters.lookupFailures.Load(),
		Blocked:        d.counters.blocked.Load(),
		Dials:          d.counters.dials.Load(),
		DialFailures:   d.counters.dialFailures.Load(),
	}
}

// gate is a semaphore that counts waits.
type gate struct {
	places  chan struct{}
	waiting atomic.Int64
	waits   atomic.Uint64
	waited  atomic.Int64 // nanoseconds
}

func newGate(limit int) *gate { return &gate{places: make(chan struct{}, limit)} }

// enter waits for a place or the end of ctx.
func (g *gate) enter(ctx context.Context) error {
	select {
	case g.places <- struct{}{}:
		return nil
	default:
	}
	g.waits.Add(1)
	g.waiting.Add(1)
	start := time.Now()
	defer func() {
		g.waiting.Add(-1)
		g.waited.Add(int64(time.Since(start)))
	}()
	select {
	case g.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *gate) leave() { <-g.places }

func (g *gate) layer() Layer {
	return Layer{
		Limit:   cap(g.places),
		Use:     len(g.places),
		Waiting: int(g.waiting.Load()),
		Waits:   g.waits.Load(),
		Waited:  time.Duration(g.waited.Load()),
	}
}
