package postgres

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// CreateJob implements [store.Jobs].
func (s *Store) CreateJob(ctx context.Context, j store.Job) (job.ID, error) {
	if err := j.Check(); err != nil {
		return 0, err
	}
	var id job.ID
	err := s.change(ctx, func(ctx context.Context, c *change) (err error) {
		id, err = c.createJob(ctx, &j)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("create job %q: %w", j.Name, err)
	}
	s.news(ctx, store.NewJobs)
	return id, nil
}

func (c *change) createJob(ctx context.Context, j *store.Job) (job.ID, error) {
	var started *int64
	if j.State == job.Running {
		started = orNull(j.CreatedAt)
	}
	var id int32
	c.queue("insert into job (shelf, tenant, name, state, reason, max_pages, spec, created_at, started_at, layers, since, settings, turn) values (0, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "+settingsOf(j.State)+", "+turnOf(j.State)+") returning id",
		clean(j.Tenant), clean(j.Name), j.State, clean(j.Reason), j.MaxPages, notNil(j.Spec), milli(j.CreatedAt), started, notNone(j.Layers), j.Since).QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
	if err := c.send(ctx); err != nil {
		return 0, err
	}
	if j.MaxPages > 0 {
		c.exec("insert into account (job, free) values ($1, $2)", id, j.MaxPages)
	}
	return job.ID(id), nil
}

// settingsOf is the SQL expression for the settings of a job that enters a state without
// being admitted: the newest, so that later changes apply to it.
func settingsOf(s job.State) string {
	if s == job.Running {
		return "(select coalesce(max(version), 0) from fleet_settings)"
	}
	return "0"
}

// number is the stored number of a job; 0 for one that cannot exist.
func number(id job.ID) int32 {
	if id < 1 || id > math.MaxInt32 {
		return -1
	}
	return int32(id)
}

// Job implements [store.Jobs].
func (s *Store) Job(ctx context.Context, id job.ID) (store.Job, error) {
	list, err := s.JobList(ctx, id-1, 1)
	if err != nil {
		return store.Job{}, err
	}
	if len(list) == 0 || list[0].ID != id {
		return store.Job{}, fmt.Errorf("job %d: %w", id, store.ErrNotFound)
	}
	return list[0], nil
}

// JobList implements [store.Jobs].
func (s *Store) JobList(ctx context.Context, after job.ID, most int) ([]store.Job, error) {
	list, err := jobList(ctx, s.reading(ctx), after, most)
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", wrap(err))
	}
	return list, nil
}

func jobList(ctx context.Context, q querier, after job.ID, most int) ([]store.Job, error) {
	r, err := q.Query(ctx, "select "+jobFacts+", j.spec, j.layers from job j where j.id > $1 order by j.id limit $2", int32(min(max(after, 0), math.MaxInt32)), max(most, 0))
	if err != nil {
		return nil, err
	}
	var list []store.Job
	err = scanJobs(&list, func(j *store.Job) any { return &j.Spec }, layersOf)(r)
	return list, err
}

// SetState implements [store.Jobs].
func (s *Store) SetState(ctx context.Context, now time.Time, id job.ID, from, to job.State, reason string) error {
	if err := job.Check(from, to); err != nil {
		return err
	}
	var began, ended *int64
	var started string
	if to == job.Running {
		began = orNull(now)
	}
	if from == job.Queued && to == job.Running {
		started = ", settings = " + settingsOf(to)
	}
	if to.Ended() {
		ended = orNull(now)
	}
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		var n int64
		if to == job.Cancelled {
			c.lockJob(number(id)) // commits see all of it or none
		}
		c.queue("update job set state = $3, reason = $4, started_at = coalesce($5, started_at), ended_at = $6, changed_at = $7, turn = "+turnOf(to)+started+" where id = $1 and state = $2", number(id), from, to, clean(reason), began, ended, milli(now)).
			Exec(func(tag pgconn.CommandTag) error {
				n = tag.RowsAffected()
				return nil
			})
		c.queue("select state from job where id = $1", number(id)).QueryRow(func(row pgx.Row) error {
			var is job.State
			if err := row.Scan(&is); noRows(err) {
				return store.ErrNotFound
			} else if err != nil {
				return err
			}
			if n == 0 {
				return fmt.Errorf("it is %s, not %s: %w", is, from, store.ErrConflict)
			}
			return nil
		})
		if err := c.send(ctx); err != nil || to != job.Cancelled {
			return err
		}
		for _, text := range []string{"delete from account where job = $1", "delete from token where job = $1", "delete from arrival where job = $1"} {
			c.exec(text, number(id))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("set job %d to %s: %w", id, to, err)
	}
	s.news(ctx, store.NewJobs)
	return nil
}

// Extend implements [store.Jobs].
func (s *Store) Extend(ctx context.Context, now time.Time, id job.ID, maxPages int64) error {
	return s.ExtendLimits(ctx, now, id, store.Extension{limit.Pages: maxPages})
}

