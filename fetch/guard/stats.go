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
	Waits   uint64        // how often something had to wait
	Waited  time.Duration // how long in all
}

// Stats is what a Dialer has done and is doing.
type Stats struct {
	Lookups Layer // lookups under way

	Entries int    // answers in the cache
	Limit   int    // of Entries
	Hits    uint64 // answers given from the cache
	Misses  uint64 // answers that had to be looked up or waited for
	Evicted uint64 // answers dropped to stay within the limit

	LookupFailures uint64 // lookups that brought no address
	Blocked        uint64 // destinations refused by name, address or port
	Dials          uint64 // connections tried
	DialFailures   uint64 // connections that did not come about
}

// counters are the running sums behind Stats.
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

// gate lets a bounded number through and counts who waits.
type gate struct {
	places  chan struct{}
	waiting atomic.Int64
	waits   atomic.Uint64
	waited  atomic.Int64 // nanoseconds
}

func newGate(limit int) *gate { return &gate{places: make(chan struct{}, limit)} }

// enter waits for a place or for the end of ctx.
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
