package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
)

// hostColumns are the columns of a hostRow.
const hostColumns = `h.id, h.name, h.politeness, h.robots, coalesce(h.pace_ms, 0), coalesce(h.floor_ms, 0), coalesce(h.hold_until, 0), coalesce(h.last_sent, 0), h.rest`

type hostRow struct {
	id                            int64
	name                          string
	politeness, robots            []byte
	pace, floor, hold, sent, rest int64
}

func (r *hostRow) targets() []any {
	return []any{&r.id, &r.name, &r.politeness, &r.robots, &r.pace, &r.floor, &r.hold, &r.sent, &r.rest}
}

func (r *hostRow) host() store.Host {
	return store.Host{
		Host: r.name, Politeness: orNil(r.politeness), Robots: orNil(r.robots), Pace: time.Duration(r.pace) * time.Millisecond, Floor: time.Duration(r.floor) * time.Millisecond,
		HoldUntil: instant(r.hold), LastSent: instant(r.sent), Rest: instant(r.rest),
	}
}

// orNil returns nil for both an empty value and null.
func orNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return slices.Clone(b)
}

// Hosts implements [store.Hosts].
func (s *Store) Hosts(ctx context.Context, q store.HostQuery) (store.HostPage, error) {
	var page store.HostPage
	if len(q.Slots) == 0 {
		return page, nil
	}
	for {
		err := s.read(ctx, func(tx pgx.Tx) (err error) {
			page, err = s.hostPage(ctx, tx, q)
			return err
		})
		if code(err) == codeNoTable {
			continue // a job was dropped meanwhile
		}
		if err != nil {
			return store.HostPage{}, fmt.Errorf("hosts: %w", err)
		}
		return page, nil
	}
}

// hostPage reads one page of the hosts that have work. Which tables are queried depends on
// the existing jobs.
func (s *Store) hostPage(ctx context.Context, tx pgx.Tx, q store.HostQuery) (store.HostPage, error) {
	var page store.HostPage
	tables, err := s.tablesWithWork(ctx, tx, q.Job)
	if err != nil || len(tables) == 0 {
		return page, err
	}
	rest, id := int64(math.MinInt64), int64(0)
	if q.After != "" {
		if _, err := fmt.Sscanf(string(q.After), "%d %d", &rest, &id); err != nil {
			return page, fmt.Errorf("cursor %q does not belong to this list", q.After)
		}
	}
	limit := min(max(q.Max, 1), store.MaxPage)
	var work []string
	for _, jt := range tables {
		work = append(work, jt.hostWork)
	}
	args := []any{rest, id, limit + 1}
	only, where := " where exists (select from job j where j.id = x.job and "+active+")", ""
	if q.Job != 0 {
		args = append(args, number(q.Job))
		only = fmt.Sprintf(" where x.job = $%d", len(args))
	}
	if len(q.Slots) < store.SlotCount {
		slots := make([]int16, len(q.Slots))
		for i, slot := range q.Slots {
			slots[i] = int16(slot)
		}
		args = append(args, slots)
		where = fmt.Sprintf(" and h.slot = any($%d::smallint[])", len(args))
	}
	// The text differs from call to call, so it is not prepared.
	query := `select ` + hostColumns + `, w.jobs from host h cross join lateral (select array_agg(x.job order by x.job) as jobs from (` + strings.Join(work, " union all ") + `) as x` + only + `) as w
		where w.jobs is not null and (h.rest, h.id) > ($1, $2)` + where + ` order by h.rest, h.id limit $3`
	r, err := tx.Query(ctx, query, append([]any{pgx.QueryExecModeExec}, args...)...)
	if err != nil {
		return page, err
	}
	var row hostRow
	var jobs []job.ID
	_, err = pgx.ForEachRow(r, append(row.targets(), &jobs), func() error {
		if len(page.Hosts) == limit {
			page.Next = store.HostCursor(fmt.Sprintf("%d %d", rest, id))
			return nil
		}
		rest, id = row.rest, row.id
		w := store.HostWork{Host: row.host()}
		for _, j := range jobs {
			w.Jobs = append(w.Jobs, store.JobHost{Job: j, Host: row.name})
		}
		page.Hosts = append(page.Hosts, w)
		return nil
	})
	return page, err
}

// active is [store.Active] for a row j of table job.
const active = "j.state in ('running', 'paused', 'draining')"

// tablesWithWork finds the tables in which something waits, of one job or of all active
// ones.
func (s *Store) tablesWithWork(ctx context.Context, tx pgx.Tx, only job.ID) ([]*jobTables, error) {
	which, args := active, []any(nil)
	if only != 0 {
		which, args = "j.id = $1", []any{number(only)}
	}
	r, err := tx.Query(ctx, "select distinct j.shelf from job j where "+which+" and (select sum(t.n) from tally t where t.job = j.id and t.ending in (0, -2)) > 0 order by j.shelf", args...)
	if err != nil {
		return nil, err
	}
	var tables []*jobTables
	var id int32
	_, err = pgx.ForEachRow(r, []any{&id}, func() error {
		if id == 0 {
			tables = append(tables, &sharedTables)
		} else {
			tables = append(tables, s.rememberTables(job.ID(id), id))
		}
		return nil
	})
	return tables, err
}

// Host implements [store.Hosts].
func (s *Store) Host(ctx context.Context, host string) (store.Host, error) {
	var row hostRow
	err := s.reading(ctx).QueryRow(ctx, "select "+hostColumns+" from host h where h.name = $1 and h.politeness is not null", host).Scan(row.targets()...)
	if noRows(err) {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Host{}, fmt.Errorf("host %s: %w", host, wrap(err))
	}
	return row.host(), nil
}

// PaceChanges implements [store.Hosts].
func (s *Store) PaceChanges(ctx context.Context, host string) ([]store.PaceChange, error) {
	var list []store.PaceChange
	r, err := s.reading(ctx).Query(ctx, "select p.at, p.from_ms, p.to_ms, p.cause from host h join pace_change p on p.host = h.id where h.name = $1 order by p.id", host)
	if err == nil {
		var at, from, to int64
		var cause string
		_, err = pgx.ForEachRow(r, []any{&at, &from, &to, &cause}, func() error {
			list = append(list, store.PaceChange{Host: host, At: instant(at), From: time.Duration(from) * time.Millisecond, To: time.Duration(to) * time.Millisecond, Cause: cause})
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("pace changes of %s: %w", host, wrap(err))
	}
	return list, nil
}

// Robots implements [store.Hosts].
func (s *Store) Robots(ctx context.Context, sum [32]byte) (store.RobotsVersion, error) {
	v := store.RobotsVersion{Sum: sum}
	var at int64
	err := s.reading(ctx).QueryRow(ctx, "select fetched_at, body from robots where sum = $1", sum[:]).Scan(&at, &v.Body)
	if noRows(err) {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.RobotsVersion{}, fmt.Errorf("robots.txt %x: %w", sum, wrap(err))
	}
	v.FetchedAt = instant(at)
	return v, nil
}
