package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"headway/job"
	"headway/store"
	"headway/store/internal/ledger"
)

// Workers and tokens are in memory and end with the process, as its lock does. Slots are
// stored, so that fences grow over restarts and an unclean end is noticed.

// loadSlots reads the slots. Their previous owner is gone: this process has the lock.
func (s *Store) loadSlots(ctx context.Context) error {
	var last int64
	if _, err := s.w.one(ctx, "select last_worker from identity", nil, &last); err != nil {
		return err
	}
	s.ledger.StartAfter(store.WorkerID(last))
	return s.w.query(ctx, "select id, owner, fence, unclean from slot", nil, func(row []driver.Value) error {
		s.ledger.Slots[integer(row[0])] = ledger.Slot{Fence: integer(row[2]) + 1, Unclean: integer(row[1]) != 0 || integer(row[3]) != 0}
		return nil
	})
}

var setSlots = newBulk(`insert into slot (id, owner, fence, unclean) values `, `(?,?,?,?)`, ` on conflict (id) do update set owner = excluded.owner, fence = excluded.fence, unclean = excluded.unclean`)

// changeSlots changes the ledger and stores the slots that changed, or rolls back.
func (s *Store) changeSlots(ctx context.Context, what string, do func(l *ledger.Ledger) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.ledger.Clone()
	if err := do(next); err != nil {
		return err
	}
	var changed []int
	for i := range next.Slots {
		if next.Slots[i] != s.ledger.Slots[i] {
			changed = append(changed, i)
		}
	}
	joined := next.Last() != s.ledger.Last()
	if len(changed) == 0 && !joined && !s.closed {
		s.ledger = next
		return ctx.Err()
	}
	err := s.changeLocked(ctx, func(ctx context.Context) error {
		_, err := s.w.bulk(ctx, &setSlots, len(changed), func(i int, args []driver.NamedValue) {
			x := &next.Slots[changed[i]]
			args[0].Value, args[1].Value, args[2].Value, args[3].Value = int64(changed[i]), int64(x.Owner), x.Fence, x.Unclean
		}, nil)
		if err == nil && joined {
			_, err = s.w.exec(ctx, "update identity set last_worker = ?", int64(next.Last()))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.ledger = next
	return nil
}

// Join implements [store.Slots].
func (s *Store) Join(ctx context.Context, now time.Time, name string) (store.WorkerID, error) {
	var id store.WorkerID
	err := s.changeSlots(ctx, "join", func(l *ledger.Ledger) error {
		id = l.Join(now, name)
		return nil
	})
	return id, err
}

// Acquire implements [store.Slots].
func (s *Store) Acquire(ctx context.Context, now time.Time, w store.WorkerID, limit int) ([]store.Lease, error) {
	var leases []store.Lease
	err := s.changeSlots(ctx, "acquire", func(l *ledger.Ledger) (err error) {
		leases, err = l.Acquire(now, w, limit)
		return err
	})
	if err != nil || len(leases) == 0 {
		return leases, err
	}
	return leases, s.forgetArrivals(ctx, leases)
}

// forgetArrivals deletes arrival notices of slots whose new owner reads all hosts anyway.
// Until then the notices are only redundant.
func (s *Store) forgetArrivals(ctx context.Context, leases []store.Lease) error {
	return s.change(ctx, func(ctx context.Context) error {
		_, err := s.w.bulk(ctx, &forgetSlots, len(leases), func(i int, args []driver.NamedValue) { args[0].Value = int64(leases[i].Slot) }, nil)
		return err
	})
}

var forgetSlots = newBulk(`delete from arrival where host in (select a.host from arrival a join host h on h.id = a.host where h.slot in (values `, `(?)`, `))`)

// Renew implements [store.Slots].
func (s *Store) Renew(ctx context.Context, w store.WorkerID) error {
	return s.changeSlots(ctx, "renew", func(l *ledger.Ledger) error { return l.Renew(w) })
}

// Release implements [store.Slots].
func (s *Store) Release(ctx context.Context, w store.WorkerID, leases ...store.Lease) error {
	return s.changeSlots(ctx, "release", func(l *ledger.Ledger) error {
		l.Release(w, leases)
		return nil
	})
}

// Leave implements [store.Slots].
func (s *Store) Leave(ctx context.Context, w store.WorkerID) error {
	return s.changeSlots(ctx, "leave", func(l *ledger.Ledger) error {
		l.End(w, false)
		return nil
	})
}

// Abandon implements [store.Slots].
func (s *Store) Abandon(ctx context.Context, w store.WorkerID) error {
	return s.changeSlots(ctx, "abandon", func(l *ledger.Ledger) error {
		l.End(w, true)
		return nil
	})
}

// Workers implements [store.Slots].
func (s *Store) Workers(ctx context.Context) ([]store.Worker, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Workers(), ctx.Err()
}

// Reserve implements [store.Budget]. Tokens end with the process, and pages are counted
// from the rows at the next start, so nothing is stored.
func (s *Store) Reserve(ctx context.Context, w store.WorkerID, id job.ID, n int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return s.ledger.Reserve(w, id, n)
}

func compareArrivals(a, b store.Arrival) int {
	return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Job, b.Job))
}
