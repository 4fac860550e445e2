package jobrun_test

import (
	"testing"
	"time"

	"headway/internal/jobrun"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// TestRate covers the last ten seconds.
func TestRate(t *testing.T) {
	var tally jobrun.Tally
	now := time.Unix(1000, 0)
	if r := tally.Rate(now); r != 0 {
		t.Errorf("%v pages a second at the start", r)
	}
	for range 60 {
		now = now.Add(time.Second)
		tally.Spend(limit.Use{Pages: 3})
		if r := tally.Rate(now); r != 3 {
			t.Fatalf("%v pages a second, not 3", r)
		}
	}
	for range 11 {
		now = now.Add(time.Second)
		tally.Rate(now)
	}
	if r := tally.Rate(now); r != 0 {
		t.Errorf("%v pages a second after eleven seconds without any", r)
	}
}

// TestBytesLeft allows one request before sizes are known, then as many as surely fit.
func TestBytesLeft(t *testing.T) {
	for name, test := range map[string]struct {
		largest, left int64
		busy, want    int
	}{
		"first":     {0, 1000, 0, 1},
		"second":    {0, 1000, 1, 0},
		"many":      {100, 1000, 0, 10},
		"some busy": {100, 1000, 4, 6},
		"too many":  {100, 1000, 12, 0},
		"last":      {100, 50, 0, 1},
		"over":      {100, -50, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tally := jobrun.Tally{Largest: test.largest}
			if n := tally.BytesLeft(test.left, test.busy); n != test.want {
				t.Errorf("%d requests may start, not %d", n, test.want)
			}
		})
	}
}

// TestSeries makes a point at the end of each span, and counts nothing twice.
func TestSeries(t *testing.T) {
	var tally jobrun.Tally
	var s jobrun.Series
	began := store.SpanStart(time.Unix(1_000_000, 0), store.MinSpan)
	s.Begin(began)
	point := func(now time.Time) (store.Point, bool) {
		return s.Next(now, func() store.Point { return s.Point(now, 7, &tally) })
	}
	if _, ok := point(began); ok {
		t.Error("a point before anything happened")
	}
	tally.Spend(limit.Use{Pages: 1, Requests: 2, Bytes: 300})
	tally.Ended(&visit.Visit{Outcome: visit.Fetched})
	tally.Ended(&visit.Visit{Outcome: visit.Throttled, Answer: visit.Answer{Status: 429}})
	if _, ok := point(began.Add(store.MinSpan - 1)); ok {
		t.Error("a point within its span")
	}
	p, ok := point(began.Add(store.MinSpan))
	if !ok || p.Job != 7 || !p.At.Equal(began) || p.Ran != store.MinSpan || p.Requests != 2 || p.Bytes != 300 || p.Ended[visit.Fetched] != 1 || p.Ended[visit.Throttled] != 1 {
		t.Errorf("the first span: %v %+v", ok, p)
	}
	if tally.Refusals != 1 || tally.Largest != 300 {
		t.Errorf("%d refusals, a largest page of %d bytes", tally.Refusals, tally.Largest)
	}
	p = s.Point(began.Add(store.MinSpan+time.Second), 7, &tally)
	if !p.At.Equal(began.Add(store.MinSpan)) || p.Ran != time.Second || p.Requests != 0 || len(p.Ended) != 0 {
		t.Errorf("a last point, a second later: %+v", p)
	}
}
