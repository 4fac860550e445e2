package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// asideSlot is the slot of all out-of-scope URLs: unlike a fleet, one machine counts a URL
// once, wherever it was found.
const asideSlot store.Slot = 0

// ListAside implements [store.URLs].
func (s *Store) ListAside(ctx context.Context, id job.ID, after store.Cursor, most int) (store.AsidePage, error) {
	slot, mark := int64(-1), []byte{}
	if after != "" {
		var text string
		_, err := fmt.Sscanf(string(after), "%d.%s", &slot, &text)
		if err == nil {
			mark, err = hex.DecodeString(text)
		}
		if err != nil {
			return store.AsidePage{}, fmt.Errorf("list URLs out of scope of job %d after %q: %w", id, after, err)
		}
	}
	most = min(max(most, 1), store.MaxPage)
	var page store.AsidePage
	err := s.askJob(ctx, id, func(c *conn, t *jobTables) error {
		return c.query(ctx, t.listAside, []driver.Value{slot, mark, int64(most)}, func(row []driver.Value) error {
			x := store.Aside{Slot: store.Slot(integer(row[0]))}
			copy(x.Mark[:], blob(row[1]))
			var err error
			if x.Item, err = store.DecodeAside(text(row[2]), text(row[3])); err != nil {
				return err
			}
			x.Item.Job = id
			page.URLs = append(page.URLs, x)
			return nil
		})
	})
	if err != nil {
		return store.AsidePage{}, fmt.Errorf("list URLs out of scope of job %d: %w", id, err)
	}
	if len(page.URLs) == most {
		last := &page.URLs[most-1]
		page.Next = store.Cursor(fmt.Sprintf("%d.%x", last.Slot, last.Mark[:]))
	}
	return page, nil
}

// Readmit implements [store.URLs].
func (s *Store) Readmit(ctx context.Context, now time.Time, id job.ID, rows []store.Aside) (n int, err error) {
	if len(rows) > store.MaxFound {
		return 0, fmt.Errorf("readmit %d URLs, at most %d", len(rows), store.MaxFound)
	}
	err = s.change(ctx, func(ctx context.Context) error {
		b := newBatch(s, now, 0)
		found, err := b.takeAside(ctx, id, rows)
		if err != nil {
			return err
		}
		if err := b.add(ctx, found); err != nil {
			return err
		}
		n = len(b.receipt.Fresh)
		return b.finish(ctx)
	})
	if err != nil {
		return 0, fmt.Errorf("readmit %d URLs of job %d: %w", len(rows), id, err)
	}
	return n, nil
}

// asideKey is the unique key of the out-of-scope URLs of a job.
type asideKey struct {
	slot store.Slot
	mark weburl.Fingerprint128
}

// takeAside removes URLs from those out of scope, and returns those that were there.
func (b *batch) takeAside(ctx context.Context, id job.ID, rows []store.Aside) ([]store.Found, error) {
	t, err := b.tables(id)
	if err != nil {
		return nil, err
	}
	items := make(map[asideKey]*visit.Item, len(rows))
	for i := range rows {
		items[asideKey{rows[i].Slot, rows[i].Mark}] = &rows[i].Item
	}
	bind := func(i int, args []driver.NamedValue) {
		args[0].Value, args[1].Value = int64(rows[i].Slot), rows[i].Mark[:]
	}
	var found []store.Found
	_, err = b.w.bulk(ctx, &t.takeAside, len(rows), bind, func(row []driver.Value) error {
		k := asideKey{slot: store.Slot(integer(row[0]))}
		copy(k.mark[:], blob(row[1]))
		found = append(found, store.Found{Item: *items[k]})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, err := b.w.bulk(ctx, &t.dropAsideItem, len(rows), bind, nil); err != nil {
		return nil, err
	}
	b.count(id, b.endings[store.Ending{Outcome: visit.Skipped, Reason: visit.OutOfScope}], -int64(len(found)))
	return found, nil
}

// keepAsideItems stores how out-of-scope URLs were found; for a known one, how it was
// found first.
func (b *batch) keepAsideItems(ctx context.Context, t *jobTables, found []store.Found, places []int) error {
	texts := make([]string, len(places))
	for i, at := range places {
		var err error
		if texts[i], err = store.EncodeAside(&found[at].Item); err != nil {
			return err
		}
	}
	_, err := b.w.bulk(ctx, &t.asideItem, len(places), func(i int, args []driver.NamedValue) {
		f := &found[places[i]]
		fp := f.Item.URL.Fingerprint128(b.key)
		args[0].Value, args[1].Value, args[2].Value = int64(asideSlot), fp[:], texts[i]
	}, nil)
	return err
}
