// Package governor applies back-pressure: it decides how many fetches may be under way
// while the store, the parsers and memory keep up.
//
// It is the thirteenth layer of control, between the frontier and the worker pool: fetched
// pages must be parsed, held in memory and committed, and when one of these falls behind,
// more fetches only lengthen the queue. The loop of a crawl reports commit durations, the
// length of the parser queue and memory use to a [Governor], and calls [Governor.Permits]
// before it starts fetches.
//
// Guarantees: a signal that stays high for a second halves the permits, and again each
// further second, but never on stale data. Permits return one by one, all within
// [ReturnWithin] once every signal is low. A single commit that hangs takes permits only
// until it is done: then they return at once, if all signals are low without it and the
// commit before did not hang too. What had been cut when another signal was high returns one
// by one. There is always at least one permit, so that recovery is noticed. An occasional
// slow commit costs no permit unless it hangs for more than a second.
// [Governor.Reason] names the signal that reduced the permits.
//
// A Governor has no clock, starts no goroutine and measures nothing: the same calls with
// the same times give the same permits.
package governor

import "time"

// Config has the settings of a Governor. Zero values mean the default.
type Config struct {
	Workers      int           // permits without back-pressure; default 512
	Min          int           // minimum of permits; default 1
	CommitTarget time.Duration // target duration of a commit; default 250 ms
	CommitPages  int           // maximum of pages per commit; default 1000
}

// The defaults of [Config].
const (
	DefaultWorkers      = 512
	DefaultMin          = 1
	DefaultCommitTarget = 250 * time.Millisecond
	DefaultCommitPages  = 1000
)

// Constants of the control rule.
const (
	// Interval is how long a signal must be high before permits are cut, and the time
	// between two cuts. A cut halves the permits.
	Interval = time.Second
	// ReturnWithin is the time in which all permits return, evenly, except after a single
	// commit that hung.
	ReturnWithin = 30 * time.Second
	// Fade is how long a signal is valid. An older one is ignored.
	Fade = 10 * time.Second

	cut        = 2  // permits are divided by it
	smoothing  = 4  // weight of a commit in the average: 1/4
	worst      = 2  // a single commit counts as at most twice the target
	stallAfter = 4  // a commit under way for this many targets counts as a high average
	fewPages   = 20 // a commit with at most 1/20 of its pages shows the fixed cost
	maxFixed   = 8  // which is at most this many targets
)

// signal is one of the things that may fall behind.
type signal uint8

const (
	storage signal = iota
	parse
	memory
	signals
)

var names = [signals]string{"storage", "parse", "memory"}

// marks are the loads above which a signal is high, and below which it is low; in between
// permits stay as they are. The parser queue is meant to be in use, and memory does not
// empty at once.
var marks = [signals]struct{ high, low float64 }{
	storage: {0.9, 0.7},
	parse:   {0.9, 0.5},
	memory:  {0.9, 0.8},
}

// gauge is the last value of a signal.
type gauge struct {
	load float64
	at   time.Time
}

// Governor counts permits. Create one with [New]; it belongs to one goroutine.
type Governor struct {
	cfg     Config
	step    time.Duration // between two returning permits
	permits int
	gauges  [signals]gauge
	commits float64       // smoothed load of the store, without the commit under way
	fixed   time.Duration // duration of a small commit; 0 if unknown

	now      time.Time // time up to which permits are counted
	next     time.Time // when permits may be cut, or the next one returns
	level    level
	reason   signal // what cut permits last, of those that are missing
	inFlight int    // maximum since the last cut; 0 if unknown
	hang     hang
}

// hang is what a commit that hangs took, to be given back when it is done.
type hang struct {
	permits int    // before the first cut that only the commit under way caused; 0 for none
	reason  signal // of the cuts before that
	again   bool   // the commit before took permits too
}

// level is the combined result of all signals.
type level uint8

const (
	low  level = iota // permits return
	even              // permits stay
	high              // permits are cut
)

// New returns a governor with all its permits.
func New(c Config) *Governor {
	if c.Workers <= 0 {
		c.Workers = DefaultWorkers
	}
	if c.Min <= 0 {
		c.Min = DefaultMin
	}
	if c.CommitTarget <= 0 {
		c.CommitTarget = DefaultCommitTarget
	}
	if c.CommitPages <= 0 {
		c.CommitPages = DefaultCommitPages
	}
	c.Min = min(c.Min, c.Workers)
	return &Governor{cfg: c, permits: c.Workers, step: max(1, ReturnWithin/time.Duration(c.Workers))}
}

