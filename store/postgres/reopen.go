package postgres

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"headway/job"
	"headway/store"
	"headway/store/internal/record"
	"headway/weburl"
)

// Reopen implements [store.Jobs]. No commit of the job runs meanwhile, so used and free
// tokens change together.
func (s *Store) Reopen(ctx context.Context, now time.Time, id job.ID, urls []weburl.URL) (int, error) {
	if len(urls) > store.MaxFound {
		return 0, fmt.Errorf("reopen %d URLs, at most %d", len(urls), store.MaxFound)
	}
	n := newNeeds()
	n.jobs[id] = true
	if err := s.resolve(ctx, n); err != nil {
		return 0, fmt.Errorf("reopen URLs of job %d: %w", id, err)
	}
	if n.tables[id] == nil {
		return 0, fmt.Errorf("reopen URLs of job %d: %w", id, store.ErrNotFound)
	}
	names := map[string]bool{}
	for _, u := range urls {
		names[u.Host()] = true
	}
	var err error
	if n.refs, err = s.hostRefs(ctx, names, false); err != nil {
		return 0, fmt.Errorf("reopen URLs of job %d: %w", id, err)
	}
	var beside []sideTable // those that exist
	for _, t := range []sideTable{texts, links} {
		there, err := s.hasSideTable(ctx, s.reading(ctx), n.tables[id], t)
		if err != nil {
			return 0, fmt.Errorf("reopen URLs of job %d: %w", id, err)
		}
		if there {
			beside = append(beside, t)
		}
	}
	var b *batch
	var count int
	err = s.change(ctx, func(ctx context.Context, c *change) (err error) {
		c.lockJob(int32(id))
		b = newBatch(c, now, 0, n)
		count, err = b.reopen(ctx, id, urls, beside)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("reopen %d URLs of job %d: %w", len(urls), id, s.gone(ctx, n, err))
	}
	b.committed(ctx)
	return count, nil
}

// reopen sets URLs back to waiting and keeps the visits that had ended them, without what was
// stored beside them.
func (b *batch) reopen(ctx context.Context, id job.ID, urls []weburl.URL, beside []sideTable) (int, error) {
	jt := b.tables[id]
	var hosts []int64
	var fps [][16]byte
	var slots []int16
	for _, u := range urls {
		if ref := b.refs[u.Host()]; ref.id != 0 {
			hosts, fps, slots = append(hosts, ref.id), append(fps, u.Fingerprint128(b.s.key)), append(slots, int16(ref.slot))
		}
	}
	var (
		url, pages int64
		ref        hostRef
		ending     int16
		visit      string
		n          int
		kept       []int64
		texts      []string
		buf        bytes.Buffer
	)
	b.queue(jt.reopen, int32(id), hosts, fps, slots).Query(rows([]any{&url, &ref.id, &ref.slot, &ending, &visit}, func() error {
		n++
		b.count(id, ending, -1)
		b.admit(id, ref)
		e := b.s.ending[ending]
		if e.Outcome.Page() {
			pages++
		}
		if visit == "" {
			return nil
		}
		text, err := record.Ended[factID](visit, e, &buf)
		kept, texts = append(kept, url), append(texts, text)
		return err
	}))
	if err := b.send(ctx); err != nil {
		return 0, err
	}
	if err := b.must(id); err != nil {
		return 0, err
	}
	if len(kept) > 0 {
		b.exec(jt.keepEnded, int32(id), kept, texts)
		b.exec(jt.trimAttempts, kept)
		for _, t := range beside {
			b.exec(forTables("delete from "+t.table+" where url = any($1::bigint[])", jt.id), kept)
		}
	}
	if pages > 0 { // a job without a limit has no account
		b.exec("update account set free = free + $2 where job = $1", int32(id), pages)
	}
	b.finish()
	return n, nil
}
