package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5"

	"headway/store"
)

var _ store.OptOuts = (*Store)(nil)

// AddOptOut implements [store.OptOuts].
func (s *Store) AddOptOut(ctx context.Context, o store.OptOut) (entry store.OptOut, added bool, err error) {
	if err := o.Check(); err != nil {
		return o, false, err
	}
	o.At = store.Stored(o.At)
	err = s.change(ctx, func(ctx context.Context, c *change) error {
		var has int
		var list []store.OptOut
		c.exec("select pg_advisory_xact_lock($1, 0)", lockOfHosts)
		c.queue("select count(*) from opt_out").QueryRow(func(row pgx.Row) error { return row.Scan(&has) })
		c.queue("select name, at, who from opt_out where name = $1", o.Name).Query(scanOptOuts(&list))
		if err := c.send(ctx); err != nil {
			return err
		}
		entry, added = o, len(list) == 0
		switch {
		case !added:
			entry = list[0]
		case has >= store.MaxOptOuts:
			return fmt.Errorf("there are %d: %w", has, store.ErrConflict)
		default:
			c.exec("insert into opt_out (name, at, who) values ($1, $2, $3)", o.Name, milli(o.At), clean(o.By))
			c.notifyOptOuts()
		}
		return nil
	})
	if err != nil {
		return o, false, fmt.Errorf("opt-out %q: %w", o.Name, err)
	}
	return entry, added, nil
}

// scanOptOuts reads entries into a list.
func scanOptOuts(list *[]store.OptOut) func(pgx.Rows) error {
	var o store.OptOut
	var at int64
	return rows([]any{&o.Name, &at, &o.By}, func() error {
		o.At = instant(at)
		*list = append(*list, o)
		return nil
	})
}

// notifyOptOuts notifies all workers that the list changed. This is rare, and an opt-out must
// take effect without waiting for a poll: so it is part of the transaction.
func (c *change) notifyOptOuts() {
	c.exec("select pg_notify(current_schema() || '_' || $1, $2)", channelOf(everybody), strconv.FormatUint(uint64(store.NewOptOuts), 10))
}

// DropOptOut implements [store.OptOuts].
func (s *Store) DropOptOut(ctx context.Context, name string) error {
	err := s.change(ctx, func(_ context.Context, c *change) error {
		c.queue("delete from opt_out where name = $1", clean(name)).Exec(affected(1, func(int64) error { return store.ErrNotFound }))
		c.notifyOptOuts()
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop opt-out %q: %w", name, err)
	}
	return nil
}

// OptOuts implements [store.OptOuts].
func (s *Store) OptOuts(ctx context.Context, after string, most int) ([]store.OptOut, error) {
	var list []store.OptOut
	r, err := s.reading(ctx).Query(ctx, `select name, at, who from opt_out where name collate "C" > $1 order by name collate "C" limit $2`, clean(after), max(most, 0))
	if err == nil {
		err = scanOptOuts(&list)(r)
	}
	if err != nil {
		return nil, fmt.Errorf("list opt-outs: %w", wrap(err))
	}
	return list, nil
}

// OptOutNames implements [store.OptOuts]. A list with the same count and the same last
// number is the same: additions have larger numbers, and without additions the list can only
// have become shorter.
func (s *Store) OptOutNames(ctx context.Context, mark string) (names []string, now string, err error) {
	err = s.read(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, "select count(*) || ' ' || coalesce(max(number), 0) from opt_out").Scan(&now); err != nil || now == mark {
			return err
		}
		r, err := tx.Query(ctx, `select name from opt_out order by name collate "C"`)
		if err == nil {
			names, err = pgx.CollectRows(r, pgx.RowTo[string])
		}
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("read opt-outs: %w", err)
	}
	return names, now, nil
}

// CoveringOptOut implements [store.OptOuts].
func (s *Store) CoveringOptOut(ctx context.Context, hostname string) (name string, err error) {
	err = s.reading(ctx).QueryRow(ctx, "select coalesce((select name from opt_out where name = any($1) order by length(name) desc limit 1), '')",
		slices.Collect(store.Above(clean(hostname)))).Scan(&name)
	if err != nil {
		return "", fmt.Errorf("opt-outs of %s: %w", hostname, wrap(err))
	}
	return name, nil
}
