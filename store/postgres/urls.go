package postgres

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// headItem is one item of a queue's head, with its position.
type headItem struct {
	visit.Item
	want     int32
	later    bool
	rank     int32
	id       int64
	sortedBy int64 // not_before of a later one
}

// Heads implements [store.URLs].
func (s *Store) Heads(ctx context.Context, now time.Time, wants []store.Want) ([]visit.Item, error) {
	if len(wants) > store.MaxWants {
		return nil, fmt.Errorf("heads of %d queues, at most %d", len(wants), store.MaxWants)
	}
	heads, err := s.heads(ctx, now, wants)
	if err != nil {
		return nil, fmt.Errorf("heads of %d queues: %w", len(wants), wrap(err))
	}
	slices.SortFunc(heads, func(x, y headItem) int {
		return cmp.Or(cmp.Compare(x.want, y.want), compareBool(x.later, y.later), cmp.Compare(x.sortedBy, y.sortedBy), cmp.Compare(x.rank, y.rank), cmp.Compare(x.id, y.id))
	})
	items := make([]visit.Item, len(heads))
	for i := range heads {
		items[i] = heads[i].Item
	}
	return items, nil
}

func compareBool(x, y bool) int {
	switch {
	case x == y:
		return 0
	case y:
		return -1
	default:
		return 1
	}
}

// heads reads the heads, unordered: items that are due, and later ones if these are too
// few.
func (s *Store) heads(ctx context.Context, now time.Time, wants []store.Want) ([]headItem, error) {
	byTables, refs, err := s.wanted(ctx, wants)
	if err != nil {
		return nil, err
	}
	left := make([]int, len(wants))
	for i, w := range wants {
		left[i] = max(w.Max, 0)
	}
	var all []headItem
	for jt, places := range byTables {
		for _, later := range []bool{false, true} {
			places = slices.DeleteFunc(places, func(i int) bool { return left[i] == 0 })
			items, err := s.headsOf(ctx, jt, now, wants, refs, left, places, later)
			if code(err) == codeNoTable {
				break // the job was dropped: nothing of it waits any more
			}
			if err != nil {
				return nil, err
			}
			all = append(all, items...)
		}
		places = slices.DeleteFunc(places, func(i int) bool { return left[i] == 0 })
		if moved, err := s.findMoved(ctx, jt, wants, places); err != nil {
			return nil, err
		} else if moved {
			return s.heads(ctx, now, wants)
		}
	}
	return all, nil
}

// wanted finds the tables and hosts of wants, by their index in the list. Those with an
// unknown job or host are left out.
func (s *Store) wanted(ctx context.Context, wants []store.Want) (map[*jobTables][]int, map[string]hostRef, error) {
	names, jobs := make(map[string]bool, len(wants)), map[job.ID]bool{}
	for _, w := range wants {
		names[w.Host], jobs[w.Job] = true, true
	}
	refs, err := s.hostRefs(ctx, names, false)
	if err != nil {
		return nil, nil, err
	}
	tables, err := s.tablesOfJobs(ctx, keys(jobs))
	if err != nil {
		return nil, nil, err
	}
	byTables := map[*jobTables][]int{}
	for i, w := range wants {
		if jt := tables[w.Job]; jt != nil && refs[w.Host].id != 0 {
			byTables[jt] = append(byTables[jt], i)
		}
	}
	return byTables, refs, nil
}

