package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"headway/store"
	"headway/visit"
)

// sideTable is a table for what is stored beside visits: texts or links. A large job of an
// earlier version may not have it: it is then created when it is first needed.
type sideTable struct{ table, schema string }

// ensureSideTables creates the tables for what is stored beside the visits of a commit, in a
// separate transaction: an empty table does no harm.
func (s *Store) ensureSideTables(ctx context.Context, n *needs, visits []visit.Visit, encoded [][]byte, t sideTable) error {
	for i := range visits {
		jt := n.tables[visits[i].Item.Job]
		if encoded[i] == nil || jt == nil {
			continue
		}
		if there, err := s.hasSideTable(ctx, s.reading(ctx), jt, t); err != nil || there {
			if err != nil {
				return err
			}
			continue
		}
		err := s.change(ctx, func(ctx context.Context, c *change) error {
			var exists bool
			c.lockJobs([]int32{jt.id}) // the job is not dropped meanwhile
			c.exec("select pg_advisory_xact_lock($1, 0)", lockOfTables)
			c.queue("select exists (select from shelf where id = $1)", jt.id).QueryRow(func(row pgx.Row) error { return row.Scan(&exists) })
			if err := c.send(ctx); err != nil || !exists {
				return err
			}
			if err := s.fault.Stop("create table beside visits"); err != nil {
				return err
			}
			_, err := c.conn.Conn().PgConn().Exec(ctx, forTables(t.schema, jt.id)).ReadAll()
			return err
		})
		if err != nil {
			return fmt.Errorf("create table %s: %w", forTables(t.table, jt.id), err)
		}
	}
	return nil
}

// hasSideTable reports whether the table of a job exists. Once it does, this is cached. In a
// transaction q is the transaction: it must not wait for another connection.
func (s *Store) hasSideTable(ctx context.Context, q querier, jt *jobTables, t sideTable) (bool, error) {
	if jt.id == 0 {
		return true, nil
	}
	name := forTables(t.table, jt.id)
	s.cacheMu.Lock()
	there := s.sideTables[name]
	s.cacheMu.Unlock()
	if there {
		return true, nil
	}
	rows, err := q.Query(ctx, "select to_regclass($1) is not null", name)
	if err == nil {
		there, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
	}
	if err != nil {
		return false, wrap(err)
	}
	if there {
		s.cacheMu.Lock()
		if len(s.sideTables) >= jobCache {
			clear(s.sideTables)
		}
		s.sideTables[name] = true
		s.cacheMu.Unlock()
	}
	return there, nil
}

// textChunk is how many texts are read at a time, or how many pages with links.
const textChunk = 32

// readSideTable reads what is stored beside visits into them, until they have about
// [store.MaxTexts]. The entries are in the same order as the rows. It returns how many
// entries are complete.
func (s *Store) readSideTable(ctx context.Context, q querier, jt *jobTables, t sideTable, query string, rows []entryRow, entries []store.Entry, has func(*visit.Visit) bool, read func([]byte, *visit.Visit) error) (int, error) {
	size := 0
	for begin := 0; begin < len(entries); {
		end := begin
		byURL := map[int64]*visit.Visit{}
		var urls []int64
		for ; end < len(entries) && len(urls) < textChunk; end++ {
			if v := entries[end].Visit; v != nil && has(v) {
				byURL[rows[end].id] = v
				urls = append(urls, rows[end].id)
			}
		}
		if begin = end; len(urls) == 0 {
			break
		}
		if there, err := s.hasSideTable(ctx, q, jt, t); err != nil || !there {
			return len(entries), err
		}
		r, err := q.Query(ctx, query, urls)
		if err != nil {
			return 0, err
		}
		var url int64
		var data []byte
		_, err = pgx.ForEachRow(r, []any{&url, &data}, func() error {
			v := byURL[url]
			err := read(data, v)
			size += v.BulkSize()
			return err
		})
		if err != nil || size >= store.MaxTexts {
			return end, err
		}
	}
	return len(entries), nil
}
