package loop

import (
	"context"
	"time"

	"headway/fetch/guard"
)

// Ask runs a query in the background, with retries, and hands the result to the loop.
func Ask[T any](ctx context.Context, l *Loop, question func(ctx context.Context) (T, error), answer func(now time.Time, v T, err error)) {
	l.Go(func() {
		var v T
		err := l.Retry(ctx, func() (err error) {
			v, err = question(ctx)
			return err
		})
		l.Post(func(now time.Time) { answer(now, v, err) })
	})
}

// Do is [Ask] for a call without a result.
func Do(ctx context.Context, l *Loop, do func(ctx context.Context) error, done func(now time.Time, err error)) {
	l.Go(func() {
		err := l.Retry(ctx, func() error { return do(ctx) })
		l.Post(func(now time.Time) { done(now, err) })
	})
}

// Once is [Ask] without retries: the loop repeats the query at its next turn.
func Once[T any](ctx context.Context, l *Loop, question func(ctx context.Context) (T, error), answer func(now time.Time, v T, err error)) {
	l.Go(func() {
		v, err := question(ctx)
		l.Post(func(now time.Time) { answer(now, v, err) })
	})
}

// Backoff of retries: it doubles from RetryFirst to RetryLast.
const (
	RetryFirst = 500 * time.Millisecond
	RetryLast  = 2 * time.Second
)

// During sets the context that ends all retries; see [Loop.Retry].
func (l *Loop) During(ctx context.Context) { l.workCtx = ctx }

// Retry calls do until it succeeds, fails for good, or either ctx or the context of
// [Loop.During] ends. It may be called from any goroutine but the loop's.
func (l *Loop) Retry(ctx context.Context, do func() error) error {
	return l.RetryWith(ctx, l.cfg.OnAttempt, do)
}

// RetryWith is [Loop.Retry] with a function of its own to be called after each attempt.
func (l *Loop) RetryWith(ctx context.Context, onAttempt func(ctx context.Context, err error), do func() error) error {
	var scarce guard.DescriptorWait
	for wait := RetryFirst; ; wait = min(2*wait, RetryLast) {
		err := do()
		onAttempt(ctx, err)
		if err == nil {
			return nil
		}
		if l.cfg.Scarce(err) && scarce.Wait(ctx) {
			continue
		}
		if !l.cfg.Retryable(err) {
			return err
		}
		l.cfg.Log.Warn("store request failed, retrying", "err", err)
		select {
		case <-ctx.Done():
			return err
		case <-l.workCtx.Done():
			return err
		case <-time.After(wait):
		}
	}
}
