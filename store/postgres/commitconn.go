package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// commitConn is the connection for commits, and is used for nothing else: PostgreSQL plans the
// statements of a commit once per connection, over all partitions, which costs more than a
// small commit. It is replaced when it breaks or has reached the lifetime of connections.
type commitConn struct {
	mu     sync.Mutex
	conn   *pgxpool.Conn // nil while there is none
	until  time.Time     // its lifetime
	used   time.Time
	closed bool
}

// acquireFunc returns a connection and a function that releases it.
type acquireFunc func(ctx context.Context) (conn *pgxpool.Conn, release func(), err error)

// acquire implements [acquireFunc] for any change.
func (s *Store) acquire(ctx context.Context) (conn *pgxpool.Conn, release func(), err error) {
	if conn, err = s.pool.Acquire(ctx); err != nil {
		return nil, nil, err
	}
	return conn, conn.Release, nil
}

// pingAfter is how long the connection may be unused before it is pinged.
const pingAfter = 10 * time.Second

// acquireForCommit implements [acquireFunc] for a commit. While another commit is in progress,
// which only tests do, it takes a connection of the pool.
func (s *Store) acquireForCommit(ctx context.Context) (conn *pgxpool.Conn, release func(), err error) {
	c := &s.commits
	if !c.mu.TryLock() {
		return s.acquire(ctx)
	}
	if c.closed {
		c.mu.Unlock()
		return s.acquire(ctx)
	}
	if c.conn != nil && (spoken(c.conn.Conn().PgConn().Conn()) || time.Since(c.used) > pingAfter) && c.conn.Ping(ctx) != nil {
		_ = c.conn.Conn().Close(ctx) // it does not work
		c.drop()
	}
	if c.conn == nil {
		if c.conn, err = s.pool.Acquire(ctx); err != nil {
			c.mu.Unlock()
			return nil, nil, err
		}
		c.until = time.Now().Add(s.pool.Config().MaxConnLifetime)
	}
	return c.conn, func() {
		c.used = time.Now()
		if c.conn.Conn().IsClosed() || c.conn.Conn().PgConn().TxStatus() != 'I' || c.used.After(c.until) {
			c.drop()
		}
		c.mu.Unlock()
	}, nil
}

// drop returns the connection to the pool, which closes it if it is broken or too old. The
// caller holds the lock.
func (c *commitConn) drop() {
	if c.conn != nil {
		c.conn.Release()
		c.conn = nil
	}
}

// close returns the connection for good, after the commit in progress.
func (c *commitConn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.drop()
}
