package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"headway/job"
	"headway/store"
)

// Note implements [store.Notices].
func (s *Store) Note(ctx context.Context, n store.Notice) (first bool, err error) {
	err = s.change(ctx, func(_ context.Context, c *change) error {
		c.queueNote(n).Exec(func(tag pgconn.CommandTag) error {
			first = tag.RowsAffected() == 1
			return nil
		})
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("note of job %d: %w", n.Job, err)
	}
	if first {
		s.notifier.notify(store.NewJobs, everybody) // it is also an event
	}
	return first, nil
}

// queueNote stores a notice of an existing job. A queued job is about to start.
func (c *change) queueNote(n store.Notice) *pgx.QueuedQuery {
	return c.queue(`insert into notice (job, name, percent, max, layer, observed, at, text) select j.id, $2, $3, $4, $5, $6, $7, $8 from job j where j.id = $1
		on conflict (job, name, percent, max) do update set layer = excluded.layer, observed = excluded.observed, at = excluded.at, text = excluded.text
		where notice.percent = $9 and notice.at < (select case state when 'queued' then $7 else started_at end from job where id = $1)`,
		number(n.Job), n.Limit, n.Percent, n.Max, n.Layer, n.Observed, milli(n.At), clean(n.Text), store.StoppedBy)
}

// Notices implements [store.Notices].
func (s *Store) Notices(ctx context.Context, id job.ID) ([]store.Notice, error) {
	var list []store.Notice
	n := store.Notice{Job: id}
	var at int64
	err := s.all(ctx, []any{&at, &n.Limit, &n.Layer, &n.Max, &n.Observed, &n.Percent, &n.Text}, func() {
		n.At = instant(at)
		list = append(list, n)
	}, "select at, name, layer, max, observed, percent, text from notice where job = $1 order by at, percent, name, max", number(id))
	if err != nil {
		return nil, fmt.Errorf("notices of job %d: %w", id, err)
	}
	return list, nil
}
