package gauge

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"headway/frontier"
	"headway/politeness"
	"headway/store"
	"headway/visit"
)

// Meter counts for a [Gauge]. It belongs to the loop, except the atomic counters.
type Meter struct {
	Totals Totals
	gauge  *Gauge
	life   int
	before map[frontier.State]time.Duration // host time of earlier lives

	ShortGaps, OverCap, storeErrors atomic.Int64

	mu       sync.Mutex
	segments Segments
}

// NewMeter continues the counts of a gauge, which may be nil.
func NewMeter(g *Gauge) *Meter {
	m := &Meter{gauge: g, life: 1, before: map[frontier.State]time.Duration{}}
	if g != nil {
		last := g.Read()
		m.Totals, m.life = last.Copy(), last.Life+1
		for _, h := range last.Hosts {
			m.before[h.State] = h.Spent
		}
		m.ShortGaps.Store(last.ShortGaps)
		m.OverCap.Store(last.OverCap)
		m.storeErrors.Store(last.StoreErrors)
		m.segments = last.Segments
	}
	if m.Totals.Requests == nil {
		m.Totals.Requests, m.Totals.Refusals = map[frontier.Kind]int64{}, map[int]int64{}
		m.Totals.Retries, m.Totals.Outcomes = map[politeness.Charge]int64{}, map[visit.Outcome]int64{}
	}
	return m
}

// RequestDone counts a finished request.
func (m *Meter) RequestDone(kind frontier.Kind, a *frontier.Answer, wire int64) {
	m.Totals.Bytes += wire
	if a.SentAt.IsZero() {
		return
	}
	m.Totals.Requests[kind]++
	if a.Status == 0 {
		m.Totals.Unheard++
	} else {
		m.Totals.Answers++
	}
}

// Affected counts the effect of a response on its host: refusal says that it was a refusal,
// cut that it reduced the host's concurrency.
func (m *Meter) Affected(status int, refusal, cut bool, e politeness.Effect) {
	count := func(n *int64, yes bool) {
		if yes {
			*n++
		}
	}
	if refusal {
		m.Totals.Refusals[status]++
	}
	count(&m.Totals.Incidents, e.Has(politeness.Incident))
	count(&m.Totals.Holds, e.Has(politeness.Held))
	count(&m.Totals.Opened, e.Has(politeness.CircuitOpened))
	count(&m.Totals.Cuts, cut)
	from, to := e.Pace()
	count(&m.Totals.Slowed, to > from)
	count(&m.Totals.Quickened, to < from)
}

// StoreAttempt counts failed store requests. It is safe for concurrent use.
func (m *Meter) StoreAttempt(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrFenced) {
		m.storeErrors.Add(1)
	}
}

// SegmentAttempt counts an attempt to write a segment of the archive. It is safe for concurrent
// use.
func (m *Meter) SegmentAttempt(ctx context.Context, bytes int, took time.Duration, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.segments.Took += took
	switch {
	case err == nil:
		m.segments.Written++
		m.segments.Bytes += int64(bytes)
	case ctx.Err() == nil:
		m.segments.Failed++
	}
}

// Ended counts a finished URL.
func (m *Meter) Ended(v *visit.Visit) {
	m.Totals.Outcomes[v.Outcome]++
	if v.Outcome.Page() {
		m.Totals.Pages++
	}
}

// Show updates the gauge, if there is one. It adds the totals and the host time of earlier
// lives to the reading.
func (m *Meter) Show(r Reading, shares []frontier.Share) {
	if m.gauge == nil {
		return
	}
	m.Totals.ShortGaps, m.Totals.OverCap, m.Totals.StoreErrors = m.ShortGaps.Load(), m.OverCap.Load(), m.storeErrors.Load()
	m.mu.Lock()
	m.Totals.Segments = m.segments
	m.mu.Unlock()
	r.Totals, r.At, r.Life = m.Totals.Copy(), time.Now(), m.life
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
	m.gauge.Set(r)
}
