package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Statements on out-of-scope URLs.
const (
	listAside = `select a.slot, a.fp, a.url, coalesce(i.item, '') from aside_{s} a left join aside_item i on i.job = a.job and i.slot = a.slot and i.fp = a.fp
		where a.job = $1 and (a.slot, a.fp) > ($2, $3) order by a.slot, a.fp limit $4`
	takeAside     = `delete from aside_{s} a using unnest($2::smallint[], $3::uuid[]) as w (slot, fp) where a.job = $1 and a.slot = w.slot and a.fp = w.fp returning a.slot, a.fp`
	dropAsideItem = `delete from aside_item a using unnest($2::smallint[], $3::uuid[]) as w (slot, fp) where a.job = $1 and a.slot = w.slot and a.fp = w.fp`
)

// ListAside implements [store.URLs].
func (s *Store) ListAside(ctx context.Context, id job.ID, after store.Cursor, most int) (store.AsidePage, error) {
	slot, mark := int16(-1), weburl.Fingerprint128{}
	if after != "" {
		var text string
		_, err := fmt.Sscanf(string(after), "%d.%s", &slot, &text)
		if err == nil {
			_, err = hex.Decode(mark[:], []byte(text))
		}
		if err != nil {
			return store.AsidePage{}, fmt.Errorf("list URLs out of scope of job %d after %q: %w", id, after, err)
		}
	}
	most = min(max(most, 1), store.MaxPage)
	var page store.AsidePage
	err := s.readJob(ctx, id, func(tx pgx.Tx, jt *jobTables) error {
		r, err := tx.Query(ctx, forTables(listAside, jt.id), int32(id), slot, [16]byte(mark), most)
		if err != nil {
			return err
		}
		defer r.Close()
		for r.Next() {
			var x store.Aside
			var slot int16
			var mark [16]byte
			var address, text string
			if err := r.Scan(&slot, &mark, &address, &text); err != nil {
				return err
			}
			x.Slot, x.Mark = store.Slot(slot), mark
			if x.Item, err = store.DecodeAside(address, text); err != nil {
				return err
			}
			x.Item.Job = id
			page.URLs = append(page.URLs, x)
		}
		return r.Err()
	})
	if err != nil {
		return store.AsidePage{}, fmt.Errorf("list URLs out of scope of job %d: %w", id, s.goneJob(ctx, id, err))
	}
	if len(page.URLs) == most {
		last := &page.URLs[most-1]
		page.Next = store.Cursor(fmt.Sprintf("%d.%x", last.Slot, last.Mark[:]))
	}
	return page, nil
}

// Readmit implements [store.URLs].
func (s *Store) Readmit(ctx context.Context, now time.Time, id job.ID, rows []store.Aside) (int, error) {
	if len(rows) > store.MaxFound {
		return 0, fmt.Errorf("readmit %d URLs, at most %d", len(rows), store.MaxFound)
	}
	n := newNeeds()
	n.jobs[id] = true
	for i := range rows {
		n.hosts[rows[i].Item.URL.Host()] = true
	}
	if err := s.resolve(ctx, n); err != nil {
		return 0, fmt.Errorf("readmit %d URLs of job %d: %w", len(rows), id, err)
	}
	if n.tables[id] == nil {
		return 0, fmt.Errorf("readmit %d URLs of job %d: %w", len(rows), id, store.ErrNotFound)
	}
	var b *batch
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		b = newBatch(c, now, 0, n)
		found, err := b.takeAside(ctx, id, rows)
		if err != nil {
			return err
		}
		return b.add(ctx, found)
	})
	if err != nil {
		return 0, fmt.Errorf("readmit %d URLs of job %d: %w", len(rows), id, s.gone(ctx, n, err))
	}
	b.committed(ctx)
	return len(b.receipt.Fresh), nil
}

// takeAside removes URLs from those out of scope, and returns those that were there.
func (b *batch) takeAside(ctx context.Context, id job.ID, list []store.Aside) ([]store.Found, error) {
	type key struct {
		slot int16
		mark [16]byte
	}
	items := make(map[key]*visit.Item, len(list))
	slots, marks := make([]int16, len(list)), make([][16]byte, len(list))
	for i := range list {
		slots[i], marks[i] = int16(list[i].Slot), list[i].Mark
		items[key{slots[i], marks[i]}] = &list[i].Item
	}
	jt := b.tables[id]
	var k key
	var found []store.Found
	b.queue(forTables(takeAside, jt.id), int32(id), slots, marks).Query(rows([]any{&k.slot, &k.mark}, func() error {
		found = append(found, store.Found{Item: *items[k]})
		return nil
	}))
	b.exec(dropAsideItem, int32(id), slots, marks)
	if err := b.send(ctx); err != nil {
		return nil, err
	}
	b.count(id, b.s.endings[store.Ending{Outcome: visit.Skipped, Reason: visit.OutOfScope}], -int64(len(found)))
	return found, nil
}
