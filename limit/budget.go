package limit

import (
	"fmt"
	"time"
)

// Budget counts one crawl against its ceilings. It is owned by one goroutine.
type Budget struct {
	lines    []line
	start    time.Time
	spent    Use
	exceeded *ExceededError
	warnings []Warning
}

// line is one ceiling that is counted.
type line struct {
	Ceiling
	warned int // the highest mark warned of so far, in percent
}

// marks are the shares of a ceiling, in percent, at which to warn.
var marks = []int{80, 95}

// NewBudget returns the budget of a crawl that runs from start and, if it is resumed, has used spent
// before. Marks that spent has passed are not warned of again.
func NewBudget(e Effective, start time.Time, spent Use) *Budget {
	b := &Budget{start: start}
	for _, n := range Counted {
		if c := e.Of(n); c.Limited() {
			b.lines = append(b.lines, line{Ceiling: c})
		}
	}
	b.Observe(start, spent)
	b.warnings = nil
	return b
}

// Observe adds what was used since the last observation, and sets the time to now. Use.Time is for
// previous runs; the time of this run is now minus start, and never decreases.
func (b *Budget) Observe(now time.Time, more Use) {
	b.spent.Add(more)
	if d := now.Sub(b.start); d > 0 {
		b.spent.Time += d
		b.start = now
	}
	for i := range b.lines {
		b.lines[i].observe(b)
	}
}

// observe compares one ceiling with what was used.
func (l *line) observe(b *Budget) {
	amount := b.spent.Of(l.Limit)
	passed := 0
	for _, m := range marks {
		if amount >= mark(l.Max, m) {
			passed = m
		}
	}
	if passed > l.warned {
		l.warned = passed
		b.warnings = append(b.warnings, Warning{l.Ceiling, passed, amount})
	}
	// A crawl that has reached its host limit continues: it just adds no more hosts.
	if b.exceeded == nil && l.Reached(amount) && l.Limit != Hosts {
		b.exceeded = l.Exceeded(amount)
	}
}

// mark is the smallest amount that is at least percent of limit, computed without overflow.
func mark(limit int64, percent int) int64 {
	rest := int64(100 - percent)
	return limit - (limit/100*rest + limit%100*rest/100)
}

// Spent is what was used so far, including the time of this run.
func (b *Budget) Spent() Use { return b.spent }

// Deadline is when the time limit is reached, if there is one and nothing else stops the crawl
// before.
func (b *Budget) Deadline() (at time.Time, ok bool) {
	for _, l := range b.lines {
		if l.Limit == Time {
			return b.start.Add(time.Duration(l.Max) - b.spent.Time), true
		}
	}
	return time.Time{}, false
}

// Exceeded returns the ceiling that was reached first, or nil. Nothing new may be dispatched then;
// what is in flight finishes. The crawl is partial if anything is left to do.
func (b *Budget) Exceeded() *ExceededError { return b.exceeded }

// Warnings returns the warnings since the last call: each mark of each ceiling once, and of two marks
// passed at once the higher.
func (b *Budget) Warnings() []Warning {
	w := b.warnings
	b.warnings = nil
	return w
}

// Warning says that a ceiling is nearly reached.
type Warning struct {
	Ceiling
	Percent  int // the mark that was passed
	Observed int64
}

// Passed returns the warnings of this mark and of those below it, which may have been passed at the
// same time, for callers that wait for one of them.
func (w Warning) Passed() []Warning {
	var list []Warning
	for _, m := range marks {
		if m <= w.Percent {
			list = append(list, Warning{w.Ceiling, m, w.Observed})
		}
	}
	return list
}

// String formats the warning as in `max_pages: 80 % used, 40 of 50 (safety)`.
func (w Warning) String() string {
	if w.Observed >= w.Max && w.Percent == marks[len(marks)-1] {
		return fmt.Sprintf("%s: reached, %s of %s (%s)", w.Limit, w.Limit.format(w.Observed), w.Limit.format(w.Max), w.Layer)
	}
	return fmt.Sprintf("%s: %d %% used, %s of %s (%s)", w.Limit, w.Percent, w.Limit.format(w.Observed), w.Limit.format(w.Max), w.Layer)
}
