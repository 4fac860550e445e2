package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
)

var _ store.Schedules = (*Store)(nil)

// scheduleFacts are the columns of a schedule, as scanSchedules reads them.
const scheduleFacts = `s.id, s.tenant, s.name, s.cron, s.every, s.least, s.most, s.spec, s.max_pages, s.layers, s.created_at, s.due_at, coalesce(s.paused_at, 0),
	s.turn, s.last, s.before, coalesce(s.begun_at, 0), s.share`

// lastEnded is the SQL condition for a schedule whose last job has ended, or was dropped.
const lastEnded = "not exists (select from job j where j.id = s.last and j.ended_at is null)"

// scanSchedules reads schedules into a list.
func scanSchedules(list *[]store.Schedule) func(pgx.Rows) error {
	var s store.Schedule
	var every, least, most, created, due, paused, begun int64
	return rows([]any{
		&s.ID, &s.Tenant, &s.Name, &s.Cron, &every, &least, &most, &s.Spec, &s.MaxPages, &s.Layers, &created, &due, &paused, &s.Turn, &s.Last, &s.Before, &begun, &s.Share,
	}, func() error {
		s.Every, s.Least, s.Most = time.Duration(every)*time.Millisecond, time.Duration(least)*time.Millisecond, time.Duration(most)*time.Millisecond
		s.CreatedAt, s.DueAt, s.PausedAt, s.BegunAt = instant(created), instant(due), instant(paused), instant(begun)
		*list = append(*list, s)
		s.Spec, s.Layers = nil, nil
		return nil
	})
}

func (s *Store) schedules(ctx context.Context, which string, args ...any) ([]store.Schedule, error) {
	var list []store.Schedule
	r, err := s.reading(ctx).Query(ctx, "select "+scheduleFacts+" from schedule s where "+which, args...)
	if err == nil {
		err = scanSchedules(&list)(r)
	}
	return list, wrap(err)
}

// CreateSchedule implements [store.Schedules].
func (s *Store) CreateSchedule(ctx context.Context, n store.Schedule) error {
	if err := n.Check(); err != nil {
		return err
	}
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		var has int
		c.exec("select pg_advisory_xact_lock($1, hashtext($2))", lockOfSchedules, n.Tenant)
		c.queue("select count(*) from schedule s where s.tenant = $1", n.Tenant).QueryRow(func(row pgx.Row) error { return row.Scan(&has) })
		if err := c.send(ctx); err != nil {
			return err
		}
		if has >= store.MaxSchedules {
			return fmt.Errorf("tenant %q has %d schedules: %w", n.Tenant, has, store.ErrConflict)
		}
		c.exec("insert into schedule (id, tenant, name, cron, every, least, most, spec, max_pages, layers, created_at, due_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
			clean(n.ID), clean(n.Tenant), clean(n.Name), clean(n.Cron), n.Every.Milliseconds(), n.Least.Milliseconds(), n.Most.Milliseconds(), notNil(n.Spec), n.MaxPages, notNone(n.Layers),
			milli(n.CreatedAt), milli(n.DueAt))
		return nil
	})
	if err != nil {
		return fmt.Errorf("create schedule %s: %w", n.ID, err)
	}
	return nil
}

// Schedule implements [store.Schedules].
func (s *Store) Schedule(ctx context.Context, id string) (store.Schedule, error) {
	list, err := s.schedules(ctx, "s.id = $1", clean(id))
	if err == nil && len(list) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Schedule{}, fmt.Errorf("schedule %q: %w", id, err)
	}
	return list[0], nil
}

