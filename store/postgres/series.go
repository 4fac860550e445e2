package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
)

// Record implements [store.Series]. Points of one job are added by one process
// at a time.
func (s *Store) Record(ctx context.Context, points []store.Point) error {
	for i := range points {
		if err := points[i].Check(); err != nil {
			return err
		}
	}
	byJob := map[job.ID]map[int64]store.Point{}
	for _, p := range points {
		at := milli(p.At)
		if byJob[p.Job] == nil {
			byJob[p.Job] = map[int64]store.Point{}
		}
		if old, ok := byJob[p.Job][at]; ok {
			p = old.Plus(p)
		}
		byJob[p.Job][at] = p
	}
	ids := make([]job.ID, 0, len(byJob))
	for id := range byJob {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		for _, id := range ids {
			c.exec("select pg_advisory_xact_lock($1, $2)", lockOfSeries, number(id))
			c.queue("select 1 from job where id = $1", number(id)).Exec(affected(1, errf("job %d: %w", id, store.ErrNotFound)))
		}
		if err := c.send(ctx); err != nil {
			return err
		}
		for _, id := range ids {
			if err := c.record(ctx, id, byJob[id]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record points: %w", err)
	}
	return nil
}

// record adds points to the existing ones, and keeps the series within its bound.
func (c *change) record(ctx context.Context, id job.ID, points map[int64]store.Point) error {
	var at []int64
	for ms := range points {
		at = append(at, ms)
	}
	there, err := readPoints(ctx, c.conn, id, "and at = any($2::bigint[])", at)
	if err != nil {
		return err
	}
	points = maps.Clone(points) // a retry starts from the original
	sums := make([]store.Point, 0, len(points))
	for _, old := range there {
		ms := milli(old.At)
		sums = append(sums, old.Plus(points[ms]))
		delete(points, ms)
	}
	for _, p := range points {
		sums = append(sums, p.Plus(store.Point{}))
	}
	if err := c.putPoints(id, sums); err != nil {
		return err
	}
	var n int64
	c.queue("select count(*) from point where job = $1", number(id)).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
	if err := c.send(ctx); err != nil || n <= store.MaxPoints {
		return err
	}
	all, err := readPoints(ctx, c.conn, id, "")
	if err != nil {
		return err
	}
	c.exec("delete from point where job = $1", number(id))
	return c.putPoints(id, store.Thin(all))
}

func (c *change) putPoints(id job.ID, points []store.Point) error {
	var at, spans []int64
	var data []string
	for i := range points {
		text, err := json.Marshal(points[i])
		if err != nil {
			return err
		}
		at, spans, data = append(at, milli(points[i].At)), append(spans, points[i].Span.Milliseconds()), append(data, string(text))
	}
	c.exec(`insert into point (job, at, span, data) select $1, * from unnest($2::bigint[], $3::bigint[], $4::text[])
		on conflict (job, at) do update set span = excluded.span, data = excluded.data`, number(id), at, spans, data)
	return nil
}

// Points implements [store.Series].
func (s *Store) Points(ctx context.Context, id job.ID) ([]store.Point, error) {
	var points []store.Point
	err := s.read(ctx, func(tx pgx.Tx) (err error) {
		if points, err = readPoints(ctx, tx, id, ""); err == nil && len(points) == 0 {
			_, err = s.counts(ctx, tx, id) // returns ErrNotFound if the job does not exist
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("points of job %d: %w", id, err)
	}
	return points, nil
}

func readPoints(ctx context.Context, q querier, id job.ID, where string, args ...any) ([]store.Point, error) {
	r, err := q.Query(ctx, "select at, span, data from point where job = $1 "+where+" order by at", append([]any{number(id)}, args...)...)
	if err != nil {
		return nil, err
	}
	var points []store.Point
	var at, span int64
	var data string
	_, err = pgx.ForEachRow(r, []any{&at, &span, &data}, func() error {
		p := store.Point{Job: id, At: instant(at), Span: time.Duration(span) * time.Millisecond}
		if err := json.Unmarshal([]byte(data), &p); err != nil {
			return fmt.Errorf("point of job %d: %w: %w", id, store.ErrCorrupt, err)
		}
		points = append(points, p)
		return nil
	})
	return points, err
}
