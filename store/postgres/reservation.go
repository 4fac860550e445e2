package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
)

// ReserveRequests implements [store.Queue]. Callers for the same job are serialised by its
// row.
func (s *Store) ReserveRequests(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	if err := r.Check(); err != nil {
		return store.Reserved{}, err
	}
	var got store.Reserved
	err := s.change(ctx, func(ctx context.Context, c *change) (err error) {
		got, err = c.reserveRequests(ctx, r)
		return err
	})
	if err != nil {
		return store.Reserved{}, fmt.Errorf("reserve requests of job %d: %w", r.Job, err)
	}
	return got, nil
}

func (c *change) reserveRequests(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	var got store.Reserved
	var state job.State
	known := false
	read := func() error {
		c.queue("select used from request_use where job = $1 for update", number(r.Job)).Query(rows([]any{&got.Requests}, func() error {
			known = true
			return nil
		}))
		// After the row is locked: a job that has ended gives none.
		c.queue("select state from job where id = $1", number(r.Job)).QueryRow(func(row pgx.Row) error {
			err := row.Scan(&state)
			if noRows(err) {
				err = store.ErrNotFound
			}
			return err
		})
		return c.send(ctx)
	}
	c.queue(lockWorker, r.Worker).Exec(affected(1, errf("%w", store.ErrFenced)))
	if err := read(); err != nil {
		return got, err
	}
	if !known {
		points, err := readPoints(ctx, c.conn, r.Job, "")
		if err != nil {
			return got, err
		}
		var sent int64
		for i := range points {
			sent += points[i].Requests
		}
		c.exec("insert into request_use (job, used) select id, $2 from job where id = $1 for key share on conflict (job) do nothing", number(r.Job), sent)
		if err := read(); err != nil {
			return got, err
		}
	}
	if state.Ended() {
		return got, nil
	}
	if got.N = store.Grant(r.Max-got.Requests, r.N); got.N > 0 {
		got.Requests += int64(got.N)
		c.exec("update request_use set used = $2 where job = $1", number(r.Job), got.Requests)
	}
	return got, nil
}
