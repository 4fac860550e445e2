package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// loadJobs reads the jobs and how many of their tokens are used.
func (s *Store) loadJobs(ctx context.Context) error {
	limits, states := map[job.ID]int64{}, map[job.ID]job.State{}
	err := s.w.query(ctx, "select id, max_pages, state from job", nil, func(row []driver.Value) error {
		id := job.ID(integer(row[0]))
		limits[id], states[id] = integer(row[1]), job.State(text(row[2]))
		return nil
	})
	if err != nil {
		return err
	}
	for id, limit := range limits {
		s.jobs[id] = newJobTables(id)
		c, err := s.counts(ctx, s.w, id)
		if err != nil {
			return err
		}
		s.ledger.SetLimit(id, limit, c.Pages())
		s.ledger.SetState(id, states[id])
	}
	return nil
}

// CreateJob implements [store.Jobs].
func (s *Store) CreateJob(ctx context.Context, j store.Job) (job.ID, error) {
	if err := j.Check(); err != nil {
		return 0, err
	}
	var started driver.Value
	if j.State == job.Running {
		started = milli(j.CreatedAt)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var id job.ID
	err := s.changeLocked(ctx, func(ctx context.Context) error {
		var n int64
		_, err := s.w.one(ctx, "insert into job (tenant, name, state, reason, max_pages, spec, created_at, started_at) values (?, ?, ?, ?, ?, ?, ?, ?) returning id",
			[]driver.Value{j.Tenant, j.Name, string(j.State), j.Reason, j.MaxPages, string(j.Spec), milli(j.CreatedAt), started}, &n)
		if err != nil {
			return err
		}
		id = job.ID(n)
		if err := s.w.script(ctx, forJob(jobSchema, id)); err != nil {
			return err
		}
		return s.w.script(ctx, createView(append(s.jobNumbers(), id)))
	})
	if err != nil {
		return 0, fmt.Errorf("create job %q: %w", j.Name, err)
	}
	s.setTables(id, newJobTables(id))
	s.ledger.SetLimit(id, j.MaxPages, 0)
	return id, nil
}

// jobNumbers lists the jobs, in order.
func (s *Store) jobNumbers() []job.ID {
	ids := make([]job.ID, 0, len(s.jobs)+1)
	for id := range s.jobs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

const jobQuery = "select id, tenant, name, state, reason, max_pages, spec, created_at, started_at, ended_at from job where id > ? order by id limit 0 + ?"

// JobList implements [store.Jobs].
func (s *reader) JobList(ctx context.Context, after job.ID, limit int) ([]store.Job, error) {
	var list []store.Job
	err := s.ask(ctx, func(c *conn) error {
		return c.query(ctx, jobQuery, []driver.Value{int64(after), int64(max(limit, 0))}, func(row []driver.Value) error {
			list = append(list, store.Job{
				ID: job.ID(integer(row[0])), Tenant: text(row[1]), Name: text(row[2]), State: job.State(text(row[3])), Reason: text(row[4]),
				MaxPages: integer(row[5]), Spec: []byte(text(row[6])), CreatedAt: instant(integer(row[7])), StartedAt: instant(integer(row[8])), EndedAt: instant(integer(row[9])),
			})
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list jobs: %w", err)
	}
	return list, nil
}

// Job implements [store.Jobs].
func (s *reader) Job(ctx context.Context, id job.ID) (store.Job, error) {
	list, err := s.JobList(ctx, id-1, 1)
	if err != nil {
		return store.Job{}, err
	}
	if len(list) == 0 || list[0].ID != id {
		return store.Job{}, fmt.Errorf("job %d: %w", id, store.ErrNotFound)
	}
	return list[0], nil
}

// SetState implements [store.Jobs].
func (s *Store) SetState(ctx context.Context, now time.Time, id job.ID, from, to job.State, reason string) error {
	if err := job.Check(from, to); err != nil {
		return err
	}
	var started, ended driver.Value
	if to == job.Running {
		started = milli(now)
	}
	if to.Ended() {
		ended = milli(now)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.changeLocked(ctx, func(ctx context.Context) error {
		if _, err := s.tables(id); err != nil {
			return err
		}
		n, err := s.w.exec(ctx, "update job set state = ?, reason = ?, started_at = coalesce(?, started_at), ended_at = ? where id = ? and state = ?",
			string(to), reason, started, ended, int64(id), string(from))
		if err == nil && n == 0 {
			err = fmt.Errorf("it is not %s: %w", from, store.ErrConflict)
		}
		if err == nil && to == job.Cancelled {
			_, err = s.w.exec(ctx, "delete from arrival where job = ?", int64(id))
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("set job %d to %s: %w", id, to, err)
	}
	s.ledger.SetState(id, to)
	return nil
}

// Extend implements [store.Jobs]. The deferred URLs are readmitted in several
// transactions.
func (s *Store) Extend(ctx context.Context, now time.Time, id job.ID, maxPages int64) error {
	j, err := s.Job(ctx, id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var c store.Counts
	err = s.changeLocked(ctx, func(ctx context.Context) error {
		if _, err := s.tables(id); err != nil {
			return err
		}
		if c, err = s.counts(ctx, s.w, id); err != nil {
			return err
		}
		c.Tokens = s.ledger.Held(id)
		if err := store.CheckExtend(j, c, maxPages); err != nil {
			return fmt.Errorf("extend job %d: %w", id, err)
		}
		_, err := s.w.exec(ctx, "update job set max_pages = ? where id = ?", maxPages, int64(id))
		return err
	})
	if err != nil {
		return err
	}
	s.ledger.SetLimit(id, maxPages, c.Pages())
	for more := true; more; {
		if err := s.changeLocked(ctx, func(ctx context.Context) error {
			b := newBatch(s, now, 0)
			var err error
			if more, err = b.readmitDeferred(ctx, s.jobs[id]); err != nil {
				return err
			}
			return b.finish(ctx)
		}); err != nil {
			return fmt.Errorf("extend job %d: %w", id, err)
		}
	}
	return nil
}

// readmitDeferred sets up to MaxPark deferred URLs back to waiting, and reports whether
// there may be more.
func (b *batch) readmitDeferred(ctx context.Context, t *jobTables) (more bool, err error) {
	type row struct {
		id, host, rank, attempt int64
		fp                      weburl.Fingerprint128
		slot                    store.Slot
	}
	var rows []row
	ending := b.endings[store.Ending{Outcome: visit.Deferred}]
	err = b.w.query(ctx, t.deferred, []driver.Value{ending, int64(store.MaxPark)}, func(r []driver.Value) error {
		u, err := weburl.Parse(text(r[2]))
		if err != nil {
			return fmt.Errorf("stored URL: %w: %w", store.ErrCorrupt, err)
		}
		it := visit.Item{URL: u, Depth: int(integer(r[3])), Priority: int(integer(r[4]))}
		rows = append(rows, row{integer(r[0]), integer(r[1]), int64(store.Rank(&it)), integer(r[5]), u.Fingerprint128(b.key), store.SlotOf(b.key, u.Domain())})
		return nil
	})
	if err != nil || len(rows) == 0 {
		return false, err
	}
	_, err = b.w.bulk(ctx, &t.forgetOutcome, len(rows), func(i int, args []driver.NamedValue) { args[0].Value = rows[i].id }, func([]driver.Value) error { return nil })
	if err != nil {
		return false, err
	}
	_, err = b.w.bulk(ctx, &t.setRank, len(rows), func(i int, args []driver.NamedValue) {
		args[0].Value, args[1].Value, args[2].Value = rows[i].host, rows[i].fp[:], rows[i].rank
	}, nil)
	if err != nil {
		return false, err
	}
	_, err = b.w.bulk(ctx, &t.enqueue, len(rows), func(i int, args []driver.NamedValue) {
		args[0].Value, args[1].Value, args[2].Value, args[3].Value, args[4].Value = rows[i].host, rows[i].rank, rows[i].id, rows[i].attempt, int64(0)
		b.arrive(t.id, hostRef{rows[i].host, rows[i].slot})
	}, nil)
	b.count(t.id, ending, -int64(len(rows)))
	b.admit(t.id, int64(len(rows)))
	return len(rows) == store.MaxPark, err
}

// counts reads the tally of a job.
func (s *reader) counts(ctx context.Context, c *conn, id job.ID) (store.Counts, error) {
	counts := store.Counts{Ended: map[store.Ending]int64{}}
	err := c.query(ctx, "select ending, n from tally where job = ?", []driver.Value{int64(id)}, func(row []driver.Value) error {
		switch ending, n := integer(row[0]), integer(row[1]); ending {
		case tallyWaiting:
			counts.Waiting = n
		case tallyAdmitted:
			counts.Admitted = n
		case tallyErrands:
			counts.Errands = n
		default:
			counts.Ended[s.ending[ending]] += n
		}
		return nil
	})
	return counts, err
}

// Counts implements [store.Reader].
func (s *reader) Counts(ctx context.Context, id job.ID) (store.Counts, error) {
	var counts store.Counts
	err := s.askJob(ctx, id, func(c *conn, _ *jobTables) (err error) {
		counts, err = s.counts(ctx, c, id)
		return err
	})
	if err != nil {
		return store.Counts{}, fmt.Errorf("counts of job %d: %w", id, err)
	}
	return counts, nil
}

// Counts implements [store.Jobs].
func (s *Store) Counts(ctx context.Context, id job.ID) (store.Counts, error) {
	counts, err := s.reader.Counts(ctx, id)
	if err != nil {
		return store.Counts{}, err
	}
	counts.Tokens = s.held(id)
	return counts, nil
}

func (s *Store) held(id job.ID) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.Held(id)
}

// Audit implements [store.Jobs].
func (s *Store) Audit(ctx context.Context, id job.ID) (store.Counts, error) {
	counts := store.Counts{Ended: map[store.Ending]int64{}}
	err := s.askJob(ctx, id, func(c *conn, t *jobTables) error {
		if err := c.script(ctx, "begin"); err != nil {
			return err
		}
		err := s.audit(ctx, c, t, &counts)
		return errors.Join(err, c.script(context.WithoutCancel(ctx), "rollback"))
	})
	if err != nil {
		return store.Counts{}, fmt.Errorf("audit of job %d: %w", id, err)
	}
	counts.Tokens = s.held(id)
	return counts, nil
}

// audit counts rows, in one snapshot.
func (s *Store) audit(ctx context.Context, c *conn, t *jobTables, counts *store.Counts) error {
	err := c.query(ctx, t.auditEnded, nil, func(row []driver.Value) error {
		counts.Ended[s.ending[integer(row[0])]] += integer(row[1])
		return nil
	})
	if err != nil {
		return err
	}
	var aside, idle, seen, urls, matching, both int64
	if _, err := c.one(ctx, t.auditWaiting, nil, &counts.Waiting); err != nil {
		return err
	}
	if _, err := c.one(ctx, t.auditAside, nil, &aside); err != nil {
		return err
	}
	if _, err := c.one(ctx, auditErrand, []driver.Value{int64(t.id)}, &counts.Errands); err != nil {
		return err
	}
	if _, err := c.one(ctx, t.idle, nil, &idle, &counts.Admitted); err != nil {
		return err
	}
	if _, err := c.one(ctx, t.auditSeen, nil, &seen, &urls, &matching, &both); err != nil {
		return err
	}
	if rows := counts.Seen(); seen != urls || seen != matching || seen != rows || both != 0 {
		return fmt.Errorf("%d URLs seen, %d stored, %d of them the same, %d waiting or ended, %d both: %w", seen, urls, matching, rows, both, store.ErrCorrupt)
	}
	if aside > 0 {
		counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.OutOfScope}] += aside
	}
	return nil
}

// Idle implements [store.Jobs].
func (s *Store) Idle(ctx context.Context, id job.ID) (store.Idle, error) {
	var none, admitted int64
	err := s.askJob(ctx, id, func(c *conn, t *jobTables) error {
		_, err := c.one(ctx, t.idle, nil, &none, &admitted)
		return err
	})
	if err != nil {
		return store.Idle{}, fmt.Errorf("is job %d idle: %w", id, err)
	}
	return store.Idle{None: none != 0, Admitted: admitted}, nil
}

// Drop implements [store.Jobs]: the tables of the job are dropped. They are removed from
// memory before, so that no query uses them.
func (s *Store) Drop(ctx context.Context, id job.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.tables(id)
	if err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	var state string
	if _, err := s.w.one(ctx, "select state from job where id = ?", []driver.Value{int64(id)}, &state); err != nil {
		return fmt.Errorf("drop job %d: %w", id, err)
	}
	if !job.State(state).Ended() {
		return fmt.Errorf("drop job %d, which is %s: %w", id, state, store.ErrConflict)
	}
	s.setTables(id, nil)
	err = s.changeLocked(ctx, func(ctx context.Context) error {
		if err := s.w.script(ctx, createView(s.jobNumbers())); err != nil {
			return err
		}
		if err := s.w.script(ctx, dropTables(id)); err != nil {
			return err
		}
		for _, q := range []string{"delete from tally where job = ?", "delete from point where job = ?", "delete from arrival where job = ?", "delete from errand where job = ?", "delete from aside_item where job = ?", "delete from job where id = ?"} {
			if _, err := s.w.exec(ctx, q, int64(id)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.setTables(id, t)
		return fmt.Errorf("drop job %d: %w", id, err)
	}
	s.ledger.DropJob(id)
	return nil
}
