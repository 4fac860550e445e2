package postgres

import (
	"context"

	"headway/store"
)

// together is a transaction that several changes have in common.
type together struct {
	c     *change
	after []func() // what is to be done once it is committed
}

type togetherKey struct{}

// togetherOf is the transaction that the changes of a context belong to, nil for none.
func togetherOf(ctx context.Context) *together {
	t, _ := ctx.Value(togetherKey{}).(*together)
	return t
}

// apart is a context whose changes are transactions of their own.
func apart(ctx context.Context) context.Context {
	return context.WithValue(ctx, togetherKey{}, (*together)(nil))
}

// Together implements [store.Control].
func (s *Store) Together(ctx context.Context, do func(context.Context) error) error {
	if togetherOf(ctx) != nil {
		return do(ctx)
	}
	// Each holds a connection, and may need another to look something up.
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
	for _, told := range t.after {
		told()
	}
	return nil
}

// join makes a change part of the transaction of others.
func (t *together) join(ctx context.Context, do func(context.Context, *change) error) error {
	if err := do(ctx, t.c); err != nil {
		return err
	}
	return wrap(t.c.send(ctx))
}

// news tells all workers of what a change made, once it is there.
func (s *Store) news(ctx context.Context, what store.News) {
	tell := func() { s.notifier.tell(what, everybody) }
	if t := togetherOf(ctx); t != nil {
		t.after = append(t.after, tell)
		return
	}
	tell()
}
