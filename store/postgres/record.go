package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
	"headway/store/internal/record"
	"headway/visit"
	"headway/weburl"
)

// factID is the digest of a fact: the first process that meets it stores it, and no lookup
// is needed.
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

// encoder encodes visits and collects the facts behind them.
type encoder struct {
	buf   bytes.Buffer
	facts map[factID]string
}

// encode writes a visit.
func (e *encoder) encode(v *visit.Visit) (string, error) {
	r, err := record.Of(v, func(x visit.Evidence) (factID, error) {
		fact, err := json.Marshal(x)
		if err != nil {
			return factID{}, err
		}
		sum := sha256.Sum256(fact)
		id := factID(sum[:16])
		e.facts[id] = string(fact)
		return id, nil
	})
	if err != nil {
		return "", err
	}
	return r.Text(&e.buf)
}

// clean removes what PostgreSQL cannot store in a text. JSON never contains it, but user
// input may.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "")
}

// viaOf returns the column via of an item: only a path if the page is on the same host, as
// is usual.
func viaOf(it *visit.Item) string {
	if it.Via.IsZero() {
		return ""
	}
	if it.Via.Host() == it.URL.Host() {
		return it.Via.PathQuery()
	}
	return it.Via.String()
}

// itemRow is where itemColumns are scanned to.
type itemRow struct {
	host, path, via, extra       string
	found                        int16
	depth, hops, priority, tries int
	notBefore                    int64
}

// targets are the scan targets for itemColumns without the host.
func (r *itemRow) targets() []any {
	return []any{&r.path, &r.via, &r.found, &r.depth, &r.hops, &r.priority, &r.extra}
}

// item returns the item of a row.
func (r *itemRow) item(id job.ID) (visit.Item, error) {
	u, err := weburl.Parse(r.host + r.path)
	if err != nil {
		return visit.Item{}, fmt.Errorf("stored URL: %w: %w", store.ErrCorrupt, err)
	}
	it := visit.Item{Job: id, URL: u, Depth: r.depth, Hops: r.hops, Priority: r.priority, Found: record.FoundBy(int64(r.found)), Attempt: r.tries, NotBefore: instant(r.notBefore)}
	if via := r.via; via != "" {
		if via[0] == '/' {
			via = r.host + via
		}
		if it.Via, err = weburl.Parse(via); err != nil {
			return visit.Item{}, fmt.Errorf("stored URL: %w: %w", store.ErrCorrupt, err)
		}
	}
	return it, record.ReadExtra(r.extra, &it)
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

// entries returns the entries of rows, with the facts behind their visits.
func (s *Store) entries(ctx context.Context, q querier, id job.ID, rows []entryRow) ([]store.Entry, error) {
	list := make([]store.Entry, len(rows))
	records := make([]record.Record[factID], len(rows))
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
		v, err := records[i].Visit(list[i].Item, store.Ending{Outcome: list[i].Outcome, Reason: list[i].Reason}, known(facts))
		if err != nil {
			return nil, err
		}
		list[i].Visit = v
	}
	return list, nil
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// readRecord decodes what encode wrote and collects the facts it references.
func readRecord(data string, it *visit.Item, r *record.Record[factID], facts map[factID]string) error {
	if err := record.Read(data, r); err != nil {
		return fmt.Errorf("visit of %s: %w", it.URL, err)
	}
	for _, ref := range r.Evidence {
		facts[ref.Fact] = ""
	}
	return nil
}

// known returns a function that looks up facts that were read.
func known(facts map[factID]string) func(factID) (string, error) {
	return func(id factID) (string, error) { return facts[id], nil }
}

// readFacts reads the texts of facts.
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
