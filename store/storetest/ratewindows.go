package storetest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"headway/store"
)

func testRateWindows(t *testing.T, open Open) {
	w := newQueueWorld(t, open, t.TempDir(), nil)
	windows := w.store.(store.RateWindows)
	// Windows of a tenant reserved at the same time are consecutive. A database that uses
	// its own clock has advanced by less than took.
	begun := time.Now()
	give := func(wants ...store.RateWindow) []time.Duration {
		t.Helper()
		waits, err := windows.ReserveRate(w.ctx, w.now, wants)
		w.check(err)
		if len(waits) != len(wants) {
			t.Fatalf("%d answers to %d questions", len(waits), len(wants))
		}
		return waits
	}
	near := func(got, want time.Duration) {
		t.Helper()
		if took := time.Since(begun); got > want || got < max(want-took, 0) {
			t.Errorf("begins in %v, want %v less at most %v", got, want, took)
		}
	}
	a := give(store.RateWindow{Tenant: "b", Length: 40 * time.Second}, store.RateWindow{Tenant: "a", Length: 20 * time.Second})
	near(a[0], 0)
	near(a[1], 0)
	b := give(store.RateWindow{Tenant: "a", Length: time.Second}, store.RateWindow{Tenant: "", Length: time.Second}, store.RateWindow{Tenant: "b", Length: time.Nanosecond})
	near(b[0], 20*time.Second)
	near(b[1], 0)
	near(b[2], 40*time.Second)
	near(give(store.RateWindow{Tenant: "a", Length: time.Second})[0], 21*time.Second)
	for name, list := range map[string][]store.RateWindow{
		"nothing": {{Tenant: "a"}}, "too long": {{Tenant: "a", Length: store.MaxRateWindow + 1}},
		"twice":    {{Tenant: "a", Length: 1}, {Tenant: "a", Length: 1}},
		"too many": make([]store.RateWindow, store.MaxRateWindows+1),
	} {
		if _, err := windows.ReserveRate(w.ctx, w.now, list); err == nil {
			t.Errorf("%s is given", name)
		}
	}

	// However many callers reserve concurrently, no two windows overlap.
	const askers, each, length = 8, 5, 10 * time.Second
	var mu sync.Mutex
	var begins []time.Time
	var wg sync.WaitGroup
	for range askers {
		wg.Go(func() {
			for range each {
				waits, err := windows.ReserveRate(w.ctx, w.now, []store.RateWindow{{Tenant: "c", Length: length}})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				begins = append(begins, begun.Add(waits[0]))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	slices.SortFunc(begins, time.Time.Compare)
	slack := time.Since(begun) // the results may be this far apart
	for i := range begins {
		if i > 0 && begins[i].Sub(begins[i-1]) < length-slack {
			t.Errorf("two windows of %v begin within %v", length, begins[i].Sub(begins[i-1]))
		}
	}
}
