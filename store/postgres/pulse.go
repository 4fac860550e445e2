package postgres

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"headway/store"
)

// pulse is the connection for heartbeats. It is used for nothing else: a renewal that waits
// for a commit, or for a connection to be opened and its statement prepared, would be late
// on a slow network.
type pulse struct {
	mu   sync.Mutex
	conn *pgxpool.Conn // nil while there is none
}

// beatSQL increments the heartbeat of a worker.
const beatSQL = "update worker set heartbeat = heartbeat + 1 where id = $1"

// open prepares the connection. The caller holds the lock.
func (p *pulse) open(ctx context.Context, pool *pgxpool.Pool) error {
	if p.conn != nil {
		return nil
	}
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.Conn().Prepare(ctx, beatSQL, beatSQL); err != nil {
		conn.Release()
		return err
	}
	p.conn = conn
	return nil
}

// drop releases the connection. The caller holds the lock.
func (p *pulse) drop() {
	if p.conn != nil {
		p.conn.Release()
		p.conn = nil
	}
}

// readyPulse opens the heartbeat connection before time counts.
func (s *Store) readyPulse(ctx context.Context) error {
	s.pulse.mu.Lock()
	defer s.pulse.mu.Unlock()
	return s.pulse.open(ctx, s.pool)
}

// Renew implements [store.Slots].
func (s *Store) Renew(ctx context.Context, w store.WorkerID) error {
	if err := s.fault.Stop(beatSQL); err != nil {
		return wrap(err)
	}
	s.pulse.mu.Lock()
	defer s.pulse.mu.Unlock()
	err := s.pulse.open(ctx, s.pool)
	if err == nil {
		tag, beat := s.pulse.conn.Exec(ctx, beatSQL, w)
		if err = beat; err != nil {
			s.pulse.drop()
		} else if tag.RowsAffected() == 0 {
			err = store.ErrFenced
		}
	}
	if err != nil {
		return fmt.Errorf("renew worker %d: %w", w, wrap(err))
	}
	return nil
}
