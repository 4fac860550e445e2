package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
)

// A job begins in the shared tables. Once it is larger than their bound it is moved to its
// own, in one transaction, by the process whose change made it grow: a process that dies
// meanwhile leaves it where it was. Others may have cached that the job is in the shared
// tables. Changes notice it after they have locked the job (see newBatch), queries read where
// the job is in their snapshot (see readJob), and the heads of queues look after they have
// read too little (see findMoved).

// sharedRows are the rows of one job in a shared table.
type sharedRows struct{ table, columns, rows string }

// shared lists the rows of job $1 in the shared tables, in the order in which they are
// deleted: url is needed to find the others.
var shared = []sharedRows{
	{"queue", "id, host, not_before, fp, job, rank, attempt, slot", `queue_0 t using url_0 u where u.job = $1 and t.host = u.host and t.job = u.job and t.rank = u.rank and t.id = u.id and t.slot = u.slot`},
	{"outcome", "id, host, ended_at, fp, job, attempt, slot, ending, status, visit", `outcome_0 t using url_0 u where u.job = $1 and t.id = u.id and t.slot = u.slot`},
	{"attempt", "url, n, job, visit", `attempt_0 t using url_0 u where u.job = $1 and t.url = u.id`},
	{"content", "url, texts", `content_0 t using url_0 u where u.job = $1 and t.url = u.id`},
	{"link", "url, page, links", `link_0 t using url_0 u where u.job = $1 and t.url = u.id`},
	{"inlink", "job, bucket, pages", `inlink_0 t where t.job = $1`},
	{"url", "id, host, seen_at, fp, job, rank, depth, priority, slot, hops, found, path, via, extra", `url_0 t where t.job = $1`},
	{"aside", "fp, job, slot, url", `aside_0 t where t.job = $1`},
	{"errand", "id, host, fp, job, nested, ended, path", `errand_0 t where t.job = $1`},
}

// clear is the statement that deletes the rows.
func (r *sharedRows) clear() string { return "delete from " + r.rows }

// move is the statement that moves the rows to the tables of a job.
func (r *sharedRows) move(id int32) string {
	return forTables("with gone as ("+r.clear()+" returning t.*) insert into "+r.table+"_{s} ("+r.columns+") select "+r.columns+" from gone", id)
}

// clearRows deletes the rows of a job from the shared tables.
func (c *change) clearRows(id int32) {
	for i := range shared {
		c.exec(shared[i].clear(), id)
	}
}

// grown counts the pages and URLs that a batch has added to jobs in the shared tables, and
// returns the jobs whose size is to be checked.
func (b *batch) grown() []int32 {
	added := map[job.ID]int64{}
	for k, n := range b.tally {
		id := job.ID(k.job)
		if jt := b.tables[id]; jt == nil || jt.id != 0 || k.ending < 0 {
			continue
		}
		added[id] += n // a URL that ends waits no longer
		if b.s.ending[k.ending].Outcome.Page() {
			added[id] += n
		}
	}
	b.s.cacheMu.Lock()
	defer b.s.cacheMu.Unlock()
	var ids []int32
	for id, n := range added {
		if _, known := b.s.growth[id]; !known && len(b.s.growth) >= jobCache {
			clear(b.s.growth)
		}
		if b.s.growth[id] += max(n, 0); b.s.growth[id] >= b.s.bound.check {
			delete(b.s.growth, id)
			ids = append(ids, int32(id))
		}
	}
	return ids
}

// largeJobs selects those of the jobs $1 that are too large for the shared tables: with more
// than $3 pages, which are the endings $2, or more than $4 URLs. There are none while a worker
// of an older version is alive, which would not notice the move.
const largeJobs = `select j.id from unnest($1::int[]) as w (id) join job j on j.id = w.id where j.shelf = 0
	and exists (select from tally t where t.job = j.id having coalesce(sum(t.n) filter (where t.ending = any($2::smallint[])), 0) > $3 or coalesce(sum(t.n) filter (where t.ending >= 0), 0) > $4)
	and not exists (select from worker w, format f where w.format < f.oldest)`

// moveLarge moves those jobs to their own tables that have become too large for the shared
// ones. What made them grow is committed: if a move fails, it is tried again when the job has
// grown further.
func (s *Store) moveLarge(ctx context.Context, ids []int32) {
	var pages []int16
	for n, e := range s.ending {
		if e.Outcome.Page() {
			pages = append(pages, n)
		}
	}
	var large []int32
	var id int32
	err := s.all(ctx, []any{&id}, func() { large = append(large, id) }, largeJobs, ids, pages, s.bound.pages, s.bound.urls)
	for _, id := range large {
		err = errors.Join(err, s.moveJob(ctx, id))
	}
	if err != nil {
		s.log.WarnContext(ctx, "large jobs not moved to their own tables, trying again later", "err", err)
	}
}

// moveJob moves a job from the shared tables to its own, unless another process does. Changes
// of the job wait while its rows are moved, not while the tables are created.
func (s *Store) moveJob(ctx context.Context, id int32) error {
	moved := false
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		var free bool
		c.queue("select pg_try_advisory_xact_lock($1, $2) and exists (select from job where id = $2 and shelf = 0)", lockOfTables, id).QueryRow(func(row pgx.Row) error { return row.Scan(&free) })
		if err := c.send(ctx); err != nil || !free {
			return err
		}
		if err := c.createTables(ctx, id); err != nil {
			return err
		}
		c.lockJob(id)
		c.queue("update job set shelf = $1 where id = $1 and shelf = 0", id).Exec(affected(1, errf("it was dropped: %w", store.ErrNotFound)))
		for i := range shared {
			c.exec(shared[i].move(id), id)
		}
		moved = true
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil && moved {
		s.rememberTables(job.ID(id), id)
		s.log.InfoContext(ctx, "job moved to its own tables", "job", id)
	}
	return err
}

// findMoved reports whether jobs of wants were not found in the shared tables because they
// have their own now, and remembers these. It is called after the tables were read: the rows
// of a job are in the one or in the other.
func (s *Store) findMoved(ctx context.Context, jt *jobTables, wants []store.Want, places []int) (bool, error) {
	if jt.id != 0 || len(places) == 0 {
		return false, nil
	}
	jobs := map[job.ID]bool{}
	for _, i := range places {
		jobs[wants[i].Job] = true
	}
	moved := false
	var id job.ID
	var tables int32
	err := s.all(ctx, []any{&id, &tables}, func() {
		moved = true
		s.rememberTables(id, tables)
	}, "select id, shelf from job where id = any($1::int[]) and shelf > 0", numbers(keys(jobs)))
	return moved, err
}
