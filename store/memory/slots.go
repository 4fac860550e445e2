package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"headway/job"
	"headway/store"
)

// Join implements [store.Slots].
func (s *Store) Join(ctx context.Context, now time.Time, name string) (store.WorkerID, error) {
	if err := s.begin(ctx, "join"); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	s.lastWork++
	s.workers[s.lastWork] = &worker{
		Worker: store.Worker{ID: s.lastWork, Name: name, JoinedAt: store.Stored(now)},
		tokens: map[job.ID]int64{},
	}
	return s.lastWork, nil
}

// Acquire implements [store.Slots].
func (s *Store) Acquire(ctx context.Context, now time.Time, w store.WorkerID, max int) ([]store.Lease, error) {
	if err := s.begin(ctx, "acquire"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if s.workers[w] == nil {
		return nil, fmt.Errorf("acquire slots for worker %d: %w", w, store.ErrFenced)
	}
	for _, dead := range s.watch.Observe(now, s.terms.TakeOver, s.list()) {
		if dead != w {
			s.bury(dead)
		}
	}
	var leases []store.Lease
	for i := range s.slots {
		x := &s.slots[i]
		if x.owner != 0 || len(leases) >= max {
			continue
		}
		x.owner = w
		x.fence++
		leases = append(leases, store.Lease{Slot: store.Slot(i), Fence: x.fence, Clean: !x.unclean})
		x.unclean = false
	}
	s.forgetArrivals(leases)
	return leases, nil
}

// forgetArrivals drops notices of slots whose new owner reads all hosts anyway.
func (s *Store) forgetArrivals(leases []store.Lease) {
	fresh := make(map[store.Slot]bool, len(leases))
	for _, l := range leases {
		fresh[l.Slot] = true
	}
	for a := range s.arrivals {
		if fresh[s.slotOf(a.Host)] {
			delete(s.arrivals, a)
		}
	}
}

// Renew implements [store.Slots].
func (s *Store) Renew(ctx context.Context, w store.WorkerID) error {
	if err := s.begin(ctx, "renew"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	x := s.workers[w]
	if x == nil {
		return fmt.Errorf("renew worker %d: %w", w, store.ErrFenced)
	}
	x.Heartbeat++
	return nil
}

// Release implements [store.Slots].
func (s *Store) Release(ctx context.Context, w store.WorkerID, leases ...store.Lease) error {
	if err := s.begin(ctx, "release"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for _, l := range leases {
		if l.Slot < store.SlotCount && s.slots[l.Slot].owner == w && s.slots[l.Slot].fence == l.Fence {
			s.slots[l.Slot].owner = 0
			s.slots[l.Slot].fence++
		}
	}
	return nil
}

// Leave implements [store.Slots].
func (s *Store) Leave(ctx context.Context, w store.WorkerID) error {
	if err := s.begin(ctx, "leave"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.end(w, false)
	return nil
}

// Workers implements [store.Slots].
func (s *Store) Workers(ctx context.Context) ([]store.Worker, error) {
	if err := s.begin(ctx, "workers"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.list(), nil
}

// list returns the workers by number.
func (s *Store) list() []store.Worker {
	held := map[store.WorkerID]int{}
	for i := range s.slots {
		held[s.slots[i].owner]++
	}
	list := make([]store.Worker, 0, len(s.workers))
	for id, x := range s.workers {
		w := x.Worker
		w.Slots = held[id]
		list = append(list, w)
	}
	slices.SortFunc(list, func(a, b store.Worker) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// bury declares a worker dead.
func (s *Store) bury(w store.WorkerID) { s.end(w, true) }

// end frees the slots and tokens of a worker. The fence rises here, at the loss
// and not at the next gain, so that nothing the worker still sends is taken.
func (s *Store) end(w store.WorkerID, unclean bool) {
	x := s.workers[w]
	if x == nil {
		return
	}
	for i := range s.slots {
		if s.slots[i].owner == w {
			s.slots[i].owner = 0
			s.slots[i].fence++
			s.slots[i].unclean = unclean
		}
	}
	for id, n := range x.tokens {
		if r := s.jobs[id]; r != nil {
			r.left += n
		}
	}
	delete(s.workers, w)
}

// Reserve implements [store.Budget].
func (s *Store) Reserve(ctx context.Context, w store.WorkerID, id job.ID, n int) (int, error) {
	if err := s.begin(ctx, "reserve"); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	x, r := s.workers[w], s.jobs[id]
	if x == nil {
		return 0, fmt.Errorf("reserve pages of job %d: %w", id, store.ErrFenced)
	}
	if r == nil {
		return 0, fmt.Errorf("reserve pages of job %d: %w", id, store.ErrNotFound)
	}
	if r.MaxPages == 0 || n <= 0 {
		return max(n, 0), nil
	}
	got := store.Grant(r.left, n)
	r.left -= int64(got)
	x.tokens[id] += int64(got)
	return got, nil
}
