package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// reader runs queries on a crawl file: the common part of [Store] and [View].
type reader struct {
	path string
	key  weburl.Key

	// foreign says that another process may create and drop jobs, so what is known about
	// them is checked with each query.
	foreign bool

	endings map[store.Ending]int64
	ending  map[int64]store.Ending

	read   chan *conn // connections, when idle
	opened int        // their number

	tablesMu sync.RWMutex // guards jobs
	jobs     map[job.ID]*jobTables
}

func newReader(path string) reader {
	return reader{
		path: path, endings: map[store.Ending]int64{}, ending: map[int64]store.Ending{},
		read: make(chan *conn, readers), jobs: map[job.ID]*jobTables{},
	}
}

// openReading opens a connection that cannot change anything.
func openReading(uri string) (*conn, error) {
	return openURI(uri, "query_only = on", "trusted_schema = off", fmt.Sprintf("cache_size = %d", -readCache/1024))
}

// connect opens the connections.
func (s *reader) connect(uri string) error {
	for s.opened < readers {
		c, err := openReading(uri)
		if err != nil {
			return err
		}
		s.read <- c
		s.opened++
	}
	return nil
}

// disconnect waits for running queries and closes the connections.
func (s *reader) disconnect() error {
	var errs []error
	for range s.opened {
		errs = append(errs, (<-s.read).close())
	}
	s.opened = 0
	close(s.read)
	return errors.Join(errs...)
}

// Key returns the secret key of the store.
func (s *reader) Key() weburl.Key { return s.key }

// loadEndings reads the numbers of the endings.
func (s *reader) loadEndings(ctx context.Context, c *conn) error {
	return c.query(ctx, "select id, outcome, reason from ending", nil, func(row []driver.Value) error {
		e := store.Ending{Outcome: visit.Outcome(text(row[1])), Reason: visit.Reason(text(row[2]))}
		s.endings[e], s.ending[integer(row[0])] = integer(row[0]), e
		return nil
	})
}

// loadKey reads the secret key, if the file has one.
func (s *reader) loadKey(ctx context.Context, c *conn) (found bool, err error) {
	var key []byte
	if found, err = c.one(ctx, "select key from identity", nil, &key); err != nil || !found {
		return false, err
	}
	if copy(s.key[:], key) != len(s.key) {
		return false, fmt.Errorf("key of %d bytes: %w", len(key), store.ErrCorrupt)
	}
	return true, nil
}

// tablesOf returns the statements of a job, or ErrNotFound. A view queries the file, so
// it must not be called within ask there.
func (s *reader) tablesOf(ctx context.Context, id job.ID) (*jobTables, error) {
	s.tablesMu.RLock()
	t := s.jobs[id]
	s.tablesMu.RUnlock()
	switch {
	case s.foreign:
		if _, err := s.Job(ctx, id); err != nil {
			return nil, err
		}
	case t == nil:
		return nil, fmt.Errorf("job %d: %w", id, store.ErrNotFound)
	}
	if t == nil {
		t = newJobTables(id)
		s.setTables(id, t)
	}
	return t, nil
}

// setTables adds the tables of a job, or removes them if t is nil.
func (s *reader) setTables(id job.ID, t *jobTables) {
	s.tablesMu.Lock()
	defer s.tablesMu.Unlock()
	if t == nil {
		delete(s.jobs, id)
	} else {
		s.jobs[id] = t
	}
}

// askJob runs a query about one job.
func (s *reader) askJob(ctx context.Context, id job.ID, do func(c *conn, t *jobTables) error) error {
	t, err := s.tablesOf(ctx, id)
	if err != nil {
		return err
	}
	err = s.ask(ctx, func(c *conn) error { return do(c, t) })
	if err != nil {
		if _, dropped := s.tablesOf(ctx, id); errors.Is(dropped, store.ErrNotFound) {
			return dropped // during the query
		}
	}
	return err
}

// ask runs a query on a connection of its own.
func (s *reader) ask(ctx context.Context, do func(c *conn) error) error {
	select {
	case c, ok := <-s.read:
		if !ok {
			return errClosed
		}
		defer func() { s.read <- c }()
		return do(c)
	case <-ctx.Done():
		return ctx.Err()
	}
}
