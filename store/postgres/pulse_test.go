package postgres

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
)

// TestCommitLine commits on one connection as long as it works, whatever else uses the pool.
func TestCommitLine(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	acquire := func() (pid uint32, conn *pgxpool.Conn, release func(bool)) {
		t.Helper()
		conn, release, err := s.committing(t.Context())
		fatal(t, err)
		return conn.Conn().PgConn().PID(), conn, release
	}
	first, _, release := acquire()
	other, _, also := acquire() // while the first is in use
	if other == first {
		t.Fatal("two commits on one connection")
	}
	also(true)
	release(true)
	for range 3 {
		conn, err := s.pool.Acquire(t.Context()) // another query
		fatal(t, err)
		pid, _, release := acquire()
		if pid != first {
			t.Errorf("commits moved from connection %d to %d", first, pid)
		}
		release(true)
		conn.Release()
	}
	fatal(t, execOn(context.Background(), cluster.DSN("postgres"), fmt.Sprintf("select pg_terminate_backend(%d, 60000)", first)))
	pid, conn, release := acquire()
	if pid == first {
		t.Error("the connection ended, and is still used")
	}
	if _, err := conn.Exec(t.Context(), "select 1"); err != nil {
		t.Error(err)
	}
	release(true)
}
