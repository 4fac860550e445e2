package store

import (
	"fmt"
	"slices"
	"time"

	"headway/job"
	"headway/visit"
)

// MinSpan is the initial span of one point of a series.
const MinSpan = 10 * time.Second

// MaxPoints is how many points a job keeps. When there are more, neighbours are
// merged, old ones first; see [Thin].
const MaxPoints = 10_000

// Point is what happened in one span of time, and the levels at its end.
type Point struct {
	Job  job.ID        `json:"-"`
	At   time.Time     `json:"-"` // the beginning: a multiple of Span since 1970
	Span time.Duration `json:"-"` // MinSpan times a power of two

	// What happened.
	Ended    map[visit.Outcome]int64      `json:"ended,omitempty"`    // URLs by outcome
	Waits    map[visit.Wait]time.Duration `json:"waits,omitempty"`    // host time by wait reason
	Fetching time.Duration                `json:"fetching,omitempty"` // host time with a request in flight
	Ran      time.Duration                `json:"ran,omitempty"`      // how long a worker ran within the span
	Requests int64                        `json:"requests,omitempty"`
	Bytes    int64                        `json:"bytes,omitempty"` // bytes received

	// Levels at the end.
	Waiting  int64 `json:"waiting,omitempty"` // pending URLs
	Hosts    int64 `json:"hosts,omitempty"`   // hosts in memory
	InFlight int64 `json:"in_flight,omitempty"`
	Memory   int64 `json:"memory,omitempty"` // memory of the process, in bytes
}

// Check reports why a point is invalid.
func (p *Point) Check() error {
	if p.Job <= 0 || p.Span != MinSpan || p.At.UnixMilli()%MinSpan.Milliseconds() != 0 {
		return fmt.Errorf("point of job %d at %s over %s: not on a mark of %s", p.Job, p.At, p.Span, MinSpan)
	}
	return nil
}

// Plus returns the sum of two points of the same span, from two workers.
func (p Point) Plus(q Point) Point {
	p = p.plusEvents(q)
	p.Waiting += q.Waiting
	p.Hosts += q.Hosts
	p.InFlight += q.InFlight
	p.Memory += q.Memory
	return p
}

// Then merges two consecutive points: events add up, levels are those of the second,
// except memory, of which the maximum is kept.
func (p Point) Then(q Point) Point {
	high := max(p.Memory, q.Memory)
	p = p.plusEvents(q)
	p.Waiting, p.Hosts, p.InFlight, p.Memory = q.Waiting, q.Hosts, q.InFlight, high
	return p
}

// plusEvents adds the events, without changing the maps of either.
func (p Point) plusEvents(q Point) Point {
	ended := make(map[visit.Outcome]int64, len(p.Ended))
	for _, m := range []map[visit.Outcome]int64{p.Ended, q.Ended} {
		for o, n := range m {
			ended[o] += n
		}
	}
	waits := make(map[visit.Wait]time.Duration, len(p.Waits))
	for _, m := range []map[visit.Wait]time.Duration{p.Waits, q.Waits} {
		for w, d := range m {
			waits[w] += d
		}
	}
	p.Ended, p.Waits = ended, waits
	p.Fetching += q.Fetching
	p.Ran += q.Ran
	p.Requests += q.Requests
	p.Bytes += q.Bytes
	return p
}

// SpanStart is the start of the span that contains a time.
func SpanStart(at time.Time, span time.Duration) time.Time {
	ms, s := at.UnixMilli(), span.Milliseconds()
	return time.UnixMilli(ms - ((ms%s)+s)%s).UTC()
}

// fineTail is how many of the latest points are never merged: an hour.
const fineTail = 360

// Thin merges points, which must be ordered by time, until there are fewer than
// MaxPoints: neighbours of the shortest span first, but none of the last hour. A shorter
// series is returned as it is.
func Thin(points []Point) []Point {
	if len(points) <= MaxPoints {
		return points
	}
	old, tail := points[:len(points)-fineTail], points[len(points)-fineTail:]
	for len(old)+len(tail) > MaxPoints*3/4 {
		old = coarser(old)
	}
	out := slices.Clone(old)
	for _, p := range tail {
		out = appendPoint(out, p)
	}
	return out
}

// coarser merges the points of the shortest span into points of twice that span.
func coarser(points []Point) []Point {
	shortest := points[0].Span
	for _, p := range points {
		shortest = min(shortest, p.Span)
	}
	out := make([]Point, 0, len(points))
	for _, p := range points {
		if p.Span == shortest {
			p.Span *= 2
			p.At = SpanStart(p.At, p.Span)
		}
		out = appendPoint(out, p)
	}
	return out
}

// appendPoint appends a point, or merges it into the last one if it lies within its span.
func appendPoint(points []Point, p Point) []Point {
	if n := len(points); n > 0 && p.At.Before(points[n-1].At.Add(points[n-1].Span)) {
		points[n-1] = points[n-1].Then(p)
		return points
	}
	return append(points, p)
}
