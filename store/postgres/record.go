package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// recordVersion is the version of the text in columns visit. A field may be
// added without raising it.
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
	Fact factID `json:"fact"`
	At   int64  `json:"at"` // Unix milliseconds
}

// factID is the digest of a fact: whoever meets it first stores it, and nobody
// has to ask for its number.
type factID [16]byte

// MarshalText writes the digest as hexadecimal digits.
func (f factID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, f[:]), nil }

// UnmarshalText reads what MarshalText wrote.
func (f *factID) UnmarshalText(text []byte) error {
	n, err := hex.Decode(f[:], text[:min(len(text), 2*len(f))])
	if err == nil && n != len(f) {
		err = fmt.Errorf("digest of %d bytes", n)
	}
	return err
}

// encoder writes visits and gathers the facts behind them.
type encoder struct {
	buf   bytes.Buffer
	facts map[factID]string
}

// encode writes a visit.
func (e *encoder) encode(v *visit.Visit) (string, error) {
	r := record{Version: recordVersion, Wait: v.Wait, Detail: v.Detail, Attempt: v.Item.Attempt, Answer: v.Answer, Timing: v.Timing}
	if !isZeroPage(&v.Page) {
		r.Page = &v.Page
	}
	for _, x := range v.Evidence {
		at := milli(x.At)
		x.At, x.SourceAt = time.Time{}, store.Stored(x.SourceAt)
		fact, err := json.Marshal(x)
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(fact)
		id := factID(sum[:16])
		e.facts[id] = string(fact)
		r.Evidence = append(r.Evidence, factRef{id, at})
	}
	text, err := r.text(&e.buf)
	if err != nil {
		return "", fmt.Errorf("encode visit %s: %w", v.Item.URL, err)
	}
	return text, nil
}

// clean takes out what PostgreSQL cannot store in a text. JSON never contains
// it, but words of people may.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "")
}

func isZeroPage(p *visit.Page) bool {
	return p.Title == "" && p.Description == "" && p.Canonical.IsZero() && p.Language == "" && p.Charset == "" && len(p.Robots) == 0 && p.Digest == "" && p.SimHash == 0
}

// extra are the parts of an item that most have not.
type extra struct {
	Chain        []uint64 `json:"chain,omitempty"`
	ETag         string   `json:"etag,omitempty"`
	LastModified string   `json:"last_modified,omitempty"`
}

// extraOf returns the column extra of an item, empty for most.
func extraOf(it *visit.Item) (string, error) {
	if len(it.Chain) == 0 && it.Validators == (visit.Validators{}) {
		return "", nil
	}
	data, err := json.Marshal(extra{it.Chain, it.Validators.ETag, it.Validators.LastModified})
	return string(data), err
}

// viaOf returns the column via of an item: a path where the page is on the same
// host, which it mostly is.
func viaOf(it *visit.Item) string {
	if it.Via.IsZero() {
		return ""
	}
	if it.Via.Host() == it.URL.Host() {
		return it.Via.PathQuery()
	}
	return it.Via.String()
}

// Numbers of the ways a URL is found, as stored.
var foundNumber = map[visit.FoundBy]int16{visit.FoundSeed: 1, visit.FoundLink: 2, visit.FoundSitemap: 3, visit.FoundRedirect: 4}

var foundWord = [...]visit.FoundBy{"", visit.FoundSeed, visit.FoundLink, visit.FoundSitemap, visit.FoundRedirect}

// itemRow is where itemColumns are scanned to.
type itemRow struct {
	host, path, via, extra       string
	found                        int16
	depth, hops, priority, tries int
	notBefore                    int64
}

// targets are the places for itemColumns without the host.
func (r *itemRow) targets() []any {
	return []any{&r.path, &r.via, &r.found, &r.depth, &r.hops, &r.priority, &r.extra}
}

// item makes an item of a row.
func (r *itemRow) item(id job.ID) (visit.Item, error) {
	u, err := weburl.Parse(r.host + r.path)
	if err != nil {
		return visit.Item{}, fmt.Errorf("stored URL: %w: %w", store.ErrCorrupt, err)
	}
	it := visit.Item{Job: id, URL: u, Depth: r.depth, Hops: r.hops, Priority: r.priority, Attempt: r.tries, NotBefore: instant(r.notBefore)}
	if r.found > 0 && int(r.found) < len(foundWord) {
		it.Found = foundWord[r.found]
	}
	if via := r.via; via != "" {
		if via[0] == '/' {
			via = r.host + via
		}
		if it.Via, err = weburl.Parse(via); err != nil {
			return visit.Item{}, fmt.Errorf("stored URL: %w: %w", store.ErrCorrupt, err)
		}
	}
	if r.extra != "" {
		var x extra
		if err := json.Unmarshal([]byte(r.extra), &x); err != nil {
			return visit.Item{}, fmt.Errorf("item %s: %w: %w", u, store.ErrCorrupt, err)
		}
		it.Chain, it.Validators = x.Chain, visit.Validators{ETag: x.ETag, LastModified: x.LastModified}
	}
	return it, nil
}

