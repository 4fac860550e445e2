package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"headway/job"
	"headway/store"
)

// hostColumns are the columns that scanHost reads.
const hostColumns = `h.host, h.politeness, h.robots, h.pace_ms, h.floor_ms, h.hold_until, h.last_sent, h.rest`

const hostWidth = 8

func scanHost(row []driver.Value) store.Host {
	return store.Host{
		Host: text(row[0]), Politeness: orNil(row[1]), Robots: orNil(row[2]), Pace: millis(row[3]), Floor: millis(row[4]),
		HoldUntil: instant(integer(row[5])), LastSent: instant(integer(row[6])), Rest: instant(integer(row[7])),
	}
}

func millis(v driver.Value) time.Duration { return time.Duration(integer(v)) * time.Millisecond }

// orNil returns a blob, nil for both an empty one and null.
func orNil(v driver.Value) []byte {
	if b := blob(v); len(b) > 0 {
		return b
	}
	return nil
}

// Hosts implements [store.Hosts].
func (s *Store) Hosts(ctx context.Context, q store.HostQuery) (store.HostPage, error) {
	for {
		jobs, err := s.jobsWithWork(ctx, q.Job)
		if err != nil {
			return store.HostPage{}, fmt.Errorf("hosts: %w", err)
		}
		page, err := s.hostPage(ctx, q, jobs)
		if err == nil {
			return page, nil
		}
		if now, again := s.jobsWithWork(ctx, q.Job); again != nil || slices.Equal(now, jobs) {
			return store.HostPage{}, fmt.Errorf("hosts: %w", err)
		} // else a job was dropped meanwhile
	}
}

// hostPage reads one page of the hosts that have work of the given jobs.
func (s *Store) hostPage(ctx context.Context, q store.HostQuery, jobs []*jobTables) (store.HostPage, error) {
	var page store.HostPage
	limit := min(max(q.Max, 1), store.MaxPage)
	if len(jobs) == 0 || len(q.Slots) == 0 {
		return page, nil
	}
	var rest, id int64
	if q.After != "" {
		if _, err := fmt.Sscanf(string(q.After), "%d %d", &rest, &id); err != nil {
			return page, fmt.Errorf("cursor %q does not belong to this list", q.After)
		}
	}
	has := make([]string, len(jobs))
	for i, t := range jobs {
		has[i] = t.hasWork
	}
	columns := slices.Clone(has)
	if len(jobs) == 1 {
		columns[0] = "1" // implied by the condition
	}
	where := "(h.rest, h.id) > (?1, ?2)"
	args := []driver.Value{rest, id, int64(limit + 1)}
	if len(q.Slots) < store.SlotCount {
		slots, err := json.Marshal(q.Slots)
		if err != nil {
			return page, err
		}
		where += " and h.slot in (select value from json_each(?4))"
		args = append(args, string(slots))
	}
	query := fmt.Sprintf("select %s, h.id, %s from host h where %s and (%s) order by h.rest, h.id limit 0 + ?3", hostColumns, strings.Join(columns, ", "), where, strings.Join(has, " or "))
	err := s.ask(ctx, func(c *conn) error {
		return c.query(ctx, query, args, func(row []driver.Value) error {
			if len(page.Hosts) == limit {
				page.Next = store.HostCursor(fmt.Sprintf("%d %d", rest, id))
				return nil
			}
			w := store.HostWork{Host: scanHost(row)}
			rest, id = integer(row[7]), integer(row[hostWidth])
			for i, t := range jobs {
				if integer(row[hostWidth+1+i]) != 0 {
					w.Jobs = append(w.Jobs, store.JobHost{Job: t.id, Host: w.Host.Host})
				}
			}
			page.Hosts = append(page.Hosts, w)
			return nil
		})
	})
	return page, err
}

