package loop

import (
	"context"
	"time"

	"headway/fetch/guard"
)

// Ask puts a question in the background, again where that helps, and hands the answer to
// the loop.
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

// Do is [Ask] for what has no answer but that it was done.
func Do(ctx context.Context, l *Loop, do func(ctx context.Context) error, done func(now time.Time, err error)) {
	l.Go(func() {
		err := l.Retry(ctx, func() error { return do(ctx) })
		l.Post(func(now time.Time) { done(now, err) })
	})
}

// Once is [Ask] for a question that is not put again when it fails: the loop asks anew
// when its time has come.
func Once[T any](ctx context.Context, l *Loop, question func(ctx context.Context) (T, error), answer func(now time.Time, v T, err error)) {
	l.Go(func() {
		v, err := question(ctx)
		l.Post(func(now time.Time) { answer(now, v, err) })
	})
}

// How soon a question is put again that failed; it takes longer each time.
const (
	RetryFirst = 500 * time.Millisecond
	RetryLast  = 2 * time.Second
)

// During says until when questions are put again; see [Loop.Retry].
func (l *Loop) During(shift context.Context) { l.shift = shift }

// Retry does something, again where that helps, until ctx ends or all that is under
// way. It may be called from any goroutine but the loop's.
func (l *Loop) Retry(ctx context.Context, do func() error) error {
	var scarce guard.Scarce
	for wait := RetryFirst; ; wait = min(2*wait, RetryLast) {
		err := do()
		l.cfg.Asked(ctx, err)
		if err == nil {
			return nil
		}
		if l.cfg.Scarce(err) && scarce.Wait(ctx) {
			continue
		}
		if !l.cfg.Again(err) {
			return err
		}
		l.cfg.Log.Warn("store request failed, retrying", "err", err)
		select {
		case <-ctx.Done():
			return err
		case <-l.shift.Done():
			return err
		case <-time.After(wait):
		}
	}
}
