package postgres

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"headway/store"
)

var _ store.Events = (*Store)(nil)

// numberEvents numbers events that have no number, in the order they were written. Changes
// of one job are written one after the other, so its events keep their order.
const numberEvents = `with fresh as materialized (select e.id from event e where e.number is null order by e.id limit $1),
	numbered as materialized (select f.id, nextval('event_number') as number from fresh f)
	update event e set number = n.number from numbered n where e.id = n.id`

// forgetEvents deletes those of the first $2 events that are from before $1.
const forgetEvents = "delete from event e where e.at < $1 and e.number in (select o.number from event o where o.number is not null order by o.number limit $2)"

// numbering lets concurrent readers share the numbering of events: one per process does it
// at a time, and those that waited before it began need not repeat it.
type numbering struct {
	begun  atomic.Int64  // passes that have begun
	turn   chan struct{} // holds one entry while numbering is in progress
	passed int64         // the last successful pass; guarded by turn
}

func newNumbering() *numbering { return &numbering{turn: make(chan struct{}, 1)} }

// Events implements [store.Events].
func (s *Store) Events(ctx context.Context, _ time.Time, q store.EventQuery) ([]store.Event, error) {
	list, err := s.events(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("events after %d: %w", q.After, err)
	}
	return list, nil
}

func (s *Store) events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	if err := s.numberEvents(ctx); err != nil {
		return nil, err
	}
	return readEvents(ctx, s.reading(ctx), q)
}

// readEvents reads numbered events.
func readEvents(ctx context.Context, db querier, q store.EventQuery) ([]store.Event, error) {
	which, args := "", []any{int64(q.After), min(max(q.Max, 0), store.MaxEvents)}
	if !q.All {
		args = append(args, q.Tenant)
		which += fmt.Sprintf(" and e.tenant = $%d", len(args))
	}
	if q.Job != 0 {
		args = append(args, number(q.Job))
		which += fmt.Sprintf(" and e.job = $%d", len(args))
	}
	r, err := db.Query(ctx, "select e.number, e.at, e.tenant, e.job, e.kind, e.body from event e where e.number > $1"+which+" order by e.number limit $2", args...)
	if err != nil {
		return nil, wrap(err)
	}
	var list []store.Event
	var e store.Event
	var at int64
	_, err = pgx.ForEachRow(r, []any{&e.Number, &at, &e.Tenant, &e.Job, &e.Kind, &e.Body}, func() error {
		e.At = instant(at)
		list = append(list, e)
		e.Body = nil
		return nil
	})
	return list, wrap(err)
}

// numberEvents numbers all events that exist when it is called. Usually there are none
// without a number, which is checked without a lock.
func (s *Store) numberEvents(ctx context.Context) error {
	ctx = apart(ctx)
	n := s.numbering
	before := n.begun.Load() // a pass that begins later sees all current events
	var fresh bool
	if err := s.reading(ctx).QueryRow(ctx, "select exists (select from event e where e.number is null)").Scan(&fresh); err != nil || !fresh {
		return wrap(err)
	}
	select {
	case n.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-n.turn }()
	if n.passed > before {
		return nil
	}
	pass := n.begun.Add(1)
	for more := true; more; {
		var err error
		if more, err = s.numberSome(ctx); err != nil {
			return err
		}
	}
	n.passed = pass
	return nil
}

// numberSome numbers some events, and reports whether there may be more. One process does it
// at a time, and its numbers are visible before those of the next.
func (s *Store) numberSome(ctx context.Context) (more bool, err error) {
	err = s.change(ctx, func(_ context.Context, c *change) error {
		c.exec("select pg_advisory_xact_lock($1, 0)", lockOfEvents)
		c.queue(numberEvents, store.MaxEvents).Exec(func(tag pgconn.CommandTag) error {
			more = tag.RowsAffected() == store.MaxEvents
			return nil
		})
		return nil
	})
	return more, err
}

// LastEvent implements [store.Events].
func (s *Store) LastEvent(ctx context.Context, _ time.Time) (store.EventNumber, error) {
	var last store.EventNumber
	err := s.numberEvents(ctx)
	if err == nil {
		err = wrap(s.reading(ctx).QueryRow(ctx, "select coalesce(max(e.number), 0) from event e where e.number is not null").Scan(&last))
	}
	if err != nil {
		return 0, fmt.Errorf("the last event: %w", err)
	}
	return last, nil
}

// AwaitEvents implements [store.Events]. Every change that makes an event of a job also
// notifies all workers.
func (s *Store) AwaitEvents(ctx context.Context, look func()) error {
	err := s.await(ctx, everybody, func(what store.News) {
		if what&store.NewJobs != 0 {
			look()
		}
	})
	return fmt.Errorf("await events: %w", err)
}