// ExtendLimits implements [store.Queue]. The deferred URLs are readmitted in several
// transactions.
func (s *Store) ExtendLimits(ctx context.Context, now time.Time, id job.ID, to store.Extension) error {
	n := newNeeds()
	n.jobs[id] = true
	if err := s.resolve(ctx, n); err != nil {
		return fmt.Errorf("extend job %d: %w", id, err)
	}
	if n.tables[id] == nil {
		return fmt.Errorf("extend job %d: %w", id, store.ErrNotFound)
	}
	if err := s.change(ctx, func(ctx context.Context, c *change) error { return c.setLimits(ctx, now, id, to) }); err != nil {
		return fmt.Errorf("extend job %d: %w", id, err)
	}
	for more := true; more; {
		var b *batch
		err := s.change(ctx, func(ctx context.Context, c *change) (err error) {
			b = newBatch(c, now, 0, n)
			more, err = b.readmitDeferred(ctx, id)
			return err
		})
		if err != nil {
			return fmt.Errorf("extend job %d: %w", id, s.gone(ctx, n, err))
		}
		b.committed(ctx)
	}
	s.notifier.notify(store.NewJobs, everybody)
	return nil
}

// setLimits gives a job new limits. No commit of the job runs meanwhile, and the
// account is locked: used, held and free tokens are consistent.
func (c *change) setLimits(ctx context.Context, now time.Time, id job.ID, to store.Extension) error {
	c.lockJob(int32(id))
	c.exec("select 1 from account where job = $1 for update", id)
	if err := c.send(ctx); err != nil {
		return err
	}
	list, err := jobList(ctx, c.conn, id-1, 1)
	if err != nil {
		return err
	}
	if len(list) == 0 || list[0].ID != id {
		return store.ErrNotFound
	}
	j, around := &list[0], map[string]store.Surroundings{}
	c.queue(aroundTenants, []string{j.Tenant}, store.MonthOf(now)).Query(scanAround(around))
	var newest store.SettingsVersion
	c.queue(newestSettings).Query(scanSettings(func(v store.SettingsVersion) { newest = v }))
	if err := c.send(ctx); err != nil {
		return err
	}
	s := around[j.Tenant]
	s.Safety = newest.Safety
	for i := range j.Layers {
		if l := &j.Layers[i]; newest.Version == 0 && l.Level == limit.Safety {
			s.Safety = l.Limits // of its admission, before the fleet had settings
		}
	}
	counts, err := c.had(ctx, id, &s)
	if err != nil {
		return err
	}
	if err := s.Extend(j, counts, to); err != nil {
		return err
	}
	c.exec("update job set max_pages = $2, layers = $3, changed_at = $4 where id = $1", id, j.MaxPages, notNone(j.Layers), milli(now))
	c.setFree(id, j.MaxPages, counts)
	return nil
}

// readmitDeferred sets up to MaxPark deferred URLs back to waiting, and reports whether
// there may be more.
func (b *batch) readmitDeferred(ctx context.Context, id job.ID) (more bool, err error) {
	var ref hostRef
	n := 0
	b.queue(b.tables[id].extend, int32(id), store.MaxPark).Query(rows([]any{&ref.id, &ref.slot}, func() error {
		n++
		b.admit(id, ref)
		return nil
	}))
	if err := b.send(ctx); err != nil {
		return false, err
	}
	if err := b.must(id); err != nil {
		return false, err
	}
	b.count(id, deferred, -int64(n))
	b.finish()
	return n == store.MaxPark, nil
}

// Rows of counts that are not endings.
const (
	countTokens = -3
	countJob    = -4
)

// counts reads the tally of a job and its tokens in one snapshot.
func (s *Store) counts(ctx context.Context, q querier, id job.ID) (store.Counts, error) {
	all, err := s.countJobs(ctx, q, id)
	c, known := all[id]
	if err == nil && !known {
		err = store.ErrNotFound
	}
	return c, err
}

// countJobs is counts for several jobs; missing jobs are left out.
func (s *Store) countJobs(ctx context.Context, q querier, ids ...job.ID) (map[job.ID]store.Counts, error) {
	r, err := q.Query(ctx, `select id, -4, 1::bigint from job where id = any($1)
		union all select job, ending, sum(n)::bigint from tally where job = any($1) group by job, ending
		union all select job, -3, sum(n)::bigint from token where job = any($1) group by job`, numbers(ids))
	if err != nil {
		return nil, err
	}
	all := make(map[job.ID]store.Counts, len(ids))
	var id int32
	var ending int16
	var n int64
	_, err = pgx.ForEachRow(r, []any{&id, &ending, &n}, func() error {
		c, ok := all[job.ID(id)]
		if !ok {
			c.Ended = map[store.Ending]int64{}
		}
		s.count(&c, ending, n)
		all[job.ID(id)] = c
		return nil
	})
	return all, err
}

// count adds one row of counts.
func (s *Store) count(c *store.Counts, ending int16, n int64) {
	switch ending {
	case countJob: // the job exists
	case countTokens:
		c.Tokens = n
	case tallyWaiting:
		c.Waiting = n
	case tallyAdmitted:
		c.Admitted = n
	case tallyErrands:
		c.Errands = n
	default:
		c.Ended[s.ending[ending]] += n
	}
}

