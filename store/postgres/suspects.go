package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
	"headway/weburl"
)

var _ store.Suspects = (*Store)(nil)

// Watch implements [store.Suspects].
func (s *Store) Watch(ctx context.Context, w store.WorkerID, begun, done []store.Suspect) error {
	if err := store.CheckWatched(begun, done); err != nil {
		return err
	}
	over, next := s.watchColumns(done), s.watchColumns(begun)
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		// Nothing depends on a record that survives a crash of the server.
		c.exec("set local synchronous_commit = off")
		c.queue(lockWorker, w).Exec(affected(1, errf("%w", store.ErrFenced)))
		if err := c.send(ctx); err != nil {
			return err
		}
		if len(done) > 0 {
			c.exec("delete from suspect s using unnest($2::int[], $3::uuid[]) as w (job, fp) where s.job = w.job and s.fp = w.fp and s.worker in (0, $1)", w, over.jobs, over.fps)
		}
		if len(begun) > 0 {
			c.lockJobs(next.jobs)
			c.exec(`insert into suspect (job, fp, slot, deaths, worker, url)
				select w.job, w.fp, w.slot, 1, $1, w.url from unnest($2::int[], $3::uuid[], $4::smallint[], $5::text[]) as w (job, fp, slot, url) join job j on j.id = w.job
				on conflict (job, fp) do update set worker = excluded.worker`, w, next.jobs, next.fps, next.slots, next.urls)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("worker %d watches %d URLs: %w", w, len(begun), err)
	}
	return nil
}

// watchColumns are watched URLs as columns.
type watchColumns struct {
	jobs  []int32
	fps   [][16]byte
	slots []int16
	urls  []string
}

// watchColumns returns URLs as columns in the order of the key, so that two workers do not
// lock rows in different orders. A URL that is named twice is listed once.
func (s *Store) watchColumns(list []store.Suspect) watchColumns {
	type row struct {
		fp weburl.Fingerprint128
		store.Suspect
	}
	order := make([]row, len(list))
	for i, u := range list {
		order[i] = row{u.URL.Fingerprint128(s.key), u}
	}
	compare := func(a, b row) int { return cmp.Or(cmp.Compare(a.Job, b.Job), slices.Compare(a.fp[:], b.fp[:])) }
	slices.SortFunc(order, compare)
	order = slices.CompactFunc(order, func(a, b row) bool { return compare(a, b) == 0 })
	var c watchColumns
	for _, r := range order {
		c.jobs, c.fps = append(c.jobs, number(r.Job)), append(c.fps, r.fp)
		c.slots, c.urls = append(c.slots, int16(store.SlotOf(s.key, r.URL.Domain()))), append(c.urls, r.URL.String())
	}
	return c
}

// Suspicions implements [store.Suspects].
func (s *Store) Suspicions(ctx context.Context, slots []store.Slot) (store.Suspicions, error) {
	got := store.Suspicions{Died: map[store.Slot]time.Time{}}
	ids := make([]int16, len(slots))
	for i, slot := range slots {
		ids[i] = int16(slot)
	}
	err := s.read(ctx, func(tx pgx.Tx) error {
		r, err := tx.Query(ctx, "select id, died_at from slot where id = any($1::smallint[]) and died_at is not null", ids)
		if err != nil {
			return err
		}
		var slot store.Slot
		var at int64
		if _, err = pgx.ForEachRow(r, []any{&slot, &at}, func() error { got.Died[slot] = instant(at); return nil }); err != nil {
			return err
		}
		r, err = tx.Query(ctx, `select s.job, s.url, s.deaths from suspect s join job j on j.id = s.job
			where s.slot = any($1::smallint[]) and s.deaths > 1 and j.state in ('queued', 'running', 'paused', 'draining')
			order by s.deaths desc, s.job, s.url collate "C" limit $2`, ids, store.MaxSuspects)
		if err != nil {
			return err
		}
		var id, deaths int32
		var text string
		_, err = pgx.ForEachRow(r, []any{&id, &text, &deaths}, func() error {
			u, err := weburl.Parse(text)
			if err != nil {
				return fmt.Errorf("stored URL %q: %w", text, err)
			}
			got.URLs = append(got.URLs, store.Suspect{Job: job.ID(id), URL: u, Deaths: int(deaths)})
			return nil
		})
		return err
	})
	if err != nil {
		return store.Suspicions{}, fmt.Errorf("read suspects of %d slots: %w", len(slots), err)
	}
	return got, nil
}

// endWatching ends what a worker watches. If it died, that is suspect; a worker that is
// alive has survived it.
func (c *change) endWatching(w store.WorkerID, died bool) {
	if died {
		c.exec("update suspect set deaths = deaths + 1, worker = 0 where worker = $1", w)
		return
	}
	c.exec("delete from suspect where worker = $1 and deaths = 1", w)
	c.exec("update suspect set worker = 0 where worker = $1", w)
}
