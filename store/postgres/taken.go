package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"headway/job"
	"headway/store"
)

// TakeHosts implements [store.Budget]. Callers for the same job are serialised, so each
// counts all hosts; commits do not wait for them.
func (s *Store) TakeHosts(ctx context.Context, id job.ID, most int64, hosts []string) (store.Taken, error) {
	if err := store.CheckTake(most, hosts); err != nil {
		return store.Taken{}, err
	}
	var t store.Taken
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		t = store.Taken{}
		c.lockJobs([]int32{number(id)})
		c.exec("select pg_advisory_xact_lock($1, $2)", lockOfTaken, number(id))
		if len(hosts) > 0 {
			c.exec(`insert into taken (job, host) select $1, w.host
				from (select host, min(ord) as ord from unnest($2::text[]) with ordinality as w (host, ord) group by host) as w
				where exists (select from job where id = $1) and not exists (select from taken t where t.job = $1 and t.host = w.host)
				order by w.ord limit greatest($3::bigint - (select count(*) from taken where job = $1), 0)`, number(id), hosts, most)
		}
		c.queue("select count(*) from taken where job = $1", number(id)).QueryRow(func(row pgx.Row) error { return row.Scan(&t.N) })
		var host string
		c.queue("select host from taken where job = $1 and (host = any($2::text[]) or (select count(*) from taken where job = $1) >= $3) order by host", number(id), hosts, most).
			Query(rows([]any{&host}, func() error {
				t.Hosts = append(t.Hosts, host)
				return nil
			}))
		c.queue("select 1 from job where id = $1", number(id)).QueryRow(func(row pgx.Row) error {
			var one int
			err := row.Scan(&one)
			if noRows(err) {
				err = store.ErrNotFound
			}
			return err
		})
		return c.send(ctx)
	})
	if err != nil {
		return store.Taken{}, fmt.Errorf("take hosts of job %d: %w", id, err)
	}
	return t, nil
}
