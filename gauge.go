package headway

import (
	"context"
	"errors"
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
// the loop wait. The zero Gauge is ready; it belongs to one call of [Work], or one
// [Crawl], at a time.
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

func (l *Latencies) add(d time.Duration) {
	l.N++
	l.Sum += d
	for i, most := range CommitBounds {
		if d <= most {
			l.In[i]++
			return
		}
	}
}

// copy returns totals that stay as they are.
func (t *Totals) copy() Totals {
	c := *t
	c.Requests, c.Refusals, c.Retries, c.Outcomes = maps.Clone(t.Requests), maps.Clone(t.Refusals), maps.Clone(t.Retries), maps.Clone(t.Outcomes)
	return c
}

// meter counts for a [Gauge]. It belongs to the loop, but for what is counted
// where it happens.
type meter struct {
	totals Totals
	life   int
	before map[frontier.State]time.Duration // host-time of earlier lives

	shortGaps, overCap, storeErrors atomic.Int64
}

// newMeter goes on counting from what a gauge shows.
func newMeter(g *Gauge) *meter {
	m := &meter{life: 1, before: map[frontier.State]time.Duration{}}
	if g != nil {
		last := g.Read()
		m.totals, m.life = last.copy(), last.Life+1
		for _, h := range last.Hosts {
			m.before[h.State] = h.Spent
		}
		m.shortGaps.Store(last.ShortGaps)
		m.overCap.Store(last.OverCap)
		m.storeErrors.Store(last.StoreErrors)
	}
	if m.totals.Requests == nil {
		m.totals.Requests, m.totals.Refusals = map[frontier.Kind]int64{}, map[int]int64{}
		m.totals.Retries, m.totals.Outcomes = map[politeness.Charge]int64{}, map[visit.Outcome]int64{}
	}
	return m
}

// landed counts a request that is over.
func (m *meter) landed(kind frontier.Kind, a *frontier.Answer, wire int64) {
	m.totals.Bytes += wire
	if a.SentAt.IsZero() {
		return
	}
	m.totals.Requests[kind]++
	if a.Status == 0 {
		m.totals.Unheard++
	} else {
		m.totals.Answers++
	}
}

// affected counts what an answer did to its host: refusal says that it meant not
// now, cut that fewer requests may be under way for it.
func (m *meter) affected(status int, refusal, cut bool, e politeness.Effect) {
	count := func(n *int64, yes bool) {
		if yes {
			*n++
		}
	}
	if refusal {
		m.totals.Refusals[status]++
	}
	count(&m.totals.Incidents, e.Has(politeness.Incident))
	count(&m.totals.Holds, e.Has(politeness.Held))
	count(&m.totals.Opened, e.Has(politeness.CircuitOpened))
	count(&m.totals.Cuts, cut)
	from, to := e.Pace()
	count(&m.totals.Slowed, to > from)
	count(&m.totals.Quickened, to < from)
}

// stored counts what the store failed at. It is safe for concurrent use.
func (m *meter) stored(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrFenced) {
		m.storeErrors.Add(1)
	}
}

// ended counts a URL that ended.
func (m *meter) ended(v *visit.Visit) {
	m.totals.Outcomes[v.Outcome]++
	if v.Outcome.Page() {
		m.totals.Pages++
	}
}

// show writes a reading on the gauge, if there is one.
func (c *crawler) show(now time.Time, over bool) {
	if c.cfg.Gauge == nil || c.f == nil {
		return
	}
	m := c.meter
	m.totals.ShortGaps, m.totals.OverCap, m.totals.StoreErrors = m.shortGaps.Load(), m.overCap.Load(), m.storeErrors.Load()
	_, links := c.commits.Behind()
	r := Reading{
		Totals: m.totals.copy(), At: time.Now(), Life: m.life, Over: over, Tenure: *c.tenure.Load(), Slots: len(c.leases), Jobs: map[job.State]int{},
		Frontier: c.f.Stats(), Links: links, Layers: c.layers(now),
	}
	for _, run := range c.runs {
		if run == c.alone {
			r.Jobs[job.Running]++
		} else {
			r.Jobs[run.state]++
		}
	}
	shares := c.f.Account().Shares(now)
	add := func(s frontier.State) {
		h := HostTime{State: s, Spent: m.before[s]}
		for i := range shares {
			if shares[i].State == s {
				h.Hosts, h.Spent = shares[i].Hosts, h.Spent+shares[i].Spent
			}
		}
		r.Hosts = append(r.Hosts, h)
	}
	add(frontier.Fetching)
	for _, w := range visit.Waits {
		add(frontier.Waiting(w))
	}
	c.cfg.Gauge.Set(r)
}
