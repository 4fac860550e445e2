package postgres

import (
	"context"

	"headway/store"
)

// together is a transaction shared by several changes.
type together struct {
	c     *change
	after []func() // called after the commit
}

type togetherKey struct{}

// togetherOf is the shared transaction of a context; nil for none.
func togetherOf(ctx context.Context) *together {
	t, _ := ctx.Value(togetherKey{}).(*together)
	return t
}

// apart is a context whose changes are separate transactions.
func apart(ctx context.Context) context.Context {
	return context.WithValue(ctx, togetherKey{}, (*together)(nil))
}

// Together implements [store.Control].
func (s *Store) Together(ctx context.Context, do func(context.Context) error) error {
	if togetherOf(ctx) != nil {
		return do(ctx)
	}
	// Each holds a connection, and may need another for lookups.
	select {
	case s.joint <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.joint }()
	var t *together
	err := s.change(ctx, func(ctx context.Context, c *change) error {
		t = &together{c: c}
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
