package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"headway/job"
	"headway/store"
)

// Join implements [store.Slots].
func (s *Store) Join(ctx context.Context, now time.Time, name string) (store.WorkerID, error) {
	var id store.WorkerID
	err := s.change(ctx, func(_ context.Context, c *change) error {
		c.queue("with w as (insert into worker (name, joined_at, lease, format) values ($1, $2, $3, $4) returning id) insert into progress (worker) select id from w returning worker",
			clean(name), milli(now), s.terms.TakeOver.Milliseconds(), s.format).QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
		return nil
	})
	if err == nil {
		err = wrap(s.readyPulse(ctx))
	}
	if err != nil {
		return 0, fmt.Errorf("join: %w", err)
	}
	return id, nil
}

// beat is a worker and its heartbeat, as a candidate sees it.
type beat struct {
	id    store.WorkerID
	count int64
}

// Acquire implements [store.Slots].
func (s *Store) Acquire(ctx context.Context, now time.Time, w store.WorkerID, most int) ([]store.Lease, error) {
	dead, free, err := s.observe(ctx, now, w)
	if err != nil {
		return nil, fmt.Errorf("acquire slots for worker %d: %w", w, err)
	}
	if len(dead) == 0 && (free == 0 || most <= 0) {
		return nil, nil // the usual case
	}
	for _, b := range dead {
		if err := s.declareDead(ctx, now, b); err != nil {
			return nil, fmt.Errorf("acquire slots for worker %d: %w", w, err)
		}
	}
	var leases []store.Lease
	err = s.change(ctx, func(ctx context.Context, c *change) error {
		leases = nil
		var l store.Lease
		c.queue(lockWorker, w).Exec(affected(1, errf("%w", store.ErrFenced)))
		// Other callers take other slots instead of waiting for these.
		c.queue(`with f as (select id, unclean from slot where owner = 0 order by id limit $2 for update skip locked)
			update slot set owner = $1, fence = fence + 1, unclean = false, since = $3 from f where slot.id = f.id returning slot.id, slot.fence, not f.unclean`, w, max(most, 0), milli(now)).
			Query(rows([]any{&l.Slot, &l.Fence, &l.Clean}, func() error {
				leases = append(leases, l)
				return nil
			}))
		if err := c.send(ctx); err != nil || len(leases) == 0 {
			return err
		}
		slots, _ := leaseColumns(leases)
		c.exec("delete from arrival where slot = any($1::smallint[])", slots) // the new owner reads all hosts anyway
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("acquire slots for worker %d: %w", w, err)
	}
	return leases, nil
}

// lockWorker keeps a worker from being declared dead until the end of the transaction. It
// does not wait for a commit or heartbeat of the worker.
const lockWorker = "select 1 from progress where worker = $1 for key share"

// observe returns the workers whose heartbeat has not changed for too long, by the caller's
// clock only, and the number of free slots. A heartbeat counts from when the result arrived,
// however long that took: its owner counts from before, and a worker whose heartbeat changed
// since is not declared dead.
func (s *Store) observe(ctx context.Context, now time.Time, w store.WorkerID) (dead []beat, free int, err error) {
	begin := time.Now()
	s.watchMu.Lock()
	defer s.watchMu.Unlock()
	workers, free, err := s.workersAndFree(ctx)
	if err != nil {
		return nil, 0, err
	}
	counts := make(map[store.WorkerID]int64, len(workers))
	for _, x := range workers {
		counts[x.ID] = x.Heartbeat
	}
	if _, alive := counts[w]; !alive {
		return nil, 0, store.ErrFenced // a dead worker must not declare others dead
	}
	for _, id := range s.watch.Observe(now.Add(time.Since(begin)), s.terms.TakeOver, workers) {
		if id != w {
			dead = append(dead, beat{id, counts[id]})
		}
	}
	return dead, free, nil
}

// declareDead declares a worker dead, unless its heartbeat has changed since it was read. It waits
// for a commit of the worker in progress; none can follow.
func (s *Store) declareDead(ctx context.Context, now time.Time, b beat) error {
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		var n int64
		c.queue("delete from worker where id = $1 and heartbeat = $2", b.id, b.count).Exec(func(tag pgconn.CommandTag) error {
			n = tag.RowsAffected()
			return nil
		})
		if err := c.send(ctx); err != nil || n == 0 {
			return err
		}
		c.end(b.id, true, now)
		return nil
	})
	if err != nil {
		return fmt.Errorf("declare worker %d dead: %w", b.id, err)
	}
	return nil
}

// end frees the slots and tokens of a worker. The fence is increased here, when the worker
// loses the slot, not when the next one gets it, so that nothing the worker still sends is
// accepted. died is when the worker was declared dead, zero if it is alive.
func (c *change) end(w store.WorkerID, unclean bool, died time.Time) {
	c.exec("delete from progress where worker = $1", w)
	c.exec("delete from worker where id = $1", w)
	c.exec("update slot set owner = 0, fence = fence + 1, unclean = unclean or $2, died_at = coalesce($3, died_at) where owner = $1", w, unclean, orNull(died))
	c.endWatching(w, !died.IsZero())
	c.exec("with t as (delete from token where worker = $1 returning job, n) update account set free = free + t.n from t where account.job = t.job", w)
}

