package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"headway/store"
)

var _ store.Control = (*Store)(nil)

// LogOrder implements [store.Control].
func (s *Store) LogOrder(ctx context.Context, o store.Order) error {
	err := s.change(ctx, func(_ context.Context, c *change) error {
		c.exec("insert into control (at, who, what, tenant, job, host, worker, before, after) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
			milli(o.At), clean(o.By), clean(o.What), clean(o.Tenant), o.Job, clean(o.Host), o.Worker, clean(o.Before), clean(o.After))
		return nil
	})
	if err != nil {
		return fmt.Errorf("log the order %s: %w", o.What, err)
	}
	return nil
}

// Orders implements [store.Control].
func (s *Store) Orders(ctx context.Context, after int64, most int) ([]store.Order, error) {
	return s.orders(ctx, "where id > $1 order by id", after, most)
}

// HostOrders implements [store.Control].
func (s *Store) HostOrders(ctx context.Context, host string, most int) ([]store.Order, error) {
	list, err := s.orders(ctx, "where host = $1 order by id desc", clean(host), most)
	slices.Reverse(list)
	return list, err
}

// orders reads a part of the log.
func (s *Store) orders(ctx context.Context, which string, arg any, most int) ([]store.Order, error) {
	var list []store.Order
	r, err := s.pool.Query(ctx, "select id, at, who, what, tenant, job, host, worker, before, after from control "+which+" limit $2", arg, min(max(most, 1), store.MaxPage))
	if err == nil {
		var o store.Order
		var at int64
		_, err = pgx.ForEachRow(r, []any{&o.Number, &at, &o.By, &o.What, &o.Tenant, &o.Job, &o.Host, &o.Worker, &o.Before, &o.After}, func() error {
			o.At = instant(at)
			list = append(list, o)
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("list orders: %w", wrap(err))
	}
	return list, nil
}
