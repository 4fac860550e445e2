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
	"headway/visit"
	"headway/weburl"
)

// recordVersion is the version of the text in outcome.visit and attempt.visit.
// A field may be added without raising it.
const recordVersion = 1

// record is a visit as it is stored: without its item, which is a row of its
// own, and its links, which are URLs of their own.
type record struct {
	Version  int          `json:"v"`
	Wait     visit.Wait   `json:"wait,omitempty"`
	Detail   string       `json:"detail,omitempty"`
	Attempt  int          `json:"attempt,omitempty"`
	Answer   visit.Answer `json:"answer,omitzero"`
	Timing   visit.Timing `json:"timing,omitzero"`
	Page     *visit.Page  `json:"page,omitempty"`
	Evidence []factRef    `json:"evidence,omitempty"`

	// How an attempt ended its URL that was reopened since. For other visits
	// the row says it.
	Outcome visit.Outcome `json:"outcome,omitempty"`
	Reason  visit.Reason  `json:"reason,omitempty"`
}

// text writes a record.
func (r *record) text(b *bytes.Buffer) (string, error) {
	b.Reset()
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false) // the reader is no browser, and URLs stay readable
	err := enc.Encode(r)
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), err
}

// factRef names a row of table evidence and when it was relied on.
type factRef struct {
	Fact int64 `json:"fact"`
	At   int64 `json:"at"` // Unix milliseconds
}

// encode writes a visit. Facts behind it are stored once each, under a number.
func (s *Store) encode(ctx context.Context, v *visit.Visit, b *bytes.Buffer) (string, error) {
	r := record{Version: recordVersion, Wait: v.Wait, Detail: v.Detail, Attempt: v.Item.Attempt, Answer: v.Answer, Timing: v.Timing}
	if !isZeroPage(&v.Page) {
		r.Page = &v.Page
	}
	for _, e := range v.Evidence {
		at := milli(e.At)
		id, err := s.fact(ctx, e)
		if err != nil {
			return "", err
		}
		r.Evidence = append(r.Evidence, factRef{id, at})
	}
	text, err := r.text(b)
	if err != nil {
		return "", fmt.Errorf("encode visit %s: %w", v.Item.URL, err)
	}
	return text, nil
}

func isZeroPage(p *visit.Page) bool {
	return p.Title == "" && p.Description == "" && p.Canonical.IsZero() && p.Language == "" && p.Charset == "" && len(p.Robots) == 0 && p.Digest == "" && p.SimHash == 0
}

