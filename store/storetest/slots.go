package storetest

import (
	"errors"
	"testing"
	"time"

	"headway/store"
)

func testSlots(t *testing.T, open Open) {
	t.Run("each slot has one owner", func(t *testing.T) {
		w := newWorld(t, open, 0)
		if n := len(w.w.leases); n != store.SlotCount {
			t.Fatalf("the first worker got %d slots", n)
		}
		if other := w.newOwner(10); len(other.leases) != 0 {
			t.Fatalf("a second worker got %d owned slots", len(other.leases))
		}
	})
	t.Run("released slots go to another, with a larger fence, cleanly", func(t *testing.T) {
		w := newWorld(t, open, 0)
		old := []store.Lease{w.w.leases[3], w.w.leases[700]}
		w.check(w.store.Release(w.ctx, w.w.id, old...))
		w.check(w.store.Release(w.ctx, w.w.id, old...)) // again: ignored
		other := w.newOwner(10)
		if len(other.leases) != 2 {
			t.Fatalf("got %d slots, want 2", len(other.leases))
		}
		for _, was := range old {
			is := other.leases[was.Slot]
			if is.Fence <= was.Fence || !is.Clean {
				t.Errorf("slot %d: %+v after %+v", was.Slot, is, was)
			}
		}
		w.check(w.store.Release(w.ctx, w.w.id, old...)) // no longer owned: ignored
		if third := w.newOwner(10); len(third.leases) != 0 {
			t.Error("an old owner released slots of the new one")
		}
	})
	for name, end := range map[string]struct {
		do    func(w *world) error
		clean bool
	}{
		"leaving gives everything back":              {func(w *world) error { return w.store.Leave(w.ctx, w.w.id) }, true},
		"and so does abandoning, though not cleanly": {func(w *world) error { return w.store.Abandon(w.ctx, w.w.id) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, open, 0)
			w.check(end.do(w))
			w.check(end.do(w))
			other := w.newOwner(store.SlotCount)
			if len(other.leases) != store.SlotCount {
				t.Fatalf("got %d slots", len(other.leases))
			}
			for _, l := range other.leases {
				if l.Clean != end.clean {
					t.Fatalf("slot %d: clean is %v", l.Slot, l.Clean)
				}
			}
			if err := w.store.Renew(w.ctx, w.w.id); !errors.Is(err, store.ErrFenced) {
				t.Errorf("a worker that left renews: %v", err)
			}
		})
	}
	t.Run("a worker is declared dead when its heartbeat has stopped long enough", func(t *testing.T) {
		w := newWorld(t, open, 0)
		other := w.newOwner(1)
		at := func(d time.Duration) int {
			w.now = start.Add(d)
			w.check(w.store.Renew(w.ctx, other.id))
			return len(other.acquire(store.SlotCount))
		}
		takeOver := store.DefaultTerms.TakeOver
		if at(takeOver-reading) != 0 {
			t.Fatal("taken over too early")
		}
		w.check(w.store.Renew(w.ctx, w.w.id))
		if at(takeOver) != 0 || at(2*takeOver-reading) != 0 {
			t.Fatal("a renewal did not count")
		}
		if n := at(takeOver + overdue); n != store.SlotCount {
			t.Fatalf("took over %d slots", n)
		}
		for _, l := range other.leases {
			if l.Clean || l.Fence <= w.w.leases[l.Slot].Fence {
				t.Fatalf("slot %d: %+v after %+v", l.Slot, l, w.w.leases[l.Slot])
			}
		}
		if err := w.store.Renew(w.ctx, w.w.id); !errors.Is(err, store.ErrFenced) {
			t.Errorf("a dead worker renews: %v", err)
		}
		if _, err := w.store.Acquire(w.ctx, w.now, w.w.id, 1); !errors.Is(err, store.ErrFenced) {
			t.Errorf("a dead worker acquires: %v", err)
		}
		workers, err := w.store.Workers(w.ctx)
		w.check(err)
		if len(workers) != 1 || workers[0].ID != other.id || workers[0].Slots != store.SlotCount || workers[0].Name != "worker" || !workers[0].JoinedAt.Equal(start) {
			t.Errorf("workers: %+v", workers)
		}
	})
	t.Run("a declared death frees all slots", func(t *testing.T) {
		w := newWorld(t, open, 0)
		w.add("http://a.example/")
		other := w.newOwner(1)
		w.now = start.Add(overdue)
		w.check(w.store.Renew(w.ctx, other.id))
		if n := len(other.acquire(1)); n != 1 {
			t.Fatalf("acquired %d slots", n)
		}
		// The dead worker still uses all its leases, also those not taken over yet.
		_, err := w.w.commit(store.Commit{Visits: visits(w.visited("http://a.example/"))})
		if !errors.Is(err, store.ErrFenced) {
			t.Errorf("commit of a dead worker: %v", err)
		}
		w.expect("waiting 1")
	})
	t.Run("leases that were held when the store was closed ended uncleanly", func(t *testing.T) {
		w := newWorld(t, open, 0)
		place := t.TempDir()
		w.store = open(t, place, nil)
		first := w.newOwner(store.SlotCount)
		w.check(w.store.Close())
		w.store = open(t, place, nil)
		second := w.newOwner(store.SlotCount)
		w.now = w.now.Add(overdue)
		second.acquire(store.SlotCount)
		if len(second.leases) != store.SlotCount || second.id == first.id {
			t.Fatalf("after opening again worker %d has %d slots", second.id, len(second.leases))
		}
		for _, l := range second.leases {
			if l.Clean || l.Fence <= first.leases[l.Slot].Fence {
				t.Fatalf("slot %d: %+v after %+v", l.Slot, l, first.leases[l.Slot])
			}
		}
	})
}
