// Package gauge publishes the state of a crawl or a worker as plain data, for metrics.
package gauge

import (
	"maps"
	"sync/atomic"
	"time"

	"headway/frontier"
	"headway/job"
	"headway/politeness"
	"headway/store"
	"headway/visit"
)

// Gauge publishes the state of a crawl or a worker. The loop updates it a few times a
// second; a read loads one pointer and never blocks the loop. The zero Gauge is ready; it
// belongs to one worker or one crawl at a time.
type Gauge struct{ last atomic.Pointer[Reading] }

// Read returns the last reading. It is zero before the first one, and must not be changed.
func (g *Gauge) Read() Reading {
	if r := g.last.Load(); r != nil {
		return *r
	}
	return Reading{}
}

// Set publishes a reading. It is for the crawler and for tests.
func (g *Gauge) Set(r Reading) { g.last.Store(&r) }

// Reading is the state of a crawl or a worker at a moment.
type Reading struct {
	Totals
	At       time.Time
	Life     int          // from 1; a worker that lost its lease and rejoined counts up
	Over     bool         // this life has ended
	Tenure   store.Tenure // the lease, as last renewed
	Slots    int          // owned
	Jobs     map[job.State]int
	Frontier frontier.Stats
	Hosts    []HostTime // for every state, in order
	Links    int        // that wait for the next commit
	Layers   []Layer
}

// HostTime is the time hosts with work spent in one state. Each host is in exactly one
// state at a time, so the sum is the time of all hosts.
type HostTime struct {
	State frontier.State
	Hosts int           // in it now
	Spent time.Duration // total, in all lives
}

// Totals counts from the start of the process: they only grow.
type Totals struct {
	Requests  map[frontier.Kind]int64 // sent, by kind
	Answers   int64                   // responses with a status
	Unheard   int64                   // requests without a response
	Refusals  map[int]int64           // refusals by status
	Retries   map[politeness.Charge]int64
	Pages     int64
	Outcomes  map[visit.Outcome]int64 // URLs that ended
	Bytes     int64                   // of bodies, as sent
	Incidents int64                   // times a host pushed back
	Holds     int64                   // times a hold was set or extended
	Slowed    int64                   // times a pace became longer
	Quickened int64                   // times a pace became shorter
	Cuts      int64                   // incidents that reduced a host's concurrency
	Opened    int64                   // times a circuit breaker opened: too many failures in a row
	Cancelled int64                   // jobs cancelled because a host kept refusing at the slowest pace
	Commits   Latencies

	// Violations, which must stay 0. They are measured when the first byte of a request is
	// written, against the promise made when it was handed out.
	ShortGaps int64 // requests sent sooner than the pace allows
	OverCap   int64 // requests sent beyond the host's concurrency

	StoreErrors int64 // failed store requests, including those that were retried
	Segments    Segments
}

// Segments counts the segments that were written to the archive.
type Segments struct {
	Written int64
	Bytes   int64         // of those that were written
	Failed  int64         // attempts, including those that were retried
	Took    time.Duration // all attempts
}

// CommitBounds are the upper bounds of the histogram of commit durations.
var CommitBounds = [...]time.Duration{
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond,
	500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second,
}

// Latencies is a histogram of durations.
type Latencies struct {
	N   int64
	Sum time.Duration
	In  [len(CommitBounds)]int64 // per bucket: at most this bound, more than the one before
}

// Add counts one duration.
func (l *Latencies) Add(d time.Duration) {
	l.N++
	l.Sum += d
	for i, most := range CommitBounds {
		if d <= most {
			l.In[i]++
			return
		}
	}
}

// Copy returns an independent copy.
func (t *Totals) Copy() Totals {
	c := *t
	c.Requests, c.Refusals, c.Retries, c.Outcomes = maps.Clone(t.Requests), maps.Clone(t.Refusals), maps.Clone(t.Retries), maps.Clone(t.Outcomes)
	return c
}
