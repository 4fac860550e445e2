package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"headway/store"
	"headway/weburl"
)

// Statements on errands. There are few, so they are run one by one.
const (
	addErrand = `insert into errand (job, host, path, nested) select ?1, ?2, ?3, ?4
		where (select count(*) from errand where job = ?1 and host = ?2) < ?5 on conflict (job, host, path) do nothing`
	endErrand   = `update errand set ended = 1 where job = ? and host = ? and path = ? and ended = 0`
	parkErrands = `update errand set ended = 1 where job = ? and host = ? and ended = 0`
	findErrands = `select path, nested from errand where job = ?1 and host = (select id from host where host = ?2) and ended = 0 order by id limit 0 + ?3`
	anyErrand   = `select exists (select 1 from errand where ended = 0)`
	auditErrand = `select count(*) from errand where job = ? and ended = 0`
)

// errands adds the errands of a commit and ends those that were run.
func (b *batch) errands(ctx context.Context, c *store.Commit) error {
	for i := range c.Errands {
		e := &c.Errands[i]
		ref := b.refs[e.URL.Host()]
		n, err := b.w.exec(ctx, addErrand, int64(e.Job), ref.id, e.URL.PathQuery(), int64(e.Nested), int64(store.MaxErrands))
		if err != nil {
			return err
		}
		if n == 0 {
			continue
		}
		b.receipt.Errands = append(b.receipt.Errands, i)
		b.count(e.Job, tallyErrands, 1)
		b.count(e.Job, tallyAdmitted, 1)
		b.arrive(e.Job, ref)
	}
	for i := range c.Ran {
		e := &c.Ran[i]
		n, err := b.w.exec(ctx, endErrand, int64(e.Job), b.refs[e.URL.Host()].id, e.URL.PathQuery())
		if err != nil {
			return err
		}
		b.count(e.Job, tallyErrands, -n)
	}
	return nil
}

// Errands implements [store.URLs].
func (s *Store) Errands(ctx context.Context, wants []store.Want) ([]store.Errand, error) {
	if len(wants) > store.MaxWants {
		return nil, fmt.Errorf("errands of %d queues, at most %d", len(wants), store.MaxWants)
	}
	var list []store.Errand
	err := s.ask(ctx, func(c *conn) error {
		var some int64
		if _, err := c.one(ctx, anyErrand, nil, &some); err != nil || some == 0 {
			return err
		}
		for _, w := range wants {
			err := c.query(ctx, findErrands, []driver.Value{int64(w.Job), w.Host, int64(max(w.Max, 0))}, func(row []driver.Value) error {
				u, err := weburl.Parse(w.Host + text(row[0]))
				if err != nil {
					return fmt.Errorf("stored URL: %w: %w", store.ErrCorrupt, err)
				}
				list = append(list, store.Errand{Job: w.Job, URL: u, Nested: int(integer(row[1]))})
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("errands of %d queues: %w", len(wants), err)
	}
	return list, nil
}
