package postgres

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// TestGone ends idle sessions of a store. That is noticed before they are used again: the
// next call succeeds.
func TestGone(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	const idle = 3
	var conns []*pgxpool.Conn
	for range idle { // concurrently, so that idle connections are opened
		conn, err := s.pool.Acquire(t.Context())
		fatal(t, err)
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		id := conn.Conn().PgConn().PID()
		conn.Release()
		// It returns when the session has ended.
		fatal(t, execOn(context.Background(), cluster.DSN("postgres"), fmt.Sprintf("select pg_terminate_backend(%d, 60000)", id)))
	}
	if n := s.pool.Stat().IdleConns(); n < idle {
		t.Fatalf("%d connections are idle, want %d", n, idle)
	}
	for range idle {
		if _, err := s.JobList(t.Context(), 0, 0); err != nil {
			t.Error(err)
		}
	}
}
