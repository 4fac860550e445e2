package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"headway/job"
	"headway/store"
)

// Record implements [store.Series].
func (s *Store) Record(ctx context.Context, points []store.Point) error {
	for i := range points {
		if err := points[i].Check(); err != nil {
			return err
		}
	}
	err := s.change(ctx, func(ctx context.Context) error {
		jobs := map[job.ID]bool{}
		for _, p := range points {
			if _, err := s.tables(p.Job); err != nil {
				return err
			}
			jobs[p.Job] = true
			if err := s.record(ctx, p); err != nil {
				return err
			}
		}
		for id := range jobs {
			if err := s.thin(ctx, id); err != nil {
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

// record adds a point to the one at its time, if there is one. There is a point every ten
// seconds, so one statement each is fast enough.
func (s *Store) record(ctx context.Context, p store.Point) error {
	sum := p
	err := s.w.query(ctx, "select at, span, data from point where job = ? and at = ?", []driver.Value{int64(p.Job), milli(p.At)}, func(row []driver.Value) error {
		old, err := scanPoint(p.Job, row)
		sum = old.Plus(p)
		return err
	})
	if err != nil {
		return err
	}
	return s.putPoint(ctx, sum)
}

func (s *Store) putPoint(ctx context.Context, p store.Point) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_, err = s.w.exec(ctx, "insert into point (job, at, span, data) values (?, ?, ?, ?) on conflict (job, at) do update set span = excluded.span, data = excluded.data",
		int64(p.Job), milli(p.At), p.Span.Milliseconds(), string(data))
	return err
}

// thin keeps a series within its bound.
func (s *Store) thin(ctx context.Context, id job.ID) error {
	var n int64
	if _, err := s.w.one(ctx, "select count(*) from point where job = ?", []driver.Value{int64(id)}, &n); err != nil || n <= store.MaxPoints {
		return err
	}
	points, err := readPoints(ctx, s.w, id)
	if err != nil {
		return err
	}
	if _, err := s.w.exec(ctx, "delete from point where job = ?", int64(id)); err != nil {
		return err
	}
	for _, p := range store.Thin(points) {
		if err := s.putPoint(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// Points implements [store.Series].
func (s *reader) Points(ctx context.Context, id job.ID) ([]store.Point, error) {
	var points []store.Point
	err := s.askJob(ctx, id, func(c *conn, _ *jobTables) (err error) {
		points, err = readPoints(ctx, c, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("points of job %d: %w", id, err)
	}
	return points, nil
}

func readPoints(ctx context.Context, c *conn, id job.ID) ([]store.Point, error) {
	var points []store.Point
	err := c.query(ctx, "select at, span, data from point where job = ? order by at", []driver.Value{int64(id)}, func(row []driver.Value) error {
		p, err := scanPoint(id, row)
		points = append(points, p)
		return err
	})
	return points, err
}

func scanPoint(id job.ID, row []driver.Value) (store.Point, error) {
	p := store.Point{Job: id, At: instant(integer(row[0])), Span: time.Duration(integer(row[1])) * time.Millisecond}
	if err := json.Unmarshal([]byte(text(row[2])), &p); err != nil {
		return store.Point{}, fmt.Errorf("point of job %d: %w: %w", id, store.ErrCorrupt, err)
	}
	return p, nil
}