// fact returns the number of a fact, which is stored if it is new.
func (s *Store) fact(ctx context.Context, e visit.Evidence) (int64, error) {
	e.At, e.SourceAt = time.Time{}, store.Stored(e.SourceAt)
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

// decode reads what encode wrote into a visit of an item.
func decode(ctx context.Context, c *conn, data string, it visit.Item, e store.Ending) (*visit.Visit, error) {
	var r record
	if err := json.Unmarshal([]byte(data), &r); err != nil {
		return nil, fmt.Errorf("visit of %s: %w: %w", it.URL, store.ErrCorrupt, err)
	}
	if r.Version < 1 || r.Version > recordVersion {
		return nil, fmt.Errorf("visit of %s: version %d: %w", it.URL, r.Version, store.ErrNewer)
	}
	v := &visit.Visit{Item: it, Outcome: e.Outcome, Reason: e.Reason, Wait: r.Wait, Detail: r.Detail, Answer: r.Answer, Timing: r.Timing}
	v.Item.Attempt = r.Attempt
	if r.Outcome != "" {
		v.Outcome, v.Reason = r.Outcome, r.Reason
	}
	if r.Page != nil {
		v.Page = *r.Page
	}
	for _, ref := range r.Evidence {
		var fact string
		found, err := c.one(ctx, "select fact from evidence where id = ?", []driver.Value{ref.Fact}, &fact)
		if err != nil {
			return nil, err
		}
		var e visit.Evidence
		if !found {
			return nil, fmt.Errorf("visit of %s: fact %d is missing: %w", it.URL, ref.Fact, store.ErrCorrupt)
		}
		if err := json.Unmarshal([]byte(fact), &e); err != nil {
			return nil, fmt.Errorf("fact %d: %w: %w", ref.Fact, store.ErrCorrupt, err)
		}
		e.At = instant(ref.At)
		v.Evidence = append(v.Evidence, e)
	}
	return v, nil
}

// extra are the parts of an item that most have not.
type extra struct {
	Chain        []uint64 `json:"chain,omitempty"`
	ETag         string   `json:"etag,omitempty"`
	LastModified string   `json:"last_modified,omitempty"`
}

// extraOf returns the column extra of an item, nil for most.
func extraOf(it *visit.Item) (driver.Value, error) {
	if len(it.Chain) == 0 && it.Validators == (visit.Validators{}) {
		return nil, nil // null is a value
	}
	data, err := json.Marshal(extra{it.Chain, it.Validators.ETag, it.Validators.LastModified})
	return string(data), err
}

// Numbers of the ways a URL is found, as stored.
var foundNumber = map[visit.FoundBy]int64{visit.FoundSeed: 1, visit.FoundLink: 2, visit.FoundSitemap: 3, visit.FoundRedirect: 4}

var foundWord = [...]visit.FoundBy{"", visit.FoundSeed, visit.FoundLink, visit.FoundSitemap, visit.FoundRedirect}

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
		Attempt: int(integer(row[itemWidth])), NotBefore: instant(integer(row[itemWidth+1])),
	}
	if n := integer(row[2]); n > 0 && n < int64(len(foundWord)) {
		it.Found = foundWord[n]
	}
	if via := text(row[1]); via != "" {
		if it.Via, err = weburl.Parse(via); err != nil {
			return visit.Item{}, fmt.Errorf("stored URL: %w: %w", store.ErrCorrupt, err)
		}
	}
	if data := text(row[6]); data != "" {
		var x extra
		if err := json.Unmarshal([]byte(data), &x); err != nil {
			return visit.Item{}, fmt.Errorf("item %s: %w: %w", u, store.ErrCorrupt, err)
		}
		it.Chain, it.Validators = x.Chain, visit.Validators{ETag: x.ETag, LastModified: x.LastModified}
	}
	return it, nil
}

// stored is an entry before its visit is decoded: that needs the connection,
// which is busy while rows are read.
type stored struct {
	store.Entry
	visit string
	last  driver.Value // the last column
}

// scanEntry reads entryColumns and one more.
func (s *reader) scanEntry(id job.ID, row []driver.Value) (stored, error) {
	it, err := scanItem(id, row)
	if err != nil {
		return stored{}, err
	}
	rest := row[itemWidth+2:]
	e := stored{Entry: store.Entry{Item: it, Outcome: visit.Pending, SeenAt: instant(integer(rest[0])), EndedAt: instant(integer(rest[2]))}, visit: text(rest[3]), last: rest[4]}
	if n := integer(rest[1]); n != 0 {
		end := s.ending[n]
		e.Outcome, e.Reason = end.Outcome, end.Reason
	}
	return e, nil
}

// entry decodes the visit of an entry.
func (e *stored) entry(ctx context.Context, c *conn) (store.Entry, error) {
	if e.visit != "" {
		v, err := decode(ctx, c, e.visit, e.Item, store.Ending{Outcome: e.Outcome, Reason: e.Reason})
		if err != nil {
			return store.Entry{}, err
		}
		e.Visit = v
	}
	return e.Entry, nil
}

// milli and instant are an instant as it is stored; 0 is none.
func milli(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return store.Stored(t).UnixMilli()
}

func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// orNull stores the zero time as null.
func orNull(t time.Time) driver.Value {
	if t.IsZero() {
		return nil
	}
	return milli(t)
}
