package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"headway/store"
	"headway/visit"
)

// Attempts implements [store.Reader].
func (s *reader) Attempts(ctx context.Context, q store.AttemptQuery) (store.AttemptPage, error) {
	var page store.AttemptPage
	most := min(max(q.Max, 1), store.MaxPage)
	err := s.askJob(ctx, q.Job, func(c *conn, t *jobTables) error {
		var url, n int64
		if q.After != "" {
			if _, err := fmt.Sscanf(string(q.After), "%d %d", &url, &n); err != nil {
				return fmt.Errorf("cursor %q does not belong to this list", q.After)
			}
		}
		type row struct {
			item   visit.Item
			visit  string
			url, n int64
		}
		var rows []row
		err := c.query(ctx, t.listAttempts, []driver.Value{q.Host, url, n, int64(most + 1)}, func(r []driver.Value) error {
			it, err := scanItem(q.Job, r)
			rest := r[itemWidth+2:]
			rows = append(rows, row{it, text(rest[0]), integer(rest[1]), integer(rest[2])})
			return err
		})
		if err != nil {
			return err
		}
		if len(rows) > most {
			rows = rows[:most]
			page.Next = store.Cursor(fmt.Sprintf("%d %d", rows[most-1].url, rows[most-1].n))
		}
		for i := range rows {
			v, err := decode(ctx, c, rows[i].visit, rows[i].item, store.Ending{Outcome: visit.Pending})
			if err != nil {
				return err
			}
			page.Attempts = append(page.Attempts, *v)
		}
		return nil
	})
	if err != nil {
		return store.AttemptPage{}, fmt.Errorf("attempts of job %d on %s: %w", q.Job, q.Host, err)
	}
	return page, nil
}