// Release implements [store.Slots].
func (s *Store) Release(ctx context.Context, w store.WorkerID, leases ...store.Lease) error {
	ids, fences := leaseColumns(leases)
	err := s.change(ctx, func(_ context.Context, c *change) error {
		c.exec("select 1 from progress where worker = $1 for update", w) // waits for a commit in progress
		c.exec(`update slot set owner = 0, fence = slot.fence + 1 from unnest($2::smallint[], $3::bigint[]) as l (id, fence)
			where slot.id = l.id and slot.fence = l.fence and slot.owner = $1`, w, ids, fences)
		return nil
	})
	if err != nil {
		return fmt.Errorf("release %d slots of worker %d: %w", len(leases), w, err)
	}
	return nil
}

func leaseColumns(leases []store.Lease) (ids []int16, fences []int64) {
	ids, fences = make([]int16, 0, len(leases)), make([]int64, 0, len(leases))
	for _, l := range leases {
		if l.Slot < store.SlotCount {
			ids, fences = append(ids, int16(l.Slot)), append(fences, l.Fence)
		}
	}
	return ids, fences
}

// Leave implements [store.Slots].
func (s *Store) Leave(ctx context.Context, w store.WorkerID) error { return s.endWorker(ctx, w, false) }

// Abandon implements [store.Slots].
func (s *Store) Abandon(ctx context.Context, w store.WorkerID) error {
	return s.endWorker(ctx, w, true)
}

func (s *Store) endWorker(ctx context.Context, w store.WorkerID, unclean bool) error {
	err := s.change(ctx, func(_ context.Context, c *change) error {
		c.end(w, unclean, time.Time{})
		return nil
	})
	if err != nil {
		return fmt.Errorf("worker %d leaves: %w", w, err)
	}
	return nil
}

// Workers implements [store.Slots].
func (s *Store) Workers(ctx context.Context) ([]store.Worker, error) {
	list, _, err := s.workersAndFree(ctx)
	return list, err
}

// workersAndFree lists the workers and counts the free slots.
func (s *Store) workersAndFree(ctx context.Context) (list []store.Worker, free int, err error) {
	r, err := s.reading(ctx).Query(ctx, `with held as materialized (select owner, count(*) as n from slot group by owner)
		select w.id, w.name, w.joined_at, w.heartbeat, coalesce(h.n, 0), w.lease from worker w left join held h on h.owner = w.id
		union all select 0, '', 0, 0, h.n, 0 from held h where h.owner = 0 order by 1`)
	if err == nil {
		var w store.Worker
		var joined, lease int64
		_, err = pgx.ForEachRow(r, []any{&w.ID, &w.Name, &joined, &w.Heartbeat, &w.Slots, &lease}, func() error {
			if w.ID == 0 {
				free = w.Slots
				return nil
			}
			w.JoinedAt, w.Lease = instant(joined), time.Duration(lease)*time.Millisecond
			list = append(list, w)
			return nil
		})
	}
	if err != nil {
		return nil, 0, fmt.Errorf("list workers: %w", wrap(err))
	}
	return list, free, nil
}

// Holdings implements [store.Fleet].
func (s *Store) Holdings(ctx context.Context) ([]store.Holding, error) {
	var list []store.Holding
	r, err := s.reading(ctx).Query(ctx, "select id, owner, case owner when 0 then 0 else since end, fence from slot order by id")
	if err == nil {
		var h store.Holding
		var since int64
		_, err = pgx.ForEachRow(r, []any{&h.Slot, &h.Owner, &since, &h.Fence}, func() error {
			h.Since = instant(since)
			list = append(list, h)
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("list slots: %w", wrap(err))
	}
	return list, nil
}

// Reserve implements [store.Budget].
func (s *Store) Reserve(ctx context.Context, w store.WorkerID, id job.ID, n int) (int, error) {
	var got int
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		var free int64
		var state job.State
		limited := false
		c.queue(lockWorker, w).Exec(affected(1, errf("%w", store.ErrFenced)))
		c.queue("select free from account where job = $1 for update", number(id)).Query(rows([]any{&free}, func() error {
			limited = true
			return nil
		}))
		// After the account: a cancelled job has none.
		c.queue("select state from job where id = $1", number(id)).QueryRow(func(row pgx.Row) error {
			err := row.Scan(&state)
			if noRows(err) {
				err = store.ErrNotFound
			}
			return err
		})
		if err := c.send(ctx); err != nil {
			return err
		}
		if state.Ended() {
			got = 0
			return nil
		}
		if got = max(n, 0); !limited {
			return nil
		}
		if got = store.Grant(free, n); got == 0 {
			return nil
		}
		c.exec("update account set free = free - $2 where job = $1", id, got)
		c.exec("insert into token (worker, job, n) values ($1, $2, $3) on conflict (worker, job) do update set n = token.n + excluded.n", w, id, got)
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("reserve pages of job %d: %w", id, err)
	}
	return got, nil
}
