// Package gauge shows how a crawl or a worker stands: plain data, for whoever measures.
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

// Gauge shows whoever measures how a crawl or a worker stands. The loop writes a
// reading on it a few times a second; reading it takes one pointer and never makes
// the loop wait. The zero Gauge is ready; it belongs to one worker or one crawl at a
// time.
type Gauge struct{ last atomic.Pointer[Reading] }

// Read returns the last reading. It is zero before the first one, and must not be
// changed.
func (g *Gauge) Read() Reading {
	if r := g.last.Load(); r != nil {
		return *r
	}
	return Reading{}
}

// Set shows a reading from now on. Whoever crawls calls it; a test of what is shown
// does too.
func (g *Gauge) Set(r Reading) { g.last.Store(&r) }

// Reading is how a crawl or a worker stood at a moment.
type Reading struct {
	Totals
	At       time.Time
	Life     int          // counted from 1: a worker that lost its place begins another one
	Over     bool         // this life has ended
	Tenure   store.Tenure // how long requests may start, as last renewed
	Slots    int          // owned
	Jobs     map[job.State]int
	Frontier frontier.Stats
	Hosts    []HostTime // of every state, in their order
	Links    int        // that wait for the next commit
	Layers   []Layer
}

// HostTime is what hosts with work spent in one state. Each is in exactly one at
// a time, so all of them add up to the time of all hosts.
type HostTime struct {
	State frontier.State
	Hosts int           // in it now
	Spent time.Duration // by all of them together, in all lives
}

// Totals counts from the beginning of the process: they only grow.
type Totals struct {
	Requests  map[frontier.Kind]int64 // that left, by what was asked for
	Answers   int64                   // requests that were answered with a status
	Unheard   int64                   // requests without an answer
	Refusals  map[int]int64           // answers that said not now, by status
	Retries   map[politeness.Charge]int64
	Pages     int64
	Outcomes  map[visit.Outcome]int64 // URLs that ended
	Bytes     int64                   // of bodies, as sent
	Incidents int64                   // times a host pushed back
	Holds     int64                   // times a host was given longer to be left alone
	Slowed    int64                   // times a host's pace became longer
	Quickened int64                   // times it became shorter
	Cuts      int64                   // times a host pushed back and may have fewer requests under way for it
	Opened    int64                   // times a host's circuit opened: too many failures in a row
	Cancelled int64                   // jobs that ended because a host went on refusing at the slowest pace
	Commits   Latencies

	// What must stay 0. It is measured where the first byte of a request is
	// written, against what its host was promised when the request was handed out.
	ShortGaps int64 // requests that left sooner after the last one than their host was promised
	OverCap   int64 // requests that left while their host had as many under way as it was promised

	StoreErrors int64 // questions and commits the store failed at, those included that were tried again
}

// CommitBounds are the upper bounds of the parts that commits are counted in.
var CommitBounds = [...]time.Duration{
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond,
	500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second,
}

// Latencies counts how long something took.
type Latencies struct {
	N   int64
	Sum time.Duration
	In  [len(CommitBounds)]int64 // those that took at most as long as the bound, and longer than the one before
}

// Add counts one.
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

// Copy returns totals that stay as they are.
func (t *Totals) Copy() Totals {
	c := *t
	c.Requests, c.Refusals, c.Retries, c.Outcomes = maps.Clone(t.Requests), maps.Clone(t.Refusals), maps.Clone(t.Retries), maps.Clone(t.Outcomes)
	return c
}
