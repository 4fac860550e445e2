package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"headway/job"
	"headway/store"
	"headway/store/internal/record"
	"headway/visit"
	"headway/weburl"
)

// encode encodes a visit. Facts behind it are stored once each, with a number.
func (s *Store) encode(ctx context.Context, v *visit.Visit, b *bytes.Buffer) (string, error) {
	r, err := record.Of(v, func(e visit.Evidence) (int64, error) { return s.fact(ctx, e) })
	if err != nil {
		return "", err
	}
	return r.Text(b)
}

// fact returns the number of a fact, storing it if it is new.
func (s *Store) fact(ctx context.Context, e visit.Evidence) (int64, error) {
	if id, ok := s.facts[e]; ok {
		return id, nil
	}
	data, err := json.Marshal(e)
	if err != nil {
		return 0, err
	}
	var id int64
	found, err := s.w.one(ctx, "select id from evidence where fact = ?", []driver.Value{string(data)}, &id)
	if err != nil {
		return 0, err
	}
	if !found {
		s.lastID.fact++
		id = s.lastID.fact
		if _, err := s.w.exec(ctx, "insert into evidence (id, fact) values (?, ?)", id, string(data)); err != nil {
			return 0, err
		}
	}
	if len(s.facts) >= factCache {
		clear(s.facts)
	}
	s.facts[e] = id
	return id, nil
}

// decode decodes what encode wrote into a visit of an item.
func decode(ctx context.Context, c *conn, data string, it visit.Item, e store.Ending) (*visit.Visit, error) {
	var r record.Record[int64]
	if err := record.Read(data, &r); err != nil {
		return nil, fmt.Errorf("visit of %s: %w", it.URL, err)
	}
	return r.Visit(it, e, func(id int64) (text string, err error) {
		found, err := c.one(ctx, "select fact from evidence where id = ?", []driver.Value{id}, &text)
		if err == nil && !found {
			err = fmt.Errorf("fact %d is missing: %w", id, store.ErrCorrupt)
		}
		return text, err
	})
}

// extraOf returns the column extra of an item; nil for most.
func extraOf(it *visit.Item) (driver.Value, error) {
	text, err := record.Extra(it)
	if text == "" {
		return nil, err // null is a value
	}
	return text, err
}

// itemWidth is the number of itemColumns.
const itemWidth = 7

// scanItem reads itemColumns, the attempt and NotBefore.
func scanItem(id job.ID, row []driver.Value) (visit.Item, error) {
	u, err := weburl.Parse(text(row[0]))
	if err != nil {
		return visit.Item{}, fmt.Errorf("stored URL: %w: %w", store.ErrCorrupt, err)
	}
	it := visit.Item{
		Job: id, URL: u, Depth: int(integer(row[3])), Hops: int(integer(row[4])), Priority: int(integer(row[5])),
		Found: record.FoundBy(integer(row[2])), Attempt: int(integer(row[itemWidth])), NotBefore: instant(integer(row[itemWidth+1])),
	}
	if via := text(row[1]); via != "" {
		if it.Via, err = weburl.Parse(via); err != nil {
			return visit.Item{}, fmt.Errorf("stored URL: %w: %w", store.ErrCorrupt, err)
		}
	}
	return it, record.ReadExtra(text(row[6]), &it)
}

// rest is what is read later of an entry: its visit needs the connection that is busy while
// rows are read.
type rest struct {
	visit string
	last  driver.Value // the last column
}

// scanEntry reads entryColumns and one more.
func (s *reader) scanEntry(id job.ID, row []driver.Value) (store.Entry, rest, error) {
	it, err := scanItem(id, row)
	if err != nil {
		return store.Entry{}, rest{}, err
	}
	more := row[itemWidth+2:]
	e := store.Entry{Item: it, Outcome: visit.Pending, SeenAt: instant(integer(more[0])), EndedAt: instant(integer(more[2]))}
	if n := integer(more[1]); n != 0 {
		end := s.ending[n]
		e.Outcome, e.Reason = end.Outcome, end.Reason
	}
	return e, rest{visit: text(more[3]), last: more[4]}, nil
}

// decode decodes the visit of an entry.
func (r *rest) decode(ctx context.Context, c *conn, e *store.Entry) error {
	if r.visit == "" {
		return nil
	}
	v, err := decode(ctx, c, r.visit, e.Item, store.Ending{Outcome: e.Outcome, Reason: e.Reason})
	e.Visit = v
	return err
}

// milli and instant convert a time to and from its stored form; 0 is none.
func milli(t time.Time) int64    { return record.Milli(t) }
func instant(ms int64) time.Time { return record.Instant(ms) }

// orNull stores the zero time as null.
func orNull(t time.Time) driver.Value {
	if t.IsZero() {
		return nil
	}
	return milli(t)
}
