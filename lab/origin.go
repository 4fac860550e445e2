package lab

import (
	"slices"
	"time"

	"headway/lab/temper"
)

// originState is what the origin behind a cache remembers of the pages it made.
type originState struct {
	temper temper.State
	made   []making
	pages  map[int]int // how often each was made
	total  int64
}

// making is one page made by an origin.
type making struct {
	start time.Time
	took  time.Duration
	idle  time.Duration // what it would have taken with nothing else to do
}

// maxMade bounds the pages that the times of an origin are taken from.
const maxMade = 1 << 18

// defaultOrigin makes every page in the same time.
var defaultOrigin = temper.Rules{Latency: temper.Constant(cacheCold)}

// askOrigin lets the origin make a page. It reports whether there is nothing
// left to say: the client left meanwhile, or the origin refused.
func (x *exchange) askOrigin() (done bool) {
	rules := x.host.temper.Origin
	if rules == nil {
		rules = &defaultOrigin
	}
	o := &x.tally.origin
	x.tally.mu.Lock()
	start := time.Now() // under the lock, so that instants do not go backwards
	v := o.temper.Arrive(rules, start, temper.Page, x.page)
	if o.pages == nil {
		o.pages = map[int]int{}
	}
	o.pages[x.page]++
	o.total++
	x.tally.mu.Unlock()
	gone := x.pause(v.Wait)
	x.tally.mu.Lock()
	o.temper.Leave()
	if len(o.made) < maxMade {
		o.made = append(o.made, making{start, time.Since(start), v.Idle})
	}
	x.tally.mu.Unlock()
	switch {
	case gone:
		return true
	case v.Action == temper.Refuse:
		x.refuse(v.Status, v.Form, v.RetryAfter)
		return true
	case v.Action == temper.Reset:
		x.reset()
		return true
	default:
		return false
	}
}

// OriginStats is what the origin behind a cache saw: the requests that the cache
// could not answer itself. Times are as the origin measures them.
type OriginStats struct {
	Requests  int64   `json:"requests"`
	MostPage  int     `json:"most_page"`       // requests for one page, at most
	MostNever int     `json:"most_never_kept"` // for one page that the cache never keeps
	IdleP95MS float64 `json:"idle_p95_ms"`     // 95 of 100 take no longer with nothing else to do
	P95MS     float64 `json:"p95_ms"`          // the same, as it was
	WorstMS   float64 `json:"worst_p95_ms"`    // of the worst second
	// OverMS is the longest time without a break, by the second, in which the
	// 95th percentile of the requests under way was above twice the idle one.
	OverMS float64 `json:"over_ms"`
}

// report works out the figures; nil if nothing was asked.
func (o *originState) report() *OriginStats {
	if o.total == 0 {
		return nil
	}
	st := &OriginStats{Requests: o.total}
	for page, n := range o.pages {
		st.MostPage = max(st.MostPage, n)
		if neverKept(page) {
			st.MostNever = max(st.MostNever, n)
		}
	}
	if len(o.made) == 0 {
		return st
	}
	var took, idle []time.Duration
	for _, m := range o.made {
		took, idle = append(took, m.took), append(idle, m.idle)
	}
	usual := p95(idle)
	worst, over := o.seconds(2*usual + clockSlack)
	st.IdleP95MS, st.P95MS, st.WorstMS, st.OverMS = milliseconds(usual), milliseconds(p95(took)), milliseconds(worst), milliseconds(over)
	return st
}

// clockSlack forgives what timers of a busy machine add to a wait.
const clockSlack = 5 * time.Millisecond

// seconds goes through the time from the first request to the last answer second
// by second. It gives the 95th percentile of the worst, of the requests under way
// in it, and the longest run of seconds in which it is above a limit.
func (o *originState) seconds(limit time.Duration) (worst, over time.Duration) {
	slices.SortStableFunc(o.made, func(a, b making) int { return a.start.Compare(b.start) })
	var now []making
	run, next := time.Duration(0), 0
	for at := o.made[0].start; next < len(o.made) || len(now) > 0; at = at.Add(time.Second) {
		now = slices.DeleteFunc(now, func(m making) bool { return !m.start.Add(m.took).After(at) })
		for ; next < len(o.made) && o.made[next].start.Before(at.Add(time.Second)); next++ {
			now = append(now, o.made[next])
		}
		if len(now) == 0 {
			run = 0
			continue
		}
		var took []time.Duration
		for _, m := range now {
			took = append(took, m.took)
		}
		p := p95(took)
		worst = max(worst, p)
		if p <= limit {
			run = 0
			continue
		}
		run += time.Second
		over = max(over, run)
	}
	return worst, over
}

// p95 is the 95th percentile of some durations, which it sorts.
func p95(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)*95/100]
}
