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
	Before    limit.Use // what earlier runs have spent
	AtLeast   bool      // one of them was killed, so that it may be more requests than that
	Use       limit.Use
	Largest   int64 // page so far, as sent
	Incidents int64
	Refusals  int64
	Warnings  []string

	outcomes map[visit.Outcome]int64 // since the last point
	rates    []sample
}

// sample is a count of pages at a time.
type sample struct {
	at    time.Time
	pages int64
}

// rateOver is how far back the rate looks.
const rateOver = 10 * time.Second

// Spend counts what was used.
func (t *Tally) Spend(u limit.Use) {
	if u.Pages > 0 {
		t.Largest = max(t.Largest, u.Bytes)
	}
	t.Use.Pages += u.Pages
	t.Use.Requests += u.Requests
	t.Use.Bytes += u.Bytes
}

// Ended counts a URL that has ended.
func (t *Tally) Ended(v *visit.Visit) {
	if t.outcomes == nil {
		t.outcomes = map[visit.Outcome]int64{}
	}
	t.outcomes[v.Outcome]++
	t.Attempted(v)
}

// Attempted counts what was answered, also where it is asked again.
func (t *Tally) Attempted(v *visit.Visit) {
	if politeness.IsRefusal(v.Answer.Status) {
		t.Refusals++
	}
}

// Rate is how many pages a second there were lately.
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

// BytesLeft is how many requests may be started beside those that are busy, so that
// bodies as large as the largest so far stay within what is left. One is always started
// where nothing is busy: the first, to learn how large bodies are, and the last, which
// meets the limit.
func (t *Tally) BytesLeft(left int64, busy int) (n int) {
	if t.Largest > 0 {
		n = int(max(left, 0)/t.Largest) - busy
	}
	if busy == 0 {
		n = max(n, 1)
	}
	return max(n, 0)
}

// Series is what was told to the time series of a job. The zero Series begins with its
// first point.
type Series struct {
	span time.Time // the beginning of the span that runs
	at   time.Time // when the last point was made
	use  limit.Use // then
}

// Begin says from when on time counts.
func (s *Series) Begin(now time.Time) { s.at = now }

// Point is what happened since the last one, in the span that runs. Ran is all of that
// time.
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

// Next tells whether the span that ran has ended. If so its point is made by point before
// the next one begins.
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