// entryRow is where entryColumns are scanned to.
type entryRow struct {
	itemRow
	seenAt, endedAt int64
	ending          int16
	visit           *string
	id, host        int64
	slot            int16
	fp              [16]byte
	rank            int32
}

func (r *entryRow) targets() []any {
	list := append([]any{&r.itemRow.host}, r.itemRow.targets()...)
	return append(list, &r.tries, &r.notBefore, &r.seenAt, &r.ending, &r.endedAt, &r.visit, &r.id, &r.slot, &r.host, &r.fp, &r.rank)
}

// entries makes entries of rows, with the facts behind their visits.
func (s *Store) entries(ctx context.Context, q querier, id job.ID, rows []entryRow) ([]store.Entry, error) {
	list := make([]store.Entry, len(rows))
	records := make([]record, len(rows))
	facts := map[factID]string{}
	for i := range rows {
		r := &rows[i]
		it, err := r.item(id)
		if err != nil {
			return nil, err
		}
		e := store.Entry{Item: it, Outcome: visit.Pending, SeenAt: instant(r.seenAt), EndedAt: instant(r.endedAt)}
		if r.ending != 0 {
			end := s.ending[r.ending]
			e.Outcome, e.Reason = end.Outcome, end.Reason
		}
		list[i] = e
		if r.visit != nil {
			if err := readRecord(*r.visit, &it, &records[i], facts); err != nil {
				return nil, err
			}
		}
	}
	if err := readFacts(ctx, q, facts); err != nil {
		return nil, err
	}
	for i := range rows {
		if rows[i].visit == nil {
			continue
		}
		v, err := records[i].visit(&list[i].Item, facts)
		if err != nil {
			return nil, err
		}
		v.Outcome, v.Reason = list[i].Outcome, list[i].Reason
		list[i].Visit = v
	}
	return list, nil
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// readRecord reads what encode wrote and notes the facts it names.
func readRecord(data string, it *visit.Item, r *record, facts map[factID]string) error {
	if err := json.Unmarshal([]byte(data), r); err != nil {
		return fmt.Errorf("visit of %s: %w: %w", it.URL, store.ErrCorrupt, err)
	}
	if r.Version < 1 || r.Version > recordVersion {
		return fmt.Errorf("visit of %s: version %d: %w", it.URL, r.Version, store.ErrNewer)
	}
	for _, ref := range r.Evidence {
		facts[ref.Fact] = ""
	}
	return nil
}

// readFacts fills in the texts of facts.
func readFacts(ctx context.Context, q querier, facts map[factID]string) error {
	if len(facts) == 0 {
		return nil
	}
	ids := make([][16]byte, 0, len(facts))
	for id := range facts {
		ids = append(ids, id)
	}
	r, err := q.Query(ctx, "select id, fact from evidence where id = any($1::uuid[])", ids)
	if err != nil {
		return err
	}
	var id [16]byte
	var fact string
	_, err = pgx.ForEachRow(r, []any{&id, &fact}, func() error {
		facts[id] = fact
		return nil
	})
	return err
}

// visit makes a visit of a record.
func (r *record) visit(it *visit.Item, facts map[factID]string) (*visit.Visit, error) {
	v := &visit.Visit{Item: *it, Wait: r.Wait, Detail: r.Detail, Answer: r.Answer, Timing: r.Timing}
	v.Item.Attempt = r.Attempt
	if r.Page != nil {
		v.Page = *r.Page
	}
	for _, ref := range r.Evidence {
		var e visit.Evidence
		if err := json.Unmarshal([]byte(facts[ref.Fact]), &e); err != nil {
			return nil, fmt.Errorf("fact %x: %w: %w", ref.Fact, store.ErrCorrupt, err)
		}
		e.At = instant(ref.At)
		v.Evidence = append(v.Evidence, e)
	}
	return v, nil
}
