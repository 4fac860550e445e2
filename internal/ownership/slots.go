// Package ownership tracks what a worker may crawl: slots of a fleet, domains shared by
// processes of one machine, and the lease on both. It decides and remembers; the engine
// queries the store. [Slots] and [Domains] belong to the loop, [Lease] may be used from any
// goroutine.
package ownership

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"headway/store"
)

// Slots are the slots a worker has leases for. A slot is added by [Slots.Add], marked for
// release by [Slots.Shed] when the worker has more than its share, removed by
// [Slots.Release] when it has no requests under way, and counted as ours in the store until
// [Slots.Released].
type Slots struct {
	leases    map[store.Slot]store.Lease
	leaving   map[store.Slot]bool
	since     map[store.Slot]time.Time // when slots of a fleet became ours
	releasing int
}

// NewSlots returns an empty set.
func NewSlots() *Slots {
	return &Slots{leases: map[store.Slot]store.Lease{}, leaving: map[store.Slot]bool{}, since: map[store.Slot]time.Time{}}
}

// Own adds slots that no other worker has used.
func (s *Slots) Own(leases []store.Lease) {
	for _, l := range leases {
		s.leases[l.Slot] = l
	}
}

// Add adds slots that other workers may have used until now.
func (s *Slots) Add(now time.Time, leases []store.Lease) {
	s.Own(leases)
	for _, l := range leases {
		s.since[l.Slot] = now
	}
}

// Since is when a slot of a fleet became ours; not ok for one that was ours from the start.
func (s *Slots) Since(slot store.Slot) (at time.Time, ok bool) {
	at, ok = s.since[slot]
	return at, ok
}

// Owns reports whether a slot is ours and not marked for release.
func (s *Slots) Owns(slot store.Slot) bool {
	_, ok := s.leases[slot]
	return ok && !s.leaving[slot]
}

// Lease returns the lease of a slot, marked for release or not.
func (s *Slots) Lease(slot store.Slot) (store.Lease, bool) {
	l, ok := s.leases[slot]
	return l, ok
}

// List returns all slots with a lease.
func (s *Slots) List() []store.Slot { return slices.Collect(maps.Keys(s.leases)) }

// Len is how many slots have a lease.
func (s *Slots) Len() int { return len(s.leases) }

// Counted is how many slots the store may count as ours, including those being released.
func (s *Slots) Counted() int { return len(s.leases) + s.releasing }

// Leaving is how many slots are marked for release.
func (s *Slots) Leaving() int { return len(s.leaving) }

// Leaves reports whether a slot is marked for release.
func (s *Slots) Leaves(slot store.Slot) bool { return s.leaving[slot] }

// Shed marks the slots beyond our share for release and returns how many: some of each
// size, so that the other workers get their share of hosts too.
func (s *Slots) Shed(share int, size map[store.Slot]int) int {
	n := len(s.leases) - len(s.leaving) - share
	if n <= 0 {
		return 0
	}
	var slots []store.Slot
	for slot := range s.leases {
		if !s.leaving[slot] {
			slots = append(slots, slot)
		}
	}
	slices.SortFunc(slots, func(a, b store.Slot) int { return cmp.Or(cmp.Compare(size[a], size[b]), cmp.Compare(a, b)) })
	n = min(n, len(slots))
	for i := range n {
		s.leaving[slots[(i+1)*len(slots)/n-1]] = true
	}
	return n
}

// Release removes marked slots that are not busy and returns their leases, which are still
// to be released in the store.
func (s *Slots) Release(busy map[store.Slot]bool) []store.Lease {
	var leases []store.Lease
	for slot := range s.leaving {
		if busy[slot] {
			continue
		}
		leases = append(leases, s.leases[slot])
		delete(s.leases, slot)
		delete(s.leaving, slot)
		delete(s.since, slot)
	}
	s.releasing += len(leases)
	return leases
}

// Released notes that the store has n leases back.
func (s *Slots) Released(n int) { s.releasing -= n }

// FairShare is how many slots a worker should own: equal parts, with the remainder going to
// the oldest workers. An unlisted worker gets none.
func FairShare(workers []store.Worker, w store.WorkerID) int {
	at := slices.IndexFunc(workers, func(x store.Worker) bool { return x.ID == w })
	if at < 0 {
		return 0
	}
	share := store.SlotCount / len(workers)
	if at < store.SlotCount%len(workers) {
		share++
	}
	return share
}