// Schedules implements [store.Schedules].
func (s *Store) Schedules(ctx context.Context, q store.ScheduleQuery) ([]store.Schedule, error) {
	list, err := s.schedules(ctx, "$1 or s.tenant = $2 order by s.tenant, s.created_at, s.id", q.All, q.Tenant)
	if err != nil {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	return list, nil
}

// SetSchedule implements [store.Schedules]. With a cron expression, a pending comparison
// with the previous run is cancelled.
func (s *Store) SetSchedule(ctx context.Context, n store.Schedule) error {
	if err := n.Check(); err != nil {
		return err
	}
	err := s.change(ctx, func(_ context.Context, c *change) error {
		c.queue("select s.turn = $2 from schedule s where s.id = $1 for update", clean(n.ID), n.Turn).QueryRow(func(row pgx.Row) error {
			var same bool
			err := row.Scan(&same)
			switch {
			case noRows(err):
				return store.ErrNotFound
			case err == nil && !same:
				return fmt.Errorf("it has made another job: %w", store.ErrConflict)
			default:
				return err
			}
		})
		c.exec(`update schedule set name = $2, cron = $3, every = $4, least = $5, most = $6, spec = $7, max_pages = $8, layers = $9, due_at = $10, paused_at = $11,
			measured = measured or $3 <> '' where id = $1`,
			clean(n.ID), clean(n.Name), clean(n.Cron), n.Every.Milliseconds(), n.Least.Milliseconds(), n.Most.Milliseconds(), notNil(n.Spec), n.MaxPages, notNone(n.Layers), milli(n.DueAt), orNull(n.PausedAt))
		return nil
	})
	if err != nil {
		return fmt.Errorf("set schedule %q: %w", n.ID, err)
	}
	return nil
}

// PauseSchedule implements [store.Schedules].
func (s *Store) PauseSchedule(ctx context.Context, now time.Time, id string) error {
	return s.changeSchedule(ctx, "pause", id, "update schedule set paused_at = coalesce(paused_at, $2) where id = $1", milli(now))
}

// DropSchedule implements [store.Schedules].
func (s *Store) DropSchedule(ctx context.Context, id string) error {
	return s.changeSchedule(ctx, "drop", id, "delete from schedule where id = $1")
}

// changeSchedule changes one schedule, or returns ErrNotFound.
func (s *Store) changeSchedule(ctx context.Context, did, id, sql string, args ...any) error {
	err := s.change(ctx, func(_ context.Context, c *change) error {
		c.queue(sql, append([]any{clean(id)}, args...)...).Exec(affected(1, func(int64) error { return store.ErrNotFound }))
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s schedule %q: %w", did, id, err)
	}
	return nil
}

// DueSchedules implements [store.Schedules].
func (s *Store) DueSchedules(ctx context.Context, now time.Time, most int) ([]store.Schedule, error) {
	list, err := s.schedules(ctx, "s.paused_at is null and s.due_at <= $1 and "+lastEnded+" order by s.due_at, s.id limit $2", milli(now), most)
	if err != nil {
		return nil, fmt.Errorf("due schedules: %w", err)
	}
	return list, nil
}

// RunSchedule implements [store.Schedules]. The row is locked before the job is created, and
// its turn shows whether it is as it was read.
func (s *Store) RunSchedule(ctx context.Context, now time.Time, n store.Schedule, next time.Time) (job.ID, error) {
	var id job.ID
	err := s.change(ctx, func(ctx context.Context, c *change) (err error) {
		same := false
		id = 0
		c.queue("select s.turn = $2 and s.paused_at is null and s.cron = $3 and s.every = $4 and s.spec = $5 from schedule s where s.id = $1 for update",
			n.ID, n.Turn, n.Cron, n.Every.Milliseconds(), notNil(n.Spec)).Query(rows([]any{&same}, func() error { return nil }))
		if err := c.send(ctx); err != nil || !same {
			return err
		}
		j := n.Job(now)
		if j.Since, err = c.lastFinished(ctx, n.Last); err != nil {
			return err
		}
		if id, err = c.createJob(ctx, &j); err != nil {
			return err
		}
		c.exec("update schedule set turn = turn + 1, before = last, last = $2, begun_at = $3, due_at = $4, measured = (cron <> '' or last = 0) where id = $1", n.ID, id, milli(now), milli(next))
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("run schedule %s: %w", n.ID, err)
	}
	if id != 0 {
		s.notifier.notify(store.NewJobs, everybody)
	}
	return id, nil
}

// lastFinished is the last run of a schedule that ended complete or partial: the last run, or
// the one it names as Since. It is 0 if that was dropped, and is not dropped before the
// transaction ends.
func (c *change) lastFinished(ctx context.Context, last job.ID) (job.ID, error) {
	var since, exists job.ID
	c.queue("select case when j.state in ('complete', 'partial') then j.id else j.since end from job j where j.id = $1", last).
		Query(rows([]any{&since}, func() error { return nil }))
	if err := c.send(ctx); err != nil || since == 0 {
		return 0, err
	}
	c.lockJobs([]int32{int32(since)})
	c.queue("select j.id from job j where j.id = $1", since).Query(rows([]any{&exists}, func() error { return nil }))
	return exists, c.send(ctx)
}

// FreshSchedules implements [store.Schedules].
func (s *Store) FreshSchedules(ctx context.Context, most int) ([]store.Schedule, error) {
	list, err := s.schedules(ctx, "not s.measured and "+lastEnded+" order by s.id limit $1", most)
	if err != nil {
		return nil, fmt.Errorf("fresh schedules: %w", err)
	}
	return list, nil
}

// MeasureSchedule implements [store.Schedules].
func (s *Store) MeasureSchedule(ctx context.Context, n store.Schedule, share float64, every time.Duration) error {
	_, err := s.pool.Exec(ctx, "update schedule set measured = true, share = $3, every = greatest(least(most, $4), least), due_at = begun_at + greatest(least(most, $4), least) where id = $1 and turn = $2 and not measured", n.ID, n.Turn, share, every.Milliseconds())
	if err != nil {
		return fmt.Errorf("measure schedule %s: %w", n.ID, wrap(err))
	}
	return nil
}
