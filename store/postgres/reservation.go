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
	var used store.RequestUse
	var state job.State
	known := false
	read := func() error {
		c.queue("select used, bytes from request_use where job = $1 for update", number(r.Job)).Query(rows([]any{&used.Requests, &used.Bytes}, func() error {
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
		return store.Reserved{}, err
	}
	if !known {
		points, err := readPoints(ctx, c.conn, r.Job, "")
		if err != nil {
			return store.Reserved{}, err
		}
		before := store.UseOf(points)
		c.exec("insert into request_use (job, used, bytes) select id, $2, $3 from job where id = $1 for key share on conflict (job) do nothing", number(r.Job), before.Requests, before.Bytes)
		if err := read(); err != nil {
			return store.Reserved{}, err
		}
	}
	got := r.Grant(used, state.Ended())
	if got.Use != used {
		c.exec("update request_use set used = $2, bytes = $3 where job = $1", number(r.Job), got.Use.Requests, got.Use.Bytes)
	}
	return got, nil
}