// Counts implements [store.Jobs].
func (s *Store) Counts(ctx context.Context, id job.ID) (store.Counts, error) {
	c, err := s.counts(ctx, s.reading(ctx), id)
	if err != nil {
		return store.Counts{}, fmt.Errorf("counts of job %d: %w", id, wrap(err))
	}
	return c, nil
}

// Audit implements [store.Jobs].
func (s *Store) Audit(ctx context.Context, id job.ID) (store.Counts, error) {
	c := store.Counts{Ended: map[store.Ending]int64{}}
	err := s.readJob(ctx, id, func(tx pgx.Tx, jt *jobTables) error { return s.audit(ctx, tx, jt, id, &c) })
	if err != nil {
		return store.Counts{}, fmt.Errorf("audit of job %d: %w", id, s.goneJob(ctx, id, err))
	}
	return c, nil
}

// audit counts rows. It reads whole tables, so the planner is not restricted.
func (s *Store) audit(ctx context.Context, tx pgx.Tx, jt *jobTables, id job.ID, c *store.Counts) error {
	if _, err := tx.Exec(ctx, "select set_config(way, 'on', true) from unnest(array['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) as way"); err != nil {
		return err
	}
	tallied, err := s.counts(ctx, tx, id)
	if err != nil {
		return err
	}
	c.Admitted, c.Tokens = tallied.Admitted, tallied.Tokens
	// Statements used only here are not prepared.
	ask := func(query string, each func() error, targets ...any) error {
		r, err := tx.Query(ctx, query, pgx.QueryExecModeExec, int32(id))
		if err != nil {
			return err
		}
		_, err = pgx.ForEachRow(r, targets, each)
		return err
	}
	once := func() error { return nil }
	var ending int16
	var n, aside, seen, both, neither int64
	if err := ask(jt.auditEnded, func() error {
		c.Ended[s.ending[ending]] += n
		return nil
	}, &ending, &n); err != nil {
		return err
	}
	if err := ask(jt.auditWaiting, once, &c.Waiting); err != nil {
		return err
	}
	if err := ask(jt.auditAside, once, &aside); err != nil {
		return err
	}
	if err := ask(jt.auditErrands, once, &c.Errands); err != nil {
		return err
	}
	if err := ask(jt.auditSeen, once, &seen, &both, &neither); err != nil {
		return err
	}
	if rows := c.Seen(); seen != rows || both != 0 || neither != 0 {
		return fmt.Errorf("%d URLs seen, %d waiting or ended, %d both, %d neither: %w", seen, rows, both, neither, store.ErrCorrupt)
	}
	if aside > 0 {
		c.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.OutOfScope}] += aside
	}
	return nil
}

// Idle implements [store.Jobs].
func (s *Store) Idle(ctx context.Context, id job.ID) (store.Idle, error) {
	c, err := s.counts(ctx, s.reading(ctx), id)
	if err != nil {
		return store.Idle{}, fmt.Errorf("is job %d idle: %w", id, wrap(err))
	}
	return store.Idle{None: c.Waiting == 0 && c.Errands == 0, Admitted: c.Admitted}, nil
}

// neededBySince is the SQL condition for a job whose pages another one, which has not ended,
// still reads; see [store.Job.Since].
const neededBySince = "exists (select from job n where n.since = j.id and n.ended_at is null)"

// Drop implements [store.Jobs]. The tables of a large job are dropped; the rows of a small
// one are deleted from the shared tables by a few statements.
func (s *Store) Drop(ctx context.Context, id job.ID) error {
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		var state job.State
		var tables int32
		var inUse bool
		c.lockJob(number(id))
		c.queue("select j.state, j.shelf, "+neededBySince+" from job j where j.id = $1", number(id)).QueryRow(func(row pgx.Row) error {
			err := row.Scan(&state, &tables, &inUse)
			if noRows(err) {
				return store.ErrNotFound
			}
			return err
		})
		if err := c.send(ctx); err != nil {
			return err
		}
		if !state.Ended() {
			return fmt.Errorf("it is %s: %w", state, store.ErrConflict)
		}
		if inUse {
			return fmt.Errorf("a running job reads its pages: %w", store.ErrConflict)
		}
		for _, text := range []string{
			"delete from account where job = $1", "delete from token where job = $1", "delete from request_use where job = $1", "delete from tally where job = $1", "delete from point where job = $1",
			"delete from arrival where job = $1", "delete from notice where job = $1", "delete from taken where job = $1", "delete from aside_item where job = $1", "delete from suspect where job = $1", "delete from host_time where job = $1", "delete from segment where job = $1", "delete from job where id = $1",
		} {
			c.exec(text, number(id))
		}
		if tables == 0 {
			c.clearRows(number(id))
		} else {
			c.dropTables(tables)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop job %d: %w", id, err)
	}
	s.forgetJob(id)
	return nil
}
