// Package loop is an event loop: one goroutine that owns all state. Background goroutines
// are given the values they need, do slow work such as store queries, and post the result
// to the loop, which alone changes state. Its time is monotonic, so that a change of the
// system clock does no harm.
package loop

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Config configures a loop and its retries.
type Config struct {
	// Room is how many results may wait for the loop. Further ones block.
	Room int
	// OnAttempt is called after each attempt of a query, from any goroutine.
	OnAttempt func(ctx context.Context, err error)
	// Retryable reports whether a failed query is worth a retry.
	Retryable func(err error) bool
	// Scarce reports whether it failed for lack of a local resource such as file
	// descriptors, which is waited for.
	Scarce func(err error) bool
	Log    *slog.Logger
}

// Loop is the goroutine and the results that wait for it. Its methods belong to that
// goroutine, except where they say otherwise.
type Loop struct {
	cfg     Config
	began   time.Time
	workCtx context.Context
	answers chan func(now time.Time)
	others  sync.WaitGroup
	wake    time.Time
	err     error
}

// New returns a loop that has not begun.
func New(cfg Config) *Loop {
	return &Loop{cfg: cfg, answers: make(chan func(time.Time), cfg.Room)}
}

// Begin starts the clock.
func (l *Loop) Begin() { l.began = time.Now() }

// Began is when the clock started. It may be called from any goroutine after Begin.
func (l *Loop) Began() time.Time { return l.began }

// Now is the loop's time, which never runs backwards. It may be called from any goroutine.
func (l *Loop) Now() time.Time { return l.Steady(time.Now()) }

// Steady converts a time of this process to the loop's time; see [Loop.Now].
func (l *Loop) Steady(t time.Time) time.Time {
	return l.began.Round(0).Add(t.Sub(l.began)).UTC()
}

// Fail ends the loop with an error. The first error is kept.
func (l *Loop) Fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// FailUnless fails unless ctx has ended.
func (l *Loop) FailUnless(ctx context.Context, err error) {
	if ctx.Err() == nil {
		l.Fail(err)
	}
}

// Err returns the error it failed with.
func (l *Loop) Err() error { return l.err }

// WakeAt limits the sleep to a time.
func (l *Loop) WakeAt(at time.Time) {
	if l.wake.IsZero() || at.Before(l.wake) {
		l.wake = at
	}
}

// SleepUntil sets the time until which the loop sleeps if nothing happens; zero is for
// ever.
func (l *Loop) SleepUntil(at time.Time) { l.wake = at }

// Sleep returns how long to sleep if nothing happens.
func (l *Loop) Sleep(now time.Time) time.Duration {
	if l.wake.IsZero() {
		return time.Hour
	}
	return max(l.wake.Sub(now), 0)
}

// Post hands a function to the loop, from any other goroutine. It blocks while the loop is
// behind.
func (l *Loop) Post(f func(now time.Time)) { l.answers <- f }

// Offer is [Loop.Post] until ctx ends. It reports whether the loop received it.
func (l *Loop) Offer(ctx context.Context, f func(now time.Time)) bool {
	select {
	case l.answers <- f:
		return true
	case <-ctx.Done():
		return false
	}
}

// Answers is the channel of posted functions, to be passed to [Loop.Take].
func (l *Loop) Answers() <-chan func(now time.Time) { return l.answers }

// Take runs a posted function and those that arrived meanwhile.
func (l *Loop) Take(f func(now time.Time)) {
	f(l.Now())
	for n := len(l.answers); n > 0; n-- {
		f := <-l.answers
		f(l.Now())
	}
}

// Go runs a function in the background.
func (l *Loop) Go(f func()) { l.others.Go(f) }

// End waits for all background work and for the helpers. Functions posted meanwhile are
// dropped.
func (l *Loop) End(helpers func()) {
	done := make(chan struct{})
	ignored := make(chan struct{})
	go func() {
		defer close(ignored)
		for {
			select {
			case <-l.answers:
			case <-done:
				return
			}
		}
	}()
	l.others.Wait()
	helpers()
	close(done)
	<-ignored
}
