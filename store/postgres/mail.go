package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/store"
)

var _ store.Fleet = (*Store)(nil)

// Post implements [store.Mail].
func (s *Store) Post(ctx context.Context, now time.Time, l store.Message) (store.MessageID, error) {
	if err := l.Check(); err != nil {
		return 0, err
	}
	var slot *int16
	if !l.All {
		n := int16(l.Slot)
		slot = &n
	}
	var id store.MessageID
	var owner store.WorkerID
	err := s.change(ctx, func(_ context.Context, c *change) error {
		owner = 0
		c.exec("delete from letter where at < $1", milli(now.Add(-store.MessageTTL)))
		c.exec("delete from letter where id <= (select id from letter order by id desc offset $1 limit 1)", store.MaxMessages-1)
		c.queue("insert into letter (at, slot, body) values ($1, $2, $3) returning id", milli(now), slot, notNil(l.Body)).QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
		c.queue("select owner from slot where id = $1", slot).Query(rows([]any{&owner}, func() error { return nil }))
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("post a message: %w", err)
	}
	switch {
	case l.All:
		s.notifier.notify(store.NewMessages, everybody)
	case owner != 0:
		s.notifier.notify(store.NewMessages, owner)
	}
	return id, nil
}

// Messages implements [store.Mail].
func (s *Store) Messages(ctx context.Context, now time.Time, w store.WorkerID) ([]store.Message, error) {
	var list []store.Message
	r, err := s.reading(ctx).Query(ctx, `select l.id, l.slot is null, coalesce(l.slot, 0), l.at, l.body from letter l
		where l.at >= $2 and (l.slot is null or exists (select from slot s where s.id = l.slot and s.owner = $1))
		and not exists (select from reply r where r.letter = l.id and (r.worker = $1 or l.slot is not null)) order by l.id limit $3`, w, milli(now.Add(-store.MessageTTL)), store.MaxMessageBatch)
	if err == nil {
		var l store.Message
		var at int64
		_, err = pgx.ForEachRow(r, []any{&l.ID, &l.All, &l.Slot, &at, &l.Body}, func() error {
			l.At = instant(at)
			list = append(list, l)
			l.Body = nil
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("messages to worker %d: %w", w, wrap(err))
	}
	return list, nil
}

// Reply implements [store.Mail].
func (s *Store) Reply(ctx context.Context, now time.Time, w store.WorkerID, id store.MessageID, body []byte) error {
	if err := store.CheckBody(body); err != nil {
		return err
	}
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		c.queue("select exists (select from worker w where w.id = $2) and (l.slot is null or exists (select from slot s where s.id = l.slot and s.owner = $2)) from letter l where l.id = $1 for key share", id, w).
			QueryRow(func(row pgx.Row) error {
				var may bool
				switch err := row.Scan(&may); {
				case noRows(err):
					return store.ErrNotFound
				case err != nil:
					return err
				case !may:
					return store.ErrFenced
				default:
					return nil
				}
			})
		if err := c.send(ctx); err != nil {
			return err
		}
		c.exec("insert into reply (letter, worker, at, body) values ($1, $2, $3, $4) on conflict do nothing", id, w, milli(now), notNil(body))
		return nil
	})
	if err != nil {
		return fmt.Errorf("worker %d replies to message %d: %w", w, id, err)
	}
	return nil
}

// Replies implements [store.Mail].
func (s *Store) Replies(ctx context.Context, id store.MessageID) ([]store.Reply, error) {
	var list []store.Reply
	r, err := s.reading(ctx).Query(ctx, "select worker, at, body from reply where letter = $1 order by worker", id)
	if err == nil {
		var x store.Reply
		var at int64
		_, err = pgx.ForEachRow(r, []any{&x.Worker, &at, &x.Body}, func() error {
			x.At = instant(at)
			list = append(list, x)
			x.Body = nil
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("replies to message %d: %w", id, wrap(err))
	}
	return list, nil
}

// Withdraw implements [store.Mail].
func (s *Store) Withdraw(ctx context.Context, id store.MessageID) error {
	err := s.change(ctx, func(_ context.Context, c *change) error {
		c.exec("delete from letter where id = $1", id)
		return nil
	})
	if err != nil {
		return fmt.Errorf("withdraw message %d: %w", id, err)
	}
	return nil
}
