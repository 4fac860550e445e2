package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"headway/job"
	"headway/store"
)

// takenSchema is created for a job with its first reservation: few jobs have a limit of
// hosts.
const takenSchema = `create table if not exists taken_{j} (host text primary key) without rowid, strict`

// TakeHosts implements [store.Budget].
func (s *Store) TakeHosts(ctx context.Context, id job.ID, most int64, hosts []string) (store.Taken, error) {
	if err := store.CheckTake(most, hosts); err != nil {
		return store.Taken{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var t store.Taken
	err := s.changeLocked(ctx, func(ctx context.Context) error {
		if _, err := s.tables(id); err != nil {
			return err
		}
		return s.takeHosts(ctx, id, most, hosts, &t)
	})
	if err != nil {
		return store.Taken{}, fmt.Errorf("take hosts of job %d: %w", id, err)
	}
	return t, nil
}

func (s *Store) takeHosts(ctx context.Context, id job.ID, most int64, hosts []string, t *store.Taken) error {
	if err := s.w.script(ctx, forJob(takenSchema, id)); err != nil {
		return err
	}
	asked := make(map[string]bool, len(hosts))
	for _, h := range hosts {
		asked[h] = true
		if _, err := s.w.exec(ctx, forJob("insert into taken_{j} (host) select ?1 where (select count(*) from taken_{j}) < ?2 on conflict do nothing", id), h, most); err != nil {
			return err
		}
	}
	if _, err := s.w.one(ctx, forJob("select count(*) from taken_{j}", id), nil, &t.N); err != nil {
		return err
	}
	return s.w.query(ctx, forJob("select host from taken_{j} order by host", id), nil, func(row []driver.Value) error {
		if h := text(row[0]); asked[h] || t.N >= most {
			t.Hosts = append(t.Hosts, h)
		}
		return nil
	})
}
