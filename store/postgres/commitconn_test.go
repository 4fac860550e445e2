package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// TestCommitConn commits on one connection as long as it works, whatever else uses the pool and
// however a commit ends.
func TestCommitConn(t *testing.T) {
	s := openTest(t, t.TempDir(), nil)
	defer s.Close()
	failed := errors.New("failed")
	// commit is the connection that a change used.
	commit := func(result error, while func()) (pid uint32) {
		t.Helper()
		err := s.changeOn(t.Context(), s.acquireForCommit, func(ctx context.Context, c *change) error {
			pid = c.conn.Conn().PgConn().PID()
			while()
			c.exec("select 1")
			if err := c.send(ctx); err != nil {
				return err
			}
			return result
		})
		if !errors.Is(err, result) {
			t.Fatal(err)
		}
		return pid
	}
	nothing := func() {}
	var other uint32
	first := commit(nil, func() { other = commit(nil, nothing) })
	if other == first {
		t.Errorf("two commits at once on connection %d", first)
	}
	for _, result := range []error{nil, failed, nil} {
		conn, err := s.pool.Acquire(t.Context()) // another query
		fatal(t, err)
		if pid := commit(result, nothing); pid != first {
			t.Errorf("commits moved from connection %d to %d", first, pid)
		}
		conn.Release()
	}

	s.commits.used = time.Now().Add(-2 * pingAfter)
	if pid := commit(nil, nothing); pid != first {
		t.Errorf("after a pause commits moved from connection %d to %d", first, pid)
	}
	ended := func(pid uint32) {
		t.Helper()
		fatal(t, execOn(t.Context(), cluster.DSN("postgres"), fmt.Sprintf("select pg_terminate_backend(%d, 60000)", pid)))
	}
	ended(first)
	second := commit(nil, nothing)
	if second == first {
		t.Error("the connection had ended, and was used")
	}

	s.commits.until = time.Now()
	if commit(nil, nothing); s.commits.conn != nil {
		t.Error("a connection is kept beyond its lifetime")
	}

	closed := make(chan error)
	commit(nil, func() {
		go func() { closed <- s.Close() }()
	})
	fatal(t, <-closed)
	if s.commits.conn != nil || s.pool.Stat().TotalConns() != 0 {
		t.Errorf("%d connections are open", s.pool.Stat().TotalConns())
	}
}
