// Package governor decides how many fetches may be under way while the rest of
// the machine keeps up.
//
// It stands between the frontier and the workers, as the thirteenth layer of
// control: what is fetched must be parsed, held in memory and committed, and
// when one of these falls behind, fetching more only makes the pile higher.
// The loop of a crawl tells a [Governor] how long commits take, how full the
// queue of the parsers and the memory are, and asks [Governor.Permits] before
// it starts fetches.
//
// It promises that a signal which is high for a second halves the permits, and
// again each further second, but never on old news; that permits come back one
// by one, all of them within [ReturnWithin] once every signal is low; that there
// is always at least one, so that the crawl can notice when things are well
// again; and that a store with noise in its latency, a slow commit now and then,
// never costs a permit. [Governor.Reason] names what took them.
//
// It refuses to keep a clock, to start a goroutine and to measure anything: the
// same calls with the same times give the same permits.
package governor

import "time"

// Config has the settings of a Governor. Each that is zero has its default.
type Config struct {
	Workers      int           // permits when all is well; default 512
	Min          int           // permits that are never taken away; default 1
	CommitTarget time.Duration // how long a commit may take; default 250 ms
	CommitPages  int           // the most pages a commit takes; default 1000
}

// The defaults of [Config].
const (
	DefaultWorkers      = 512
	DefaultMin          = 1
	DefaultCommitTarget = 250 * time.Millisecond
	DefaultCommitPages  = 1000
)

// The rule's constants.
const (
	// Interval is how long a signal must be high before it costs permits, and
	// the time between two cuts. A cut takes half of the permits.
	Interval = time.Second
	// ReturnWithin is the time in which all permits come back, evenly.
	ReturnWithin = 30 * time.Second
	// Fade is how long a signal counts. Without news for longer there is
	// nothing to protect.
	Fade = 10 * time.Second

	cut        = 2  // permits are divided by it
	smoothing  = 4  // a commit counts for the 4th part of an average
	worst      = 2  // a single commit counts as at most twice the target
	stallAfter = 4  // a commit under way for so many targets is as bad as a slow average
	fewPages   = 20 // a commit with the 20th part of its pages shows what one costs in any case
	maxFixed   = 8  // and that is at most so many targets
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

// marks are the loads above which a signal is high, and below which it is low;
// between them permits stay as they are. A queue of parsers is meant to be in
// use, memory does not empty at once.
var marks = [signals]struct{ high, low float64 }{
	storage: {0.9, 0.7},
	parse:   {0.9, 0.5},
	memory:  {0.9, 0.8},
}

// gauge is the last that was heard of a signal.
type gauge struct {
	load float64
	at   time.Time
}

// Governor counts permits. Make one with [New]; it belongs to one goroutine.
type Governor struct {
	cfg     Config
	step    time.Duration // between two permits that come back
	permits int
	gauges  [signals]gauge
	commits float64       // smoothed load of the store, without what is under way
	fixed   time.Duration // what a commit of few pages takes; 0 is not known

	now      time.Time // up to which permits are counted
	next     time.Time // when permits may be cut or the next one comes back
	level    level
	reason   signal // what took permits last
	inFlight int    // the most since the last cut; 0 is not known
}

// level is what all signals together say.
type level uint8

const (
	low  level = iota // permits come back
	even              // permits stay
	high              // permits are taken
)

// New makes a governor with all its permits.
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

// Commit tells of a commit of so many pages that returned. Both ceilings of a
// commit count: one that is slow, and one that is full, behind which others
// wait. What even a commit of few pages takes does not count: on a disk that is
// slow but steady, fewer fetches would make nothing faster.
func (g *Governor) Commit(now time.Time, took time.Duration, pages int) {
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
	g.commits += (min(load, worst) - g.commits) / smoothing
	g.hear(now, storage, g.commits)
}

// Stalled tells of a commit that began at since and is still under way. Call it
// whenever Permits is asked meanwhile: a commit that hangs counts before it
// returns.
func (g *Governor) Stalled(now, since time.Time) {
	late := now.Sub(since) - g.fixed
	if late < g.cfg.CommitTarget {
		return
	}
	g.hear(now, storage, max(g.commits, float64(late)/float64(stallAfter*g.cfg.CommitTarget)))
}

// Parse tells how many bodies wait for a parser, and how many may.
func (g *Governor) Parse(now time.Time, waiting, limit int) {
	g.hear(now, parse, share(int64(waiting), int64(limit)))
}

// Memory tells how many bytes are in use, and how many may be.
func (g *Governor) Memory(now time.Time, used, limit int64) {
	g.hear(now, memory, share(used, limit))
}

// share is part of a limit; without a limit nothing is in use.
func share(n, limit int64) float64 {
	if limit <= 0 {
		return 0
	}
	return float64(n) / float64(limit)
}

// InFlight tells how many fetches are under way. Where pace allows far fewer
// than there are permits, a cut begins from what is used; without being told,
// from the permits.
func (g *Governor) InFlight(n int) { g.inFlight = max(g.inFlight, n) }

// Permits returns how many fetches may be under way at now.
func (g *Governor) Permits(now time.Time) int {
	g.advance(now)
	return g.permits
}

// Reason names what permits are missing for: "storage", "parse" or "memory", and
// "" when there are all. It is the signal that took the last ones.
func (g *Governor) Reason() string {
	if g.permits == g.cfg.Workers {
		return ""
	}
	return names[g.reason]
}

// hear takes in a signal, and cuts permits if it has been high for long enough.
func (g *Governor) hear(now time.Time, s signal, load float64) {
	g.advance(now)
	g.gauges[s] = gauge{load, g.now}
	g.judge()
	if load < marks[s].high || g.now.Before(g.next) || g.permits == g.cfg.Min {
		return
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

// judge sums up all signals, and sets the clock when the sum changes.
func (g *Governor) judge() {
	sum := low
	for s, m := range marks {
		switch load := g.gauges[s].load; {
		case load >= m.high:
			sum = high
		case load > m.low:
			sum = max(sum, even)
		}
	}
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

// advance counts permits up to now. A signal that fades on the way does so at
// its time.
func (g *Governor) advance(now time.Time) {
	for {
		s, at := g.nextFade()
		if at.IsZero() || at.After(now) {
			break
		}
		g.comeBack(at)
		g.gauges[s] = gauge{}
		if s == storage {
			g.commits, g.fixed = 0, 0
		}
		g.judge()
	}
	g.comeBack(now)
}

// nextFade is which signal with a load fades first, and when; zero for none.
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

// comeBack returns the permits that are due up to now. A time before the last
// one changes nothing.
func (g *Governor) comeBack(now time.Time) {
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
