package storetest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"headway/store"
)

func testStretches(t *testing.T, open Open) {
	w := newQueueWorld(t, open, t.TempDir(), nil)
	stretches := w.store.(store.Stretches)
	// Given at the same moment, as far as memory goes, stretches of a tenant follow one
	// another. A database that goes by its own clock has moved on by less than took.
	begun := time.Now()
	give := func(wants ...store.Stretch) []time.Duration {
		t.Helper()
		waits, err := stretches.Stretch(w.ctx, w.now, wants)
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
	a := give(store.Stretch{Tenant: "b", Length: 40 * time.Second}, store.Stretch{Tenant: "a", Length: 20 * time.Second})
	near(a[0], 0)
	near(a[1], 0)
	b := give(store.Stretch{Tenant: "a", Length: time.Second}, store.Stretch{Tenant: "", Length: time.Second}, store.Stretch{Tenant: "b", Length: time.Nanosecond})
	near(b[0], 20*time.Second)
	near(b[1], 0)
	near(b[2], 40*time.Second)
	near(give(store.Stretch{Tenant: "a", Length: time.Second})[0], 21*time.Second)
	for name, list := range map[string][]store.Stretch{
		"nothing": {{Tenant: "a"}}, "too long": {{Tenant: "a", Length: store.MaxStretch + 1}},
		"twice":    {{Tenant: "a", Length: 1}, {Tenant: "a", Length: 1}},
		"too many": make([]store.Stretch, store.MaxStretches+1),
	} {
		if _, err := stretches.Stretch(w.ctx, w.now, list); err == nil {
			t.Errorf("%s is given", name)
		}
	}

	// However many ask at once, no two have the same.
	const askers, each, length = 8, 5, 10 * time.Second
	var mu sync.Mutex
	var begins []time.Time
	var wg sync.WaitGroup
	for range askers {
		wg.Go(func() {
			for range each {
				waits, err := stretches.Stretch(w.ctx, w.now, []store.Stretch{{Tenant: "c", Length: length}})
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
	slack := time.Since(begun) // by which the answers were given at different moments
	for i := range begins {
		if i > 0 && begins[i].Sub(begins[i-1]) < length-slack {
			t.Errorf("two stretches of %v begin within %v", length, begins[i].Sub(begins[i-1]))
		}
	}
}
