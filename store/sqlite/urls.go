package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Heads implements [store.URLs].
func (s *Store) Heads(ctx context.Context, now time.Time, wants []store.Want) ([]visit.Item, error) {
	if len(wants) > store.MaxWants {
		return nil, fmt.Errorf("heads of %d queues, at most %d", len(wants), store.MaxWants)
	}
	var items []visit.Item
	err := s.ask(ctx, func(c *conn) error {
		for _, w := range wants {
			t, err := s.tablesOf(ctx, w.Job)
			if err == nil {
				items, err = head(ctx, c, t, now.UnixMilli(), w, items)
			}
			if err == nil {
				continue
			}
			if _, dropped := s.tablesOf(ctx, w.Job); dropped == nil {
				return err
			} // else nothing of it waits any more
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("heads of %d queues: %w", len(wants), err)
	}
	return items, nil
}

// head appends the head of one queue to items.
func head(ctx context.Context, c *conn, t *jobTables, now int64, w store.Want, items []visit.Item) ([]visit.Item, error) {
	left := w.Max
	scan := func(row []driver.Value) error {
		row[0] = w.Host + text(row[0])
		it, err := scanItem(w.Job, row)
		items = append(items, it)
		left--
		return err
	}
	if err := c.query(ctx, t.head, []driver.Value{w.Host, now, int64(left)}, scan); err != nil || left <= 0 {
		return items, err
	}
	return items, c.query(ctx, t.headLater, []driver.Value{w.Host, now, int64(left)}, scan)
}

// Lookup implements [store.URLs].
func (s *reader) Lookup(ctx context.Context, id job.ID, u weburl.URL) (store.Entry, error) {
	var entry store.Entry
	err := s.askJob(ctx, id, func(c *conn, t *jobTables) error {
		var number int64
		var err error
		if entry, number, err = s.entryOf(ctx, c, t, u); err != nil {
			return err
		}
		entry.Attempts, err = attempts(ctx, c, t, number, entry.Item)
		return err
	})
	if err != nil {
		return store.Entry{}, fmt.Errorf("look up %s in job %d: %w", u, id, err)
	}
	return entry, nil
}

// entryOf reads what is known about one URL, without its attempts, and its number.
func (s *reader) entryOf(ctx context.Context, c *conn, t *jobTables, u weburl.URL) (store.Entry, int64, error) {
	fp := u.Fingerprint128(s.key)
	var e store.Entry
	var r rest
	found := false
	err := c.query(ctx, t.lookup, []driver.Value{u.Host(), fp[:]}, func(row []driver.Value) (err error) {
		found = true
		e, r, err = s.scanEntry(t.id, row)
		return err
	})
	if err != nil {
		return store.Entry{}, 0, err
	}
	if !found {
		return store.Entry{}, 0, store.ErrNotFound
	}
	err = r.decode(ctx, c, &e)
	return e, integer(r.last), err
}

// Aside implements [store.Reader]. The slot in which a URL was found is part of the key, so
// each slot is searched.
func (s *reader) Aside(ctx context.Context, id job.ID, u weburl.URL) (bool, error) {
	found := false
	fp := u.Fingerprint128(s.key)
	err := s.askJob(ctx, id, func(c *conn, t *jobTables) error {
		_, err := c.bulk(ctx, &t.aside, store.SlotCount, func(i int, args []driver.NamedValue) {
			args[0].Value, args[1].Value = int64(i), fp[:]
		}, func([]driver.Value) error {
			found = true
			return nil
		})
		return err
	})
	if err != nil {
		return false, fmt.Errorf("look up %s aside in job %d: %w", u, id, err)
	}
	return found, nil
}

// attempts reads the attempts at a URL that did not end it.
func attempts(ctx context.Context, c *conn, t *jobTables, id int64, it visit.Item) ([]visit.Visit, error) {
	var texts []string
	err := c.query(ctx, t.attempts, []driver.Value{id}, func(row []driver.Value) error {
		texts = append(texts, text(row[0]))
		return nil
	})
	var list []visit.Visit
	for _, data := range texts {
		v, err := decode(ctx, c, data, it, store.Ending{Outcome: visit.Pending})
		if err != nil {
			return nil, err
		}
		list = append(list, *v)
	}
	return list, err
}

// List implements [store.URLs]. The order depends on the query: by age, by fingerprint on
// one host, by queue for what waits.
func (s *reader) List(ctx context.Context, q store.Query) (store.Page, error) {
	var page store.Page
	err := s.askJob(ctx, q.Job, func(c *conn, t *jobTables) error {
		l := lister{reader: s, c: c, t: t, q: q, max: min(max(q.Max, 1), store.MaxPage)}
		err := l.read(ctx)
		page = l.page
		return err
	})
	if err != nil {
		return store.Page{}, fmt.Errorf("list job %d: %w", q.Job, err)
	}
	return page, nil
}

// endingsOf returns the numbers of the endings that a query selects, in order; 0 means
// waiting.
func (s *reader) endingsOf(q store.Query) []int64 {
	var list []int64
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

// lister reads one page of a list.
type lister struct {
	*reader
	c    *conn
	t    *jobTables
	q    store.Query
	max  int
	page store.Page

	texts bool // texts are wanted, and there may be some
	links bool // links are wanted, and there may be some
	size  int  // of those in the page
}

// read reads the page.
func (l *lister) read(ctx context.Context) error {
	if !l.q.Texts && !l.q.Links {
		return l.list(ctx)
	}
	return l.c.snapshot(ctx, func() error {
		texts, err := hasTexts(ctx, l.c, l.t)
		if err != nil {
			return err
		}
		links, err := hasLinks(ctx, l.c, l.t)
		if err != nil {
			return err
		}
		l.texts, l.links = l.q.Texts && texts, l.q.Links && links
		return l.list(ctx)
	})
}

func (l *lister) list(ctx context.Context) error {
	switch endings := l.endingsOf(l.q); {
	case l.q.Host != "":
		return l.host(ctx, endings)
	case l.q.Outcome == visit.Pending:
		return l.waiting(ctx)
	case l.q.Outcome != "" || l.q.Reason != "":
		return l.ended(ctx, endings)
	default:
		return l.all(ctx)
	}
}

// fetch adds entries to the page, one more than fits to see whether there is a next page;
// place makes a cursor from the last column.
func (l *lister) fetch(ctx context.Context, query string, args []driver.Value, place func(last driver.Value) string) error {
	had := len(l.page.Entries)
	room := l.max - had
	args[1] = int64(room + 1)
	var rests []rest
	err := l.c.query(ctx, query, args, func(row []driver.Value) error {
		e, r, err := l.scanEntry(l.q.Job, row)
		l.page.Entries, rests = append(l.page.Entries, e), append(rests, r)
		return err
	})
	if err != nil {
		return err
	}
	if len(rests) > room {
		rests = rests[:room]
		l.page.Next = store.Cursor(place(rests[room-1].last))
	}
	l.page.Entries = l.page.Entries[:had+len(rests)]
	for i := range rests {
		e := &l.page.Entries[had+i]
		if err := rests[i].decode(ctx, l.c, e); err != nil {
			return err
		}
		if l.texts {
			if err := l.readTexts(ctx, l.c, l.t, e.Visit); err != nil {
				return err
			}
		}
		if l.links {
			if err := l.readLinks(ctx, l.c, l.t, e.Visit); err != nil {
				return err
			}
		}
		if e.Visit != nil {
			l.size += e.Visit.BulkSize()
		}
		if l.size >= store.MaxTexts && i < len(rests)-1 {
			l.page.Entries = l.page.Entries[:had+i+1]
			l.page.Next = store.Cursor(place(rests[i].last))
			return nil
		}
	}
	return nil
}

func (l *lister) badCursor() error {
	return fmt.Errorf("cursor %q does not belong to this list", l.q.After)
}

func number(v driver.Value) string { return strconv.FormatInt(integer(v), 10) }

// all lists by age.
func (l *lister) all(ctx context.Context) error {
	var after int64
	if l.q.After != "" {
		var err error
		if after, err = strconv.ParseInt(string(l.q.After), 10, 64); err != nil {
			return l.badCursor()
		}
	}
	return l.fetch(ctx, l.t.listAll, []driver.Value{after, nil}, number)
}

// host lists one host by fingerprint.
func (l *lister) host(ctx context.Context, endings []int64) error {
	after, err := hex.DecodeString(string(l.q.After))
	if err != nil {
		return l.badCursor()
	}
	args := []driver.Value{notNil(after), nil, l.q.Host, nil}
	if l.q.Outcome != "" || l.q.Reason != "" {
		set, err := json.Marshal(append([]int64{}, endings...))
		if err != nil {
			return err
		}
		args[3] = string(set)
	}
	return l.fetch(ctx, l.t.listHost, args, func(last driver.Value) string { return hex.EncodeToString(blob(last)) })
}

// waiting lists the queues.
func (l *lister) waiting(ctx context.Context) error {
	if l.q.Reason != "" {
		return nil // what waits has none
	}
	var host, rank, id int64
	if l.q.After != "" {
		if _, err := fmt.Sscanf(string(l.q.After), "%d %d %d", &host, &rank, &id); err != nil {
			return l.badCursor()
		}
	}
	return l.fetch(ctx, l.t.listWaiting, []driver.Value{host, nil, rank, id}, text)
}

// ended lists one ending after the other, each by age.
func (l *lister) ended(ctx context.Context, endings []int64) error {
	var ending, after int64
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
		query := l.t.listEnding
		if e == 1 {
			query = l.t.listFetched // too many for an index to be worth its size
		}
		place := func(last driver.Value) string { return fmt.Sprintf("%d %d", e, integer(last)) }
		if err := l.fetch(ctx, query, []driver.Value{after, nil, e}, place); err != nil {
			return err
		}
		if l.page.Next != "" {
			break
		}
		if len(l.page.Entries) == l.max {
			// The page is full: the next page begins after this ending.
			l.page.Next = store.Cursor(fmt.Sprintf("%d 0", e+1))
			break
		}
	}
	return nil
}

// Arrivals implements [store.URLs].
func (s *Store) Arrivals(ctx context.Context, w store.WorkerID, limit int) ([]store.Arrival, error) {
	var list []store.Arrival
	err := s.change(ctx, func(ctx context.Context) error {
		type pair struct{ host, job int64 }
		var pairs []pair
		err := s.w.query(ctx, "select a.host, a.job, h.host, h.slot from arrival a join host h on h.id = a.host", nil, func(row []driver.Value) error {
			if len(list) < limit && s.ledger.Slots[integer(row[3])].Owner == w {
				pairs = append(pairs, pair{integer(row[0]), integer(row[1])})
				list = append(list, store.Arrival{Host: text(row[2]), Job: job.ID(integer(row[1]))})
			}
			return nil
		})
		if err != nil {
			return err
		}
		_, err = s.w.bulk(ctx, &dropArrivals, len(pairs), func(i int, args []driver.NamedValue) {
			args[0].Value, args[1].Value = pairs[i].host, pairs[i].job
		}, nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("arrivals of worker %d: %w", w, err)
	}
	slices.SortFunc(list, compareArrivals)
	return list, nil
}

var dropArrivals = newBulk(`delete from arrival where (host, job) in (values `, `(?,?)`, `)`)
