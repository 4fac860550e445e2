package limit

import (
	"fmt"
	"time"
)

// ExceededError is a ceiling that stopped a crawl, or part of one. Its message is an entry in the list
// of errors of the crawl's result.
type ExceededError struct {
	Limit     Name
	Layer     Level
	Max       int64 // durations in nanoseconds
	Observed  int64 // the count when it stopped
	Requested int64 // what the job requested; 0 if no limit
}

// Exceeded returns the error of a ceiling that was reached at observed.
func (c Ceiling) Exceeded(observed int64) *ExceededError {
	return &ExceededError{Limit: c.Limit, Layer: c.Layer, Max: c.Max, Observed: observed, Requested: c.Requested}
}

// UsedUp returns the error of a crawl that had used had when the quota of its tenant was used up, by
// it or by others.
func (e Effective) UsedUp(n Name, had int64) *ExceededError {
	c := e.Of(n)
	c.Layer, c.Max = Usage, had
	return c.Exceeded(had)
}

// Error formats the ceiling as in
// `Safety limit: Maximum 50 pages per crawl (requested: 100)` and
// `Safety limit: Crawl timeout exceeded (60000ms)`.
func (e *ExceededError) Error() string {
	if r := e.Limit.Rule(); r != nil && r.timeout != "" {
		return fmt.Sprintf("%s: %s exceeded (%dms)", e.Layer.title(), r.timeout, time.Duration(e.Max).Milliseconds())
	}
	s := fmt.Sprintf("%s: Maximum %s", e.Layer.title(), e.ceiling())
	if e.Requested > e.Max {
		s += fmt.Sprintf(" (requested: %s)", e.Limit.format(e.Requested))
	}
	return s
}

// ceiling describes the limit: "50 pages per crawl".
func (e *ExceededError) ceiling() string {
	r := e.Limit.Rule()
	switch {
	case r == nil || r.thing == "":
		return fmt.Sprintf("%s %s", e.Limit, e.Limit.format(e.Max))
	case r.per == perCrawl && e.Layer == Usage: // a crawl gets what the month's quota has left
		return count(e.Max, r.thing) + " left this month"
	default:
		return count(e.Max, r.thing) + " " + r.per
	}
}

// count formats a number of things.
func count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Timeout reports whether the time limit was reached: such a crawl is partial, and its result says
// success: false.
func (e *ExceededError) Timeout() bool { return e.Limit == Time }
