package jobrun

import (
	"time"

	"headway/job"
	"headway/limit"
	"headway/politeness"
	"headway/store"
	"headway/visit"
)

// Tally counts what one run did. The zero Tally is ready to use.
type Tally struct {
	Before    limit.Use // spent by earlier runs
	AtLeast   bool      // one of them was killed: Before.Requests is a minimum
	Use       limit.Use
	Largest   int64 // largest page so far, in bytes as sent
	Incidents int64
	Refusals  int64
	Warnings  []string

	outcomes map[visit.Outcome]int64 // since the last point
	rates    []sample
}

// sample is the page count at a time.
type sample struct {
	at    time.Time
	pages int64
}

// rateOver is the window of the rate.
const rateOver = 10 * time.Second

// Spend adds usage.
func (t *Tally) Spend(u limit.Use) {
	if u.Pages > 0 {
		t.Largest = max(t.Largest, u.Bytes)
	}
	t.Use.Pages += u.Pages
	t.Use.Requests += u.Requests
	t.Use.Bytes += u.Bytes
}

// Ended counts a finished URL.
func (t *Tally) Ended(v *visit.Visit) {
	if t.outcomes == nil {
		t.outcomes = map[visit.Outcome]int64{}
	}
	t.outcomes[v.Outcome]++
	t.Attempted(v)
}

// Attempted counts a response, also if the URL is tried again.
func (t *Tally) Attempted(v *visit.Visit) {
	if politeness.IsRefusal(v.Answer.Status) {
		t.Refusals++
	}
}

// Rate is the recent number of pages per second.
func (t *Tally) Rate(now time.Time) float64 {
	t.rates = append(t.rates, sample{now, t.Use.Pages})
	for len(t.rates) > 2 && now.Sub(t.rates[0].at) > rateOver {
		t.rates = t.rates[1:]
	}
	first := t.rates[0]
	if span := now.Sub(first.at); span > 0 {
		return float64(t.Use.Pages-first.pages) / span.Seconds()
	}
	return 0
}

// BytesLeft is how many requests may start in addition to the busy ones so that bodies as
// large as the largest so far fit into the remaining bytes. If nothing is busy, one may
// always start: the first, to learn the size of bodies, and the last, which reaches the
// limit.
func (t *Tally) BytesLeft(left int64, busy int) (n int) {
	if t.Largest > 0 {
		n = int(max(left, 0)/t.Largest) - busy
	}
	if busy == 0 {
		n = max(n, 1)
	}
	return max(n, 0)
}

// Series tracks which part of a tally is already in the job's time series. The zero Series
// begins with its first point.
type Series struct {
	span time.Time // start of the current span
	at   time.Time // when the last point was made
	use  limit.Use // usage at that time
}

// Begin sets the start of the first point.
func (s *Series) Begin(now time.Time) { s.at = now }

// Point returns what happened since the last point, in the current span. Ran is the time
// since then.
func (s *Series) Point(now time.Time, id job.ID, t *Tally) store.Point {
	if s.span.IsZero() {
		s.span = store.SpanStart(now, store.MinSpan)
	}
	p := store.Point{
		Job: id, At: s.span, Span: store.MinSpan, Ran: now.Sub(s.at), Ended: t.outcomes,
		Requests: t.Use.Requests - s.use.Requests, Bytes: t.Use.Bytes - s.use.Bytes,
	}
	s.use, s.at, t.outcomes = t.Use, now, nil
	return p
}

// Next reports whether the span has ended. If so, it makes the span's point with point and
// starts the next span.
func (s *Series) Next(now time.Time, point func() store.Point) (store.Point, bool) {
	start := store.SpanStart(now, store.MinSpan)
	if s.span.IsZero() {
		s.span = start
	}
	if start.Equal(s.span) {
		return store.Point{}, false
	}
	p := point()
	s.span = start
	return p, true
}
