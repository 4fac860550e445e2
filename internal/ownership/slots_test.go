package ownership_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"headway/internal/ownership"
	"headway/store"
)

// worker is one of a fleet: its slots, and the leases it is about to release.
type worker struct {
	id    store.WorkerID
	slots *ownership.Slots
	back  []store.Lease
	busy  map[store.Slot]bool // has requests under way
}

// fleet is the store's side: who owns which slot, by lease.
type fleet struct {
	owner   [store.SlotCount]store.WorkerID
	workers []*worker // the oldest first
	next    store.WorkerID
	now     time.Time
}

// list returns the workers as the store lists them.
func (f *fleet) list() (list []store.Worker) {
	for _, w := range f.workers {
		list = append(list, store.Worker{ID: w.id, Slots: f.counted(w)})
	}
	return list
}

// counted is how many slots the store counts for a worker.
func (f *fleet) counted(w *worker) (n int) {
	for _, o := range f.owner {
		if o == w.id {
			n++
		}
	}
	return n
}

// acquire hands out free slots.
func (f *fleet) acquire(w *worker, n int) (leases []store.Lease) {
	for s, o := range f.owner {
		if len(leases) < n && o == 0 {
			f.owner[s] = w.id
			leases = append(leases, store.Lease{Slot: store.Slot(s)})
		}
	}
	return leases
}

// balance is a worker's periodic rebalancing.
func (f *fleet) balance(w *worker) {
	share := ownership.FairShare(f.list(), w.id)
	w.slots.Add(f.now, f.acquire(w, max(share-w.slots.Len(), 0)))
	w.slots.Shed(share, nil)
}

// giveUp releases slots without requests under way.
func (f *fleet) giveUp(w *worker) { w.back = append(w.back, w.slots.Release(w.busy)...) }

// giveBack reports the release to the store.
func (f *fleet) giveBack(w *worker) {
	for _, l := range w.back {
		f.owner[l.Slot] = 0
	}
	w.slots.Released(len(w.back))
	w.back = nil
}

// check verifies the invariants.
func (f *fleet) check(t *rapid.T) {
	t.Helper()
	owned := map[store.Slot]store.WorkerID{}
	for _, w := range f.workers {
		for _, s := range w.slots.List() {
			if other, twice := owned[s]; twice {
				t.Fatalf("slot %d is worker %d's and worker %d's", s, other, w.id)
			}
			owned[s] = w.id
			if f.owner[s] != w.id {
				t.Fatalf("worker %d has a lease of slot %d, which the store counts as worker %d's", w.id, s, f.owner[s])
			}
			if w.slots.Owns(s) == w.slots.Leaves(s) {
				t.Fatalf("slot %d of worker %d: owned %v, leaving %v", s, w.id, w.slots.Owns(s), w.slots.Leaves(s))
			}
		}
		for s := range w.busy {
			if _, ok := w.slots.Lease(s); !ok {
				t.Fatalf("worker %d gave slot %d up while something of it was under way", w.id, s)
			}
		}
		if n := f.counted(w); n != w.slots.Counted() {
			t.Fatalf("the store counts %d slots as worker %d's, which counts %d", n, w.id, w.slots.Counted())
		}
	}
}

// TestHandOver lets workers join, die, start and end requests, and rebalance in any order:
// no slot ever has two owners, none is released with requests under way, and in the end all
// have a fair share.
func TestHandOver(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &fleet{now: time.Unix(1, 0)}
		some := func() *worker { return f.workers[rapid.IntRange(0, len(f.workers)-1).Draw(t, "worker")] }
		join := func() {
			f.next++
			f.workers = append(f.workers, &worker{id: f.next, slots: ownership.NewSlots(), busy: map[store.Slot]bool{}})
		}
		join()
		t.Repeat(map[string]func(*rapid.T){
			"join": func(*rapid.T) {
				if len(f.workers) < 9 {
					join()
				}
			},
			"die": func(t *rapid.T) {
				if len(f.workers) > 1 {
					w := some()
					for s, o := range f.owner {
						if o == w.id {
							f.owner[s] = 0
						}
					}
					f.workers = slices.DeleteFunc(f.workers, func(x *worker) bool { return x == w })
				}
			},
			"begin": func(t *rapid.T) {
				w, s := some(), store.Slot(rapid.IntRange(0, store.SlotCount-1).Draw(t, "slot"))
				if w.slots.Owns(s) {
					w.busy[s] = true
				}
			},
			"end": func(t *rapid.T) {
				w := some()
				for _, s := range slices.Sorted(func(yield func(store.Slot) bool) {
					for s := range w.busy {
						if !yield(s) {
							return
						}
					}
				}) {
					if rapid.Bool().Draw(t, "over") {
						delete(w.busy, s)
					}
				}
			},
			"balance":  func(t *rapid.T) { f.balance(some()) },
			"giveUp":   func(t *rapid.T) { f.giveUp(some()) },
			"giveBack": func(t *rapid.T) { f.giveBack(some()) },
			"":         f.check,
		})
		for range 3 {
			for _, w := range f.workers {
				clear(w.busy)
				f.balance(w)
				f.giveUp(w)
				f.giveBack(w)
				f.check(t)
			}
		}
		for _, w := range f.workers {
			if share := ownership.FairShare(f.list(), w.id); w.slots.Len() != share || w.slots.Leaving() > 0 {
				t.Fatalf("worker %d of %d has %d slots, %d of them leaving; its share is %d", w.id, len(f.workers), w.slots.Len(), w.slots.Leaving(), share)
			}
		}
	})
}

// TestShed releases slots of each size.
func TestShed(t *testing.T) {
	s, size := ownership.NewSlots(), map[store.Slot]int{}
	var leases []store.Lease
	for i := range 100 {
		leases = append(leases, store.Lease{Slot: store.Slot(i)})
		size[store.Slot(i)] = i
	}
	s.Own(leases)
	if n := s.Shed(100, size); n != 0 || s.Leaving() != 0 {
		t.Errorf("no more than its share: %d to be given up", n)
	}
	if n := s.Shed(50, size); n != 50 || s.Leaving() != 50 {
		t.Fatalf("%d to be given up, %d leaving; both should be 50", n, s.Leaving())
	}
	hosts := 0
	for _, l := range s.Release(nil) {
		hosts += size[l.Slot]
	}
	if all := 99 * 100 / 2; hosts < all*2/5 || hosts > all*3/5 {
		t.Errorf("%d of %d hosts went with half of the slots", hosts, all)
	}
	if s.Len() != 50 || s.Counted() != 100 || s.Leaving() != 0 {
		t.Errorf("%d left, %d counted, %d leaving", s.Len(), s.Counted(), s.Leaving())
	}
}

// TestSince records since when slots of a fleet are ours, and nothing for others.
func TestSince(t *testing.T) {
	s, at := ownership.NewSlots(), time.Unix(1, 0)
	s.Own([]store.Lease{{Slot: 1}})
	s.Add(at, []store.Lease{{Slot: 2}})
	if _, ok := s.Since(1); ok {
		t.Error("a slot that was ours from the start became ours")
	}
	if since, ok := s.Since(2); !ok || !since.Equal(at) {
		t.Errorf("a slot of a fleet: since %v, %v", since, ok)
	}
	s.Shed(0, nil)
	s.Release(nil)
	if _, ok := s.Since(2); ok {
		t.Error("a slot that went is remembered")
	}
}
