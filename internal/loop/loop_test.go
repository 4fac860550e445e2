package loop_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"headway/internal/loop"
)

var errPasses, errStays = errors.New("it passes"), errors.New("it stays")

// newLoop has room for one result and retries errPasses.
func newLoop(t *testing.T) *loop.Loop {
	l := loop.New(loop.Config{
		Room: 1, Log: slog.New(slog.DiscardHandler), OnAttempt: func(context.Context, error) {},
		Retryable: func(err error) bool { return errors.Is(err, errPasses) },
		Scarce:    func(error) bool { return false },
	})
	l.Begin()
	l.During(t.Context())
	return l
}

// next runs what is posted within a time, and reports whether anything was.
func next(l *loop.Loop, within time.Duration) bool {
	select {
	case f := <-l.Answers():
		l.Take(f)
		return true
	case <-time.After(within):
		return false
	}
}

// TestAsk retries a query until it succeeds, and delivers the result once.
func TestAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t)
		began, tries, got := l.Now(), 0, 0
		loop.Ask(t.Context(), l, func(context.Context) (int, error) {
			if tries++; tries < 4 {
				return 0, errPasses
			}
			return 42, nil
		}, func(now time.Time, v int, err error) {
			if got = v; err != nil {
				t.Error(err)
			}
			// Half a second, one, two.
			if took := now.Sub(began); took != 3500*time.Millisecond {
				t.Errorf("answered after %v", took)
			}
		})
		if !next(l, time.Minute) || got != 42 || next(l, time.Minute) {
			t.Errorf("got %d", got)
		}
		l.End(func() {})
	})
}

// TestAskFails delivers a permanent error at once. Once does so with every error.
func TestAskFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t)
		var errs []error
		note := func(_ time.Time, _ int, err error) { errs = append(errs, err) }
		loop.Ask(t.Context(), l, func(context.Context) (int, error) { return 0, errStays }, note)
		next(l, time.Second)
		loop.Once(t.Context(), l, func(context.Context) (int, error) { return 0, errPasses }, note)
		next(l, time.Second)
		loop.Do(t.Context(), l, func(context.Context) error { return errStays }, func(now time.Time, err error) { note(now, 0, err) })
		next(l, time.Second)
		if !slices.Equal(errs, []error{errStays, errPasses, errStays}) {
			t.Errorf("reported %v", errs)
		}
	})
}

// TestCancel ends retries with the query's context or that of all work. The loop does not
// fail.
func TestCancel(t *testing.T) {
	for _, all := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := newLoop(t)
			ctx, cancel := context.WithCancel(t.Context())
			asking := ctx
			if all {
				l.During(ctx)
				asking = t.Context()
			}
			heard := false
			loop.Do(asking, l, func(context.Context) error { return errPasses }, func(_ time.Time, err error) {
				heard = true
				l.FailUnless(ctx, err)
			})
			time.Sleep(time.Minute)
			cancel()
			if !next(l, time.Second) || !heard || l.Err() != nil {
				t.Errorf("reported %v, failed with %v", heard, l.Err())
			}
			l.End(func() {})
		})
	}
}

// TestBackPressure blocks goroutines with more results than there is room for, and loses
// none.
func TestBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t)
		var posted atomic.Int32
		taken := 0
		l.Go(func() {
			for range 10 {
				l.Post(func(time.Time) { taken++ })
				posted.Add(1)
			}
		})
		synctest.Wait()
		if n := posted.Load(); n != 1 {
			t.Errorf("%d were posted while none was taken", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if l.Offer(ctx, func(time.Time) {}) {
			t.Error("there was room for an offer")
		}
		for next(l, time.Second) {
		}
		if n := posted.Load(); n != 10 || taken != 10 {
			t.Errorf("%d posted and %d taken", n, taken)
		}
	})
}

// TestPanic checks that a panic in a posted function ends the loop's goroutine, because the
// state can no longer be trusted.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t)
		loop.Once(t.Context(), l, func(context.Context) (int, error) { return 0, nil }, func(time.Time, int, error) { panic("broken") })
		defer func() {
			if recover() != "broken" {
				t.Error("the panic was swallowed")
			}
			l.End(func() {})
		}()
		next(l, time.Second)
	})
}

// TestEnd waits for background work and drops what is posted later.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t)
		for range 5 {
			loop.Once(t.Context(), l, func(context.Context) (int, error) {
				time.Sleep(time.Second)
				return 0, nil
			}, func(time.Time, int, error) { t.Error("called after the end") })
		}
		began, helped := time.Now(), false
		l.End(func() { helped = true })
		if took := time.Since(began); took != time.Second || !helped {
			t.Errorf("took %v, helpers waited for: %v", took, helped)
		}
	})
}

// TestFail keeps the first error.
func TestFail(t *testing.T) {
	l := newLoop(t)
	l.Fail(nil)
	l.Fail(errStays)
	l.Fail(errPasses)
	if !errors.Is(l.Err(), errStays) {
		t.Error(l.Err())
	}
}

// TestSleep sleeps until the earliest time it was given.
func TestSleep(t *testing.T) {
	l := newLoop(t)
	now := l.Now()
	if d := l.Sleep(now); d < time.Minute {
		t.Errorf("sleeps %v with nothing to do", d)
	}
	l.SleepUntil(now.Add(5 * time.Second))
	l.WakeAt(now.Add(3 * time.Second))
	l.WakeAt(now.Add(4 * time.Second))
	if d := l.Sleep(now); d != 3*time.Second {
		t.Errorf("sleeps %v", d)
	}
	if d := l.Sleep(now.Add(time.Minute)); d != 0 {
		t.Errorf("sleeps %v when it is late", d)
	}
}
