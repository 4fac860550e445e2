package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"
	"fmt"
	"time"

	"headway/job"
	"headway/store"
	"headway/store/internal/record"
	"headway/visit"
	"headway/weburl"
)

// Reopen implements [store.Jobs].
func (s *Store) Reopen(ctx context.Context, now time.Time, id job.ID, urls []weburl.URL) (int, error) {
	if len(urls) > store.MaxFound {
		return 0, fmt.Errorf("reopen %d URLs, at most %d", len(urls), store.MaxFound)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var n, pages int
	err := s.changeLocked(ctx, func(ctx context.Context) error {
		t, err := s.tables(id)
		if err != nil {
			return err
		}
		b := newBatch(s, now, 0)
		if n, pages, err = b.reopen(ctx, t, urls); err != nil {
			return err
		}
		return b.finish(ctx)
	})
	if err != nil {
		return 0, fmt.Errorf("reopen %d URLs of job %d: %w", len(urls), id, err)
	}
	s.ledger.Restore(id, int64(pages))
	return n, nil
}

// reopened is an ended URL that is about to wait again.
type reopened struct {
	url      weburl.URL
	id, rank int64
	ending   int64
	visit    string // empty if it ended without a visit
}

// reopen sets URLs back to waiting, and returns how many, and how many of them were pages.
func (b *batch) reopen(ctx context.Context, t *jobTables, urls []weburl.URL) (n, pages int, err error) {
	for _, u := range urls {
		b.refs[u.Host()] = hostRef{}
	}
	if err := b.resolve(ctx, false); err != nil {
		return 0, 0, err
	}
	list, err := b.ended(ctx, t, urls)
	if err != nil || len(list) == 0 {
		return 0, 0, err
	}
	if err := b.keepEnded(ctx, t, list); err != nil {
		return 0, 0, err
	}
	if err := b.dropTexts(ctx, t, list); err != nil {
		return 0, 0, err
	}
	if err := b.dropLinks(ctx, t, list); err != nil {
		return 0, 0, err
	}
	_, err = b.w.bulk(ctx, &t.forgetOutcome, len(list), func(i int, args []driver.NamedValue) { args[0].Value = list[i].id }, func([]driver.Value) error { return nil })
	if err != nil {
		return 0, 0, err
	}
	_, err = b.w.bulk(ctx, &t.requeue, len(list), func(i int, args []driver.NamedValue) {
		fp := list[i].url.Fingerprint128(b.key)
		args[0].Value, args[1].Value, args[2].Value = b.refs[list[i].url.Host()].id, fp[:], list[i].rank
	}, nil)
	if err != nil {
		return 0, 0, err
	}
	_, err = b.w.bulk(ctx, &t.enqueue, len(list), func(i int, args []driver.NamedValue) {
		ref := b.refs[list[i].url.Host()]
		args[0].Value, args[1].Value, args[2].Value, args[3].Value, args[4].Value = ref.id, list[i].rank, list[i].id, int64(0), int64(0)
		b.arrive(t.id, ref)
	}, nil)
	for i := range list {
		b.count(t.id, list[i].ending, -1)
		if b.ending[list[i].ending].Outcome.Page() {
			pages++
		}
	}
	b.admit(t.id, int64(len(list)))
	return len(list), pages, err
}

// ended finds those of the URLs that have ended, each once.
func (b *batch) ended(ctx context.Context, t *jobTables, urls []weburl.URL) ([]reopened, error) {
	var known []weburl.URL
	for _, u := range urls {
		if b.refs[u.Host()].id != 0 {
			known = append(known, u)
		}
	}
	var list []reopened
	once := map[int64]bool{}
	_, err := b.w.bulk(ctx, &t.reopen, len(known), func(i int, args []driver.NamedValue) {
		fp := known[i].Fingerprint128(b.key)
		args[0].Value, args[1].Value, args[2].Value = b.refs[known[i].Host()].id, fp[:], int64(i)
	}, func(row []driver.Value) error {
		u, id := known[integer(row[0])], integer(row[1])
		if once[id] {
			return nil
		}
		once[id] = true
		it := visit.Item{URL: u, Depth: int(integer(row[4])), Priority: int(integer(row[5]))}
		list = append(list, reopened{url: u, id: id, rank: int64(store.Rank(&it)), ending: integer(row[2]), visit: text(row[3])})
		return nil
	})
	return list, err
}

// keepEnded makes the visits that ended URLs the latest of their attempts. The row with
// the ending is deleted, so the record stores it.
func (b *batch) keepEnded(ctx context.Context, t *jobTables, list []reopened) error {
	var ids []int64
	var texts []string
	var buf bytes.Buffer
	for i := range list {
		if list[i].visit == "" {
			continue
		}
		text, err := record.Ended[int64](list[i].visit, b.ending[list[i].ending], &buf)
		if err != nil {
			return fmt.Errorf("visit of %s: %w", list[i].url, err)
		}
		ids, texts = append(ids, list[i].id), append(texts, text)
	}
	return b.addAttempts(ctx, t, ids, texts)
}