// Commit reports a completed commit. Both slow and full commits count: others wait behind
// them. The fixed cost of even a small commit does not count: on a slow but steady disk,
// fewer fetches would not make commits faster.
//
// The permits that this commit took because it hung return now if all signals are low
// without it, and the one before did not hang too.
func (g *Governor) Commit(now time.Time, took time.Duration, pages int) {
	g.advance(now)
	few := pages*fewPages <= g.cfg.CommitPages
	switch {
	case g.fixed == 0 && few:
		g.fixed = took
	case few:
		g.fixed += (took - g.fixed) / smoothing
	default:
		g.fixed = min(g.fixed, took)
	}
	g.fixed = min(g.fixed, maxFixed*g.cfg.CommitTarget)
	load := max(float64(took-g.fixed)/float64(g.cfg.CommitTarget), float64(pages)/float64(g.cfg.CommitPages))
	hung := g.hang.permits > 0
	if hung {
		g.observe(now, storage, g.commits) // without this one
		if g.level == low && !g.hang.again {
			g.permits, g.reason = max(g.permits, g.hang.permits), g.hang.reason
		}
	}
	g.hang = hang{again: hung}
	g.commits += (min(load, worst) - g.commits) / smoothing
	g.observe(now, storage, g.commits)
}

// Stalled reports a commit that began at since and is still under way. Call it before each
// call of Permits meanwhile: a hanging commit counts before it returns.
func (g *Governor) Stalled(now, since time.Time) {
	late := now.Sub(since) - g.fixed
	if late < g.cfg.CommitTarget {
		return
	}
	g.observe(now, storage, max(g.commits, float64(late)/float64(stallAfter*g.cfg.CommitTarget)))
}

// Parse reports how many bodies wait for a parser, and the limit.
func (g *Governor) Parse(now time.Time, waiting, limit int) {
	g.observe(now, parse, share(int64(waiting), int64(limit)))
}

// Memory reports how many bytes are in use, and the limit.
func (g *Governor) Memory(now time.Time, used, limit int64) {
	g.observe(now, memory, share(used, limit))
}

// share is n as a fraction of limit; 0 without a limit.
func share(n, limit int64) float64 {
	if limit <= 0 {
		return 0
	}
	return float64(n) / float64(limit)
}

// InFlight reports how many fetches are under way. If the pace of hosts allows far fewer
// fetches than there are permits, a cut starts from the number in use; without this call,
// from the permits.
func (g *Governor) InFlight(n int) { g.inFlight = max(g.inFlight, n) }

// Permits returns how many fetches may be under way at now.
func (g *Governor) Permits(now time.Time) int {
	g.advance(now)
	return g.permits
}

// Reason names the signal that made the last cut whose permits have not been given back:
// "storage", "parse" or "memory"; "" if no permits are missing.
func (g *Governor) Reason() string {
	if g.permits == g.cfg.Workers {
		return ""
	}
	return names[g.reason]
}

// observe records a signal, and cuts permits if it has been high for long enough.
func (g *Governor) observe(now time.Time, s signal, load float64) {
	g.advance(now)
	g.gauges[s] = gauge{load, g.now}
	g.judge()
	if load < marks[s].high {
		return
	}
	hangs := s == storage && g.levelAt(g.commits) != high
	if !hangs {
		g.hang.permits = 0 // more than the hang is high: what is missing returns evenly
	}
	if g.now.Before(g.next) || g.permits == g.cfg.Min {
		return
	}
	if hangs && g.hang.permits == 0 {
		g.hang.permits, g.hang.reason = g.permits, g.reason
	}
	used := g.permits
	if g.inFlight > 0 {
		used = min(used, g.inFlight)
	}
	g.permits = max(g.cfg.Min, used/cut)
	g.inFlight = 0
	g.reason = s
	g.next = g.now.Add(Interval)
}

// levelAt combines all signals, with a load of the store.
func (g *Governor) levelAt(store float64) level {
	sum := low
	for s, m := range marks {
		load := g.gauges[s].load
		if signal(s) == storage {
			load = store
		}
		switch {
		case load >= m.high:
			sum = high
		case load > m.low:
			sum = max(sum, even)
		}
	}
	return sum
}

// judge combines all signals, and restarts the timer when the level changes.
func (g *Governor) judge() {
	sum := g.levelAt(g.gauges[storage].load)
	if sum == g.level {
		return
	}
	g.level = sum
	switch sum {
	case high:
		g.next = g.now.Add(Interval)
	case low:
		g.next = g.now.Add(g.step)
	}
}

// advance counts permits up to now. Signals that expire on the way do so at their time.
func (g *Governor) advance(now time.Time) {
	for {
		s, at := g.nextFade()
		if at.IsZero() || at.After(now) {
			break
		}
		g.restorePermits(at)
		g.gauges[s] = gauge{}
		if s == storage {
			g.commits, g.fixed, g.hang = 0, 0, hang{}
		}
		g.judge()
	}
	g.restorePermits(now)
}

// nextFade returns which signal expires first, and when; zero for none.
func (g *Governor) nextFade() (which signal, first time.Time) {
	for s := range g.gauges {
		if g.gauges[s].at.IsZero() {
			continue
		}
		if at := g.gauges[s].at.Add(Fade); first.IsZero() || at.Before(first) {
			which, first = signal(s), at
		}
	}
	return which, first
}

// restorePermits returns the permits that are due up to now. An earlier time than the last
// changes nothing.
func (g *Governor) restorePermits(now time.Time) {
	if !now.After(g.now) {
		return
	}
	g.now = now
	if g.level != low {
		return
	}
	for ; !g.next.After(now) && g.permits < g.cfg.Workers; g.next = g.next.Add(g.step) {
		g.permits++
	}
}
