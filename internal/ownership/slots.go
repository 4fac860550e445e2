// Package ownership knows what is a worker's to work on: slots of a fleet, domains that
// several processes of one machine share, and the lease on both. It decides and
// remembers; who asks the store, and when, is not its business. [Slots] and [Domains]
// belong to the loop, [Lease] may be looked at from any goroutine.
package ownership

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"headway/store"
)

// Slots are those a worker has leases of. A slot comes with [Slots.Add], is told to leave
// by [Slots.Shed] once the worker has more than its share, goes with [Slots.Release] when
// nothing of it is under way, and counts as ours in the store until [Slots.Released].
type Slots struct {
	leases    map[store.Slot]store.Lease
	leaving   map[store.Slot]bool
	since     map[store.Slot]time.Time // when those of a fleet became ours
	releasing int
}

// NewSlots returns those of a worker that has none yet.
func NewSlots() *Slots {
	return &Slots{leases: map[store.Slot]store.Lease{}, leaving: map[store.Slot]bool{}, since: map[store.Slot]time.Time{}}
}

// Own takes slots that nobody else had a part in.
func (s *Slots) Own(leases []store.Lease) {
	for _, l := range leases {
		s.leases[l.Slot] = l
	}
}

// Add takes slots that others may have worked on until now.
func (s *Slots) Add(now time.Time, leases []store.Lease) {
	s.Own(leases)
	for _, l := range leases {
		s.since[l.Slot] = now
	}
}

// Since is when a slot of a fleet became ours; not ok for one that was ours from the
// start.
func (s *Slots) Since(slot store.Slot) (at time.Time, ok bool) {
	at, ok = s.since[slot]
	return at, ok
}

// Owns tells whether a slot is ours to work on: one that leaves is not.
func (s *Slots) Owns(slot store.Slot) bool {
	_, ok := s.leases[slot]
	return ok && !s.leaving[slot]
}

// Lease is that of a slot, leaving or not.
func (s *Slots) Lease(slot store.Slot) (store.Lease, bool) {
	l, ok := s.leases[slot]
	return l, ok
}

// List is all slots with a lease.
func (s *Slots) List() []store.Slot { return slices.Collect(maps.Keys(s.leases)) }

// Len is how many that are.
func (s *Slots) Len() int { return len(s.leases) }

// Counted is how many the store may count as ours: also those on their way back.
func (s *Slots) Counted() int { return len(s.leases) + s.releasing }

// Leaving is how many are to be given up.
func (s *Slots) Leaving() int { return len(s.leaving) }

// Leaves tells whether a slot is to be given up.
func (s *Slots) Leaves(slot store.Slot) bool { return s.leaving[slot] }

// Shed marks what is beyond our share to be given up and returns how many that are: some
// of each size, so that whoever has come gets its share of the hosts, too.
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

// Release lets go of the slots to be given up that nothing is under way of any more, and
// returns their leases, which are still to be given back.
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

// Released says that the store has so many leases back.
func (s *Slots) Released(n int) { s.releasing -= n }

// FairShare is how many slots a worker should own: all the same, and one more for the
// oldest where that does not come out even. One that is not listed gets none.
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