// jobsWithWork lists the jobs that a query for hosts selects, by number.
func (s *Store) jobsWithWork(ctx context.Context, only job.ID) ([]*jobTables, error) {
	ids := []job.ID{only}
	if only == 0 {
		ids = nil
		err := s.ask(ctx, func(c *conn) error {
			return c.query(ctx, "select id, state from job order by id", nil, func(row []driver.Value) error {
				if store.Active(job.State(text(row[1]))) {
					ids = append(ids, job.ID(integer(row[0])))
				}
				return nil
			})
		})
		if err != nil {
			return nil, err
		}
	}
	s.tablesMu.RLock()
	defer s.tablesMu.RUnlock()
	var list []*jobTables
	for _, id := range ids {
		if t := s.jobs[id]; t != nil {
			list = append(list, t)
		}
	}
	return list, nil
}

// Host implements [store.Hosts].
func (s *reader) Host(ctx context.Context, host string) (store.Host, error) {
	var h store.Host
	err := s.ask(ctx, func(c *conn) error {
		return c.query(ctx, "select "+hostColumns+" from host h where h.host = ? and h.politeness is not null", []driver.Value{host}, func(row []driver.Value) error {
			h = scanHost(row)
			return nil
		})
	})
	if err == nil && h.Host == "" {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Host{}, fmt.Errorf("host %s: %w", host, err)
	}
	return h, nil
}

// HostList implements [store.Reader].
func (s *reader) HostList(ctx context.Context, q store.HostListQuery) (store.HostListPage, error) {
	var page store.HostListPage
	limit := min(max(q.Max, 1), store.MaxPage)
	err := s.askJob(ctx, q.Job, func(c *conn, t *jobTables) error {
		var after int64
		if q.After != "" {
			var err error
			if after, err = strconv.ParseInt(string(q.After), 10, 64); err != nil {
				return fmt.Errorf("cursor %q does not belong to this list", q.After)
			}
		}
		return c.query(ctx, t.listHosts, []driver.Value{after, int64(limit + 1), q.Host}, func(row []driver.Value) error {
			if len(page.Hosts) == limit {
				page.Next = store.HostCursor(strconv.FormatInt(after, 10))
				return nil
			}
			after = integer(row[hostWidth])
			page.Hosts = append(page.Hosts, store.HostEntry{Host: scanHost(row), Waiting: integer(row[hostWidth+1]), Incidents: integer(row[hostWidth+2])})
			return nil
		})
	})
	if err != nil {
		return store.HostListPage{}, fmt.Errorf("list hosts of job %d: %w", q.Job, err)
	}
	return page, nil
}

// PaceChanges implements [store.Hosts].
func (s *reader) PaceChanges(ctx context.Context, host string) ([]store.PaceChange, error) {
	var list []store.PaceChange
	err := s.ask(ctx, func(c *conn) error {
		return c.query(ctx, "select at, from_ms, to_ms, cause from pace_change where host = (select id from host where host = ?) order by id", []driver.Value{host}, func(row []driver.Value) error {
			list = append(list, store.PaceChange{Host: host, At: instant(integer(row[0])), From: millis(row[1]), To: millis(row[2]), Cause: text(row[3])})
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("pace changes of %s: %w", host, err)
	}
	return list, nil
}

// Robots implements [store.Hosts].
func (s *reader) Robots(ctx context.Context, sum [32]byte) (store.RobotsVersion, error) {
	v := store.RobotsVersion{Sum: sum}
	err := s.ask(ctx, func(c *conn) error {
		found := false
		err := c.query(ctx, "select fetched_at, body from robots where sum = ?", []driver.Value{sum[:]}, func(row []driver.Value) error {
			found = true
			v.FetchedAt, v.Body = instant(integer(row[0])), blob(row[1])
			return nil
		})
		if err == nil && !found {
			err = store.ErrNotFound
		}
		return err
	})
	if err != nil {
		return store.RobotsVersion{}, fmt.Errorf("robots.txt %x: %w", sum, err)
	}
	return v, nil
}
