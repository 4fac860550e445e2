package memory

import (
	"context"
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
	return s.ledger.Join(now, name), nil
}

// Acquire implements [store.Slots].
func (s *Store) Acquire(ctx context.Context, now time.Time, w store.WorkerID, most int) ([]store.Lease, error) {
	if err := s.begin(ctx, "acquire"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	workers, slots := s.ledger.Workers(), s.ledger.Slots
	leases, err := s.ledger.Acquire(now, w, most)
	s.deaths(now, workers, &slots)
	s.forgetArrivals(leases)
	return leases, err
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
	return s.ledger.Renew(w)
}

// Release implements [store.Slots].
func (s *Store) Release(ctx context.Context, w store.WorkerID, leases ...store.Lease) error {
	if err := s.begin(ctx, "release"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.ledger.Release(w, leases)
	return nil
}

// Leave implements [store.Slots].
func (s *Store) Leave(ctx context.Context, w store.WorkerID) error {
	if err := s.begin(ctx, "leave"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.ledger.End(w, false)
	s.suspects.end(w, false)
	return nil
}

// Abandon implements [store.Slots].
func (s *Store) Abandon(ctx context.Context, w store.WorkerID) error {
	if err := s.begin(ctx, "abandon"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.ledger.End(w, true)
	s.suspects.end(w, false)
	return nil
}

// Workers implements [store.Slots].
func (s *Store) Workers(ctx context.Context) ([]store.Worker, error) {
	if err := s.begin(ctx, "workers"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.ledger.Workers(), nil
}

// Reserve implements [store.Budget].
func (s *Store) Reserve(ctx context.Context, w store.WorkerID, id job.ID, n int) (int, error) {
	if err := s.begin(ctx, "reserve"); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.ledger.Reserve(w, id, n)
}

// ReserveRequests implements [store.Queue].
func (s *Store) ReserveRequests(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	if err := r.Check(); err != nil {
		return store.Reserved{}, err
	}
	if err := s.begin(ctx, "reserve requests"); err != nil {
		return store.Reserved{}, err
	}
	defer s.mu.Unlock()
	return s.ledger.ReserveRequests(r, func() store.RequestUse { return store.UseOf(s.jobs[r.Job].points) })
}

// TakeHosts implements [store.Budget].
func (s *Store) TakeHosts(ctx context.Context, id job.ID, most int64, hosts []string) (store.Taken, error) {
	if err := store.CheckTake(most, hosts); err != nil {
		return store.Taken{}, err
	}
	if err := s.begin(ctx, "take hosts"); err != nil {
		return store.Taken{}, err
	}
	defer s.mu.Unlock()
	r, err := s.run(id)
	if err != nil {
		return store.Taken{}, err
	}
	asked := make(map[string]bool, len(hosts))
	for _, h := range hosts {
		if asked[h] = true; int64(len(r.taken)) < most {
			r.taken[h] = true
		}
	}
	t := store.Taken{N: int64(len(r.taken))}
	for h := range r.taken {
		if asked[h] || t.N >= most {
			t.Hosts = append(t.Hosts, h)
		}
	}
	slices.Sort(t.Hosts)
	return t, nil
}
