package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"headway/store"
)

// together is a transaction shared by several changes.
type together struct {
	c       *change
	lookups *pgxpool.Conn // shared by all lookups; nil before the first
	after   []func()      // called after the commit
}

type togetherKey struct{}

// togetherOf is the shared transaction of a context; nil for none.
func togetherOf(ctx context.Context) *together {
	t, _ := ctx.Value(togetherKey{}).(*together)
	return t
}

// apart is a context whose changes are separate transactions. It releases the connection for
// lookups: with that of a separate transaction, the caller would hold three.
func apart(ctx context.Context) context.Context {
	if t := togetherOf(ctx); t != nil {
		t.release()
	}
	return context.WithValue(ctx, togetherKey{}, (*together)(nil))
}

// reader runs lookups.
type reader interface {
	querier
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error)
}

// reading returns what a lookup runs on: the pool, or within [Store.Together] a second
// connection for all of its lookups, because they must not see its changes. There the rows
// of one lookup have to be closed before the next one.
func (s *Store) reading(ctx context.Context) reader {
	t := togetherOf(ctx)
	if t == nil {
		return s.pool
	}
	if t.lookups != nil && t.lookups.Conn().IsClosed() { // the context of a lookup ended
		t.release()
	}
	if t.lookups == nil {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return unread{err}
		}
		t.lookups = conn
	}
	return t.lookups
}

// release returns the connection for lookups to the pool.
func (t *together) release() {
	if t.lookups != nil {
		t.lookups.Release()
		t.lookups = nil
	}
}

// unread is a reader without a connection.
type unread struct{ err error }

func (u unread) Query(context.Context, string, ...any) (pgx.Rows, error) { return nil, u.err }
func (u unread) QueryRow(context.Context, string, ...any) pgx.Row        { return u }
func (u unread) BeginTx(context.Context, pgx.TxOptions) (pgx.Tx, error)  { return nil, u.err }
func (u unread) Scan(...any) error                                       { return u.err }

// Together implements [store.Control].
func (s *Store) Together(ctx context.Context, do func(context.Context) error) error {
	if togetherOf(ctx) != nil {
		return do(ctx)
	}
	// Each holds a connection, and may need another for its lookups.
	select {
	case s.joint <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.joint }()
	var t *together
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		t = &together{c: c}
		defer t.release()
		return do(context.WithValue(ctx, togetherKey{}, t))
	})
	if err != nil {
		return err
	}
	for _, do := range t.after {
		do()
	}
	return nil
}

// join makes a change part of the shared transaction.
func (t *together) join(ctx context.Context, do func(context.Context, *change) error) error {
	if err := do(ctx, t.c); err != nil {
		return err
	}
	return wrap(t.c.send(ctx))
}

// afterCommit calls a function after a change is committed: at once, or after the shared
// transaction that it is a part of.
func afterCommit(ctx context.Context, do func(context.Context)) {
	if t := togetherOf(ctx); t != nil {
		t.after = append(t.after, func() { do(apart(ctx)) })
		return
	}
	do(ctx)
}

// news notifies all workers of a change, after it is committed.
func (s *Store) news(ctx context.Context, what store.News) {
	afterCommit(ctx, func(context.Context) { s.notifier.notify(what, everybody) })
}
