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
		c.exec("insert into control (at, who, what, tenant, job, host, worker, about, before, after) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
			milli(o.At), clean(o.By), clean(o.What), clean(o.Tenant), o.Job, clean(o.Host), o.Worker, clean(o.About), clean(o.Before), clean(o.After))
		return nil
	})
	if err != nil {
		return fmt.Errorf("log the order %s: %w", o.What, err)
	}
	return nil
}

// Orders implements [store.Control].
func (s *Store) Orders(ctx context.Context, q store.OrderQuery) ([]store.Order, error) {
	which, args := "o.id > $1", []any{q.After, min(max(q.Max, 1), store.MaxPage)}
	only := func(column string, value any) {
		args = append(args, value)
		which += fmt.Sprintf(" and o.%s = $%d", column, len(args))
	}
	// The additional conditions are those of the indexes.
	if !q.All {
		only("tenant", clean(q.Tenant))
		which += " and o.tenant <> ''"
	}
	if q.Job != 0 {
		only("job", number(q.Job))
		which += " and o.job <> 0"
	}
	if q.Host != "" {
		only("host", clean(q.Host))
		which += " and o.host <> ''"
	}
	return s.orders(ctx, which+" order by o.id limit $2", args...)
}

// HostOrders implements [store.Control].
func (s *Store) HostOrders(ctx context.Context, host string, most int) ([]store.Order, error) {
	list, err := s.orders(ctx, "o.host = $1 and o.host <> '' order by o.id desc limit $2", clean(host), min(max(most, 1), store.MaxPage))
	slices.Reverse(list)
	return list, err
}

// orders reads a part of the log.
func (s *Store) orders(ctx context.Context, which string, args ...any) ([]store.Order, error) {
	var list []store.Order
	r, err := s.reading(ctx).Query(ctx, "select o.id, o.at, o.who, o.what, o.tenant, o.job, o.host, o.worker, o.about, o.before, o.after from control o where "+which, args...)
	if err == nil {
		var o store.Order
		var at int64
		_, err = pgx.ForEachRow(r, []any{&o.Number, &at, &o.By, &o.What, &o.Tenant, &o.Job, &o.Host, &o.Worker, &o.About, &o.Before, &o.After}, func() error {
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