func keys[K comparable](m map[K]bool) []K {
	list := make([]K, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	return list
}

// headsOf reads the heads of queues in one set of tables, and decreases left by what was
// read of each.
func (s *Store) headsOf(ctx context.Context, jt *jobTables, now time.Time, wants []store.Want, refs map[string]hostRef, left, places []int, later bool) ([]headItem, error) {
	n := len(places)
	if n == 0 {
		return nil, nil
	}
	ords, hosts, jobs, slots, most := make([]int32, n), make([]int64, n), make([]int32, n), make([]int16, n), make([]int32, n)
	for at, i := range places {
		ref := refs[wants[i].Host]
		ords[at], hosts[at], jobs[at], slots[at], most[at] = int32(i), ref.id, int32(wants[i].Job), int16(ref.slot), int32(left[i])
	}
	query := jt.head
	if later {
		query = jt.headLater
	}
	r, err := s.reading(ctx).Query(ctx, query, now.UnixMilli(), ords, hosts, jobs, slots, most)
	if err != nil {
		return nil, err
	}
	var items []headItem
	var row itemRow
	h := headItem{later: later}
	_, err = pgx.ForEachRow(r, append([]any{&h.want, &h.rank, &h.id, &row.tries, &row.notBefore}, row.targets()...), func() error {
		row.host = wants[h.want].Host
		it, err := row.item(wants[h.want].Job)
		h.Item = it
		if later {
			h.sortedBy = row.notBefore
		}
		left[h.want]--
		items = append(items, h)
		return err
	})
	return items, err
}

// Lookup implements [store.URLs].
func (s *Store) Lookup(ctx context.Context, id job.ID, u weburl.URL) (store.Entry, error) {
	var entry store.Entry
	err := s.readURL(ctx, id, u, func(tx pgx.Tx, jt *jobTables, row *entryRow, e *store.Entry) (err error) {
		entry = *e
		entry.Attempts, err = s.attempts(ctx, tx, jt, row.id, &entry.Item)
		return err
	})
	if err != nil {
		return store.Entry{}, fmt.Errorf("look up %s in job %d: %w", u, id, s.goneJob(ctx, id, err))
	}
	return entry, nil
}

// readURL reads what is known about one URL, without its attempts, and calls then in the same
// transaction.
func (s *Store) readURL(ctx context.Context, id job.ID, u weburl.URL, then func(pgx.Tx, *jobTables, *entryRow, *store.Entry) error) error {
	refs, err := s.hostRefs(ctx, map[string]bool{u.Host(): true}, false)
	if err != nil {
		return err
	}
	ref, ok := refs[u.Host()]
	if !ok {
		return store.ErrNotFound
	}
	return s.readJob(ctx, id, func(tx pgx.Tx, jt *jobTables) error {
		var row entryRow
		err := tx.QueryRow(ctx, jt.lookup, int32(id), int16(ref.slot), ref.id, [16]byte(u.Fingerprint128(s.key))).Scan(row.targets()...)
		if noRows(err) {
			return store.ErrNotFound
		}
		if err != nil {
			return err
		}
		list, err := s.entries(ctx, tx, id, []entryRow{row})
		if err != nil {
			return err
		}
		return then(tx, jt, &row, &list[0])
	})
}

// readJob runs a query of several statements on a job in one snapshot, with the tables that
// the job has in it.
func (s *Store) readJob(ctx context.Context, id job.ID, do func(tx pgx.Tx, jt *jobTables) error) error {
	return s.read(ctx, func(tx pgx.Tx) error {
		var tables int32
		err := tx.QueryRow(ctx, "select shelf from job where id = $1", number(id)).Scan(&tables)
		if noRows(err) {
			return fmt.Errorf("job %d: %w", id, store.ErrNotFound)
		}
		if err != nil {
			return err
		}
		return do(tx, s.rememberTables(id, tables))
	})
}

// attempts reads the attempts at a URL that did not end it.
func (s *Store) attempts(ctx context.Context, tx pgx.Tx, jt *jobTables, url int64, it *visit.Item) ([]visit.Visit, error) {
	r, err := tx.Query(ctx, jt.attempts, url)
	if err != nil {
		return nil, err
	}
	texts, err := pgx.CollectRows(r, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	items := make([]visit.Item, len(texts))
	for i := range items {
		items[i] = *it
	}
	return unfinished(ctx, tx, items, texts)
}

// goneJob turns the error of a query whose job was dropped meanwhile into ErrNotFound.
func (s *Store) goneJob(ctx context.Context, id job.ID, err error) error {
	return s.gone(ctx, &needs{jobs: map[job.ID]bool{id: true}}, err)
}

// List implements [store.URLs]. The order depends on the query: by
// host and fingerprint, by queue for what waits, by age for what ended.
func (s *Store) List(ctx context.Context, q store.Query) (store.Page, error) {
	var page store.Page
	// Before the transaction: calls that each wait for a second connection would wait for
	// each other.
	var refs map[string]hostRef
	if q.Host != "" {
		var err error
		if refs, err = s.hostRefs(ctx, map[string]bool{q.Host: true}, false); err != nil {
			return page, fmt.Errorf("list job %d: %w", q.Job, err)
		}
	}
	err := s.readJob(ctx, q.Job, func(tx pgx.Tx, jt *jobTables) error {
		l := lister{Store: s, tx: tx, jt: jt, q: q, refs: refs, max: min(max(q.Max, 1), store.MaxPage)}
		if err := l.list(ctx); err != nil {
			return err
		}
		if len(l.rows) == 0 {
			return nil
		}
		entries, err := s.entries(ctx, tx, q.Job, l.rows)
		page = store.Page{Entries: entries, Next: l.next}
		n := len(entries)
		if err == nil && q.Texts {
			n, err = s.readTexts(ctx, tx, jt, l.rows, entries)
		}
		if err == nil && q.Links {
			n, err = s.readLinks(ctx, tx, jt, l.rows, entries[:n])
		}
		if err == nil && n < len(entries) {
			page = store.Page{Entries: entries[:n], Next: l.cursors[n-1]}
		}
		return err
	})
	if err != nil {
		return store.Page{}, fmt.Errorf("list job %d: %w", q.Job, s.goneJob(ctx, q.Job, err))
	}
	return page, nil
}

// lister reads one page of a list.
type lister struct {
	*Store
	tx   pgx.Tx
	jt   *jobTables
	q    store.Query
	refs map[string]hostRef // of its host, if it was ever seen
	max  int
	rows []entryRow
	next store.Cursor
	// cursors are those of the rows, if texts may end the page before the last.
	cursors []store.Cursor
}

func (l *lister) list(ctx context.Context) error {
	endings := l.endingsOf(l.q)
	shared := l.jt.id == 0
	switch {
	case l.q.Host != "":
		return l.host(ctx, endings)
	case keysCursor.MatchString(string(l.q.After)): // the list may have begun in the shared tables
		return l.keys(ctx, endings)
	case l.q.Outcome == visit.Pending && !shared:
		return l.waiting(ctx)
	case (l.q.Outcome != "" || l.q.Reason != "") && !(shared && slices.ContainsFunc(endings, func(e int16) bool { return e <= 1 })):
		return l.ended(ctx, endings)
	default:
		return l.keys(ctx, endings)
	}
}

// endingsOf returns the numbers of the endings that a query selects, in order; 0 means
// waiting.
func (s *Store) endingsOf(q store.Query) []int16 {
	list := []int16{}
	if (q.Outcome == "" || q.Outcome == visit.Pending) && q.Reason == "" {
		list = append(list, tallyWaiting)
	}
	for e, n := range s.endings {
		if (q.Outcome == "" || q.Outcome == e.Outcome) && (q.Reason == "" || q.Reason == e.Reason) {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

// fetch adds rows to the page, one more than fits to see whether there is a next page; place
// makes a cursor from the last.
func (l *lister) fetch(ctx context.Context, place func(r *entryRow) string, query string, args ...any) error {
	room := l.max - len(l.rows)
	r, err := l.tx.Query(ctx, query, append(args, room+1)...)
	if err != nil {
		return err
	}
	var row entryRow
	n := 0
	_, err = pgx.ForEachRow(r, row.targets(), func() error {
		if n++; n <= room {
			l.rows = append(l.rows, row)
			if l.q.Texts || l.q.Links {
				l.cursors = append(l.cursors, store.Cursor(place(&row)))
			}
			row.visit = nil
		}
		return nil
	})
	if err == nil && n > room {
		l.next = store.Cursor(place(&l.rows[len(l.rows)-1]))
	}
	return err
}

func (l *lister) badCursor() error {
	return fmt.Errorf("cursor %q does not belong to this list", l.q.After)
}

// lowest is the smallest fingerprint.
const lowest = "00000000000000000000000000000000"

// keysCursor matches the cursors of keys, and of no other order.
var keysCursor = regexp.MustCompile(`^\d+ [0-9a-f]{32}$`)

// keys lists by host and fingerprint.
func (l *lister) keys(ctx context.Context, endings []int16) error {
	host, fp := int64(0), lowest
	if l.q.After != "" {
		if _, err := fmt.Sscanf(string(l.q.After), "%d %s", &host, &fp); err != nil {
			return l.badCursor()
		}
	}
	raw, err := fingerprint(fp)
	if err != nil {
		return l.badCursor()
	}
	place := func(r *entryRow) string { return fmt.Sprintf("%d %x", r.host, r.fp) }
	return l.fetch(ctx, place, l.jt.listKeys, int32(l.q.Job), host, raw, endings)
}

func fingerprint(text string) (fp [16]byte, err error) {
	raw, err := hex.DecodeString(text)
	if err == nil && len(raw) != len(fp) {
		err = fmt.Errorf("fingerprint of %d bytes", len(raw))
	}
	copy(fp[:], raw)
	return fp, err
}

// host lists one host: what waits in the order of its queue, else by fingerprint.
func (l *lister) host(ctx context.Context, endings []int16) error {
	ref, ok := l.refs[l.q.Host]
	if !ok {
		return nil // no URL of it was seen
	}
	if len(endings) == 1 && endings[0] == tallyWaiting {
		return l.hostQueue(ctx, ref)
	}
	raw, err := fingerprint(cmp.Or(string(l.q.After), lowest))
	if err != nil {
		return l.badCursor()
	}
	place := func(r *entryRow) string { return hex.EncodeToString(r.fp[:]) }
	return l.fetch(ctx, place, l.jt.listHost, int32(l.q.Job), int16(ref.slot), ref.id, raw, endings)
}

// hostQueue lists what waits on one host, without reading what has ended there.
func (l *lister) hostQueue(ctx context.Context, ref hostRef) error {
	rank, id := int32(math.MinInt32), int64(0)
	if l.q.After != "" {
		if _, err := fmt.Sscanf(string(l.q.After), "%d %d", &rank, &id); err != nil {
			return l.badCursor()
		}
	}
	place := func(r *entryRow) string { return fmt.Sprintf("%d %d", r.rank, r.id) }
	return l.fetch(ctx, place, l.jt.listHostQueue, int32(l.q.Job), int16(ref.slot), ref.id, rank, id)
}

// waiting lists the queues of a set of tables with a single job.
func (l *lister) waiting(ctx context.Context) error {
	if l.q.Reason != "" {
		return nil // what waits has none
	}
	var host, id int64
	var rank int32
	if l.q.After != "" {
		if _, err := fmt.Sscanf(string(l.q.After), "%d %d %d", &host, &rank, &id); err != nil {
			return l.badCursor()
		}
	}
	place := func(r *entryRow) string { return fmt.Sprintf("%d %d %d", r.host, r.rank, r.id) }
	return l.fetch(ctx, place, l.jt.listQueue, int32(l.q.Job), host, rank, id)
}

// ended lists one ending after the other, each by age.
func (l *lister) ended(ctx context.Context, endings []int16) error {
	var ending int16
	var after int64
	if l.q.After != "" {
		if _, err := fmt.Sscanf(string(l.q.After), "%d %d", &ending, &after); err != nil {
			return l.badCursor()
		}
	}
	for _, e := range endings {
		if e < ending || e == tallyWaiting {
			continue
		}
		if e > ending {
			after = 0
		}
		query := l.jt.listEnding
		if e == 1 {
			query = l.jt.listFetched // too many for an index to be worth its size
		}
		place := func(r *entryRow) string { return fmt.Sprintf("%d %d", e, r.id) }
		if err := l.fetch(ctx, place, query, int32(l.q.Job), e, after); err != nil {
			return err
		}
		if l.next != "" {
			break
		}
		if len(l.rows) == l.max {
			// The page is full: the next page begins after this ending.
			l.next = store.Cursor(fmt.Sprintf("%d 0", e+1))
			break
		}
	}
	return nil
}

// Arrivals implements [store.URLs].
func (s *Store) Arrivals(ctx context.Context, w store.WorkerID, most int) ([]store.Arrival, error) {
	var list []store.Arrival
	err := s.single(ctx, `with mine as (select a.slot, a.host, a.job from slot s join arrival a on a.slot = s.id where s.owner = $1 limit $2),
			taken as (delete from arrival a using mine m where a.slot = m.slot and a.host = m.host and a.job = m.job returning a.host, a.job)
		select h.name, t.job from taken t join host h on h.id = t.host`, []any{w, max(most, 0)}, func(r pgx.Rows) error {
		list = nil
		var a store.Arrival
		return rows([]any{&a.Host, &a.Job}, func() error {
			list = append(list, a)
			return nil
		})(r)
	})
	if err != nil {
		return nil, fmt.Errorf("arrivals of worker %d: %w", w, err)
	}
	slices.SortFunc(list, func(a, b store.Arrival) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Job, b.Job)) })
	return list, nil
}
