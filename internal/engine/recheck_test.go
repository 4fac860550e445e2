package engine

import (
	"testing"
	"time"

	"headway/store"
)

// TestEndingRate distinguishes a distant store from one that is slow per visit.
func TestEndingRate(t *testing.T) {
	for name, tc := range map[string]struct {
		flat, each time.Duration // duration of a commit, and of each visit in it
		further    time.Duration // added by endings, however many
		least      int           // final number per commit
		most       int
	}{
		"far":           {500 * time.Millisecond, 10 * time.Microsecond, 0, store.MaxVisits, store.MaxVisits},
		"further":       {time.Second, 10 * time.Microsecond, 500 * time.Millisecond, store.MaxVisits, store.MaxVisits}, // a round trip more
		"near":          {2 * time.Millisecond, 200 * time.Microsecond, 0, 64, 256},
		"slow":          {150 * time.Millisecond, 150 * time.Millisecond, 0, endingsOfFleet, 4 * endingsOfFleet},
		"far and heavy": {200 * time.Millisecond, 2 * time.Millisecond, 0, 64, 128},
	} {
		t.Run(name, func(t *testing.T) {
			var r endingRate
			now := time.Unix(0, 0)
			stored := func(pages, endings int, took time.Duration) {
				now = now.Add(took)
				r.stored(now, pages, endings, took)
			}
			stored(1, 0, time.Millisecond) // it was near once
			for pages := range 60 {
				stored(1+pages%10, 0, tc.flat+time.Duration(1+pages%10)*tc.each)
			}
			for range 20 {
				n := r.next()
				stored(0, n, tc.flat+tc.further+time.Duration(n)*tc.each)
				stored(0, 0, time.Millisecond) // neither pages nor endings: a short commit
			}
			if n := r.next(); n < tc.least || n > tc.most {
				t.Errorf("%d with one commit, want %d to %d", n, tc.least, tc.most)
			}
			before := r.next()
			if stored(0, 1, tc.flat); r.next() != before {
				t.Errorf("a commit with one of them changed %d to %d", before, r.next())
			}
		})
	}
}

// TestEndingRateOfStoreThatBecameDistant goes on when a store is distant that was near until
// the last page.
func TestEndingRateOfStoreThatBecameDistant(t *testing.T) {
	var r endingRate
	now := time.Unix(0, 0)
	for range 60 {
		r.stored(now, 10, 0, 5*time.Millisecond)
	}
	commits := 0
	for ; r.next() < store.MaxVisits; commits++ {
		if commits == 20 {
			t.Fatalf("%d in one commit after %d commits", r.next(), commits)
		}
		now = now.Add(1500 * time.Millisecond)
		r.stored(now, 0, r.next(), 1500*time.Millisecond)
	}
	t.Logf("%d in one commit after %d commits", r.next(), commits)
}
