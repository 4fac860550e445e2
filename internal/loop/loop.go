// Package loop is one goroutine that owns what is remembered. Others work for it in the
// background: they are given what they need, ask somebody who may take long to answer,
// and hand the answer to the goroutine, which alone changes anything. Time is counted
// from its beginning, so that a clock that is set does no harm.
package loop

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Config is what a loop is told about its questions.
type Config struct {
	// Room is how many answers may wait for their turn. Who has another one waits.
	Room int
	// Asked hears how each try of a question went; it may be called from many
	// goroutines.
	Asked func(ctx context.Context, err error)
	// Again tells whether a question that failed is put again.
	Again func(err error) bool
	// Scarce tells whether it failed for want of something of this machine, which is
	// waited for.
	Scarce func(err error) bool
	Log    *slog.Logger
}

// Loop is one goroutine and what others have for it. Its methods belong to that
// goroutine, except where they say otherwise.
type Loop struct {
	cfg     Config
	began   time.Time
	shift   context.Context
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

// Began is when that was. It may be called from any goroutine, once it has begun.
func (l *Loop) Began() time.Time { return l.began }

// Now is the time by which everything is scheduled: it never runs backwards. It may be
// called from any goroutine.
func (l *Loop) Now() time.Time { return l.Steady(time.Now()) }

// Steady turns a moment of this process into one by [Loop.Now].
func (l *Loop) Steady(t time.Time) time.Time {
	return l.began.Round(0).Add(t.Sub(l.began)).UTC()
}

// Fail ends the loop with an error; the first one counts.
func (l *Loop) Fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// FailUnless fails for an error that is not the end of ctx.
func (l *Loop) FailUnless(ctx context.Context, err error) {
	if ctx.Err() == nil {
		l.Fail(err)
	}
}

// Err is what it failed with.
func (l *Loop) Err() error { return l.err }

// WakeAt makes the loop sleep no longer than until a time.
func (l *Loop) WakeAt(at time.Time) {
	if l.wake.IsZero() || at.Before(l.wake) {
		l.wake = at
	}
}

// SleepUntil sets the time until which it sleeps unless something happens; zero for
// ever.
func (l *Loop) SleepUntil(at time.Time) { l.wake = at }

// Sleep is how long to sleep unless something happens.
func (l *Loop) Sleep(now time.Time) time.Duration {
	if l.wake.IsZero() {
		return time.Hour
	}
	return max(l.wake.Sub(now), 0)
}

// Post hands something to the loop, from any other goroutine. It blocks while the loop
// is behind.
func (l *Loop) Post(f func(now time.Time)) { l.answers <- f }

// Offer is [Loop.Post] until ctx ends. It tells whether the loop has it.
func (l *Loop) Offer(ctx context.Context, f func(now time.Time)) bool {
	select {
	case l.answers <- f:
		return true
	case <-ctx.Done():
		return false
	}
}

// Answers is what the loop receives from, to give it to [Loop.Take].
func (l *Loop) Answers() <-chan func(now time.Time) { return l.answers }

// Take takes an answer, and those that came in the meantime.
func (l *Loop) Take(f func(now time.Time)) {
	f(l.Now())
	for n := len(l.answers); n > 0; n-- {
		f := <-l.answers
		f(l.Now())
	}
}

// Go does something in the background.
func (l *Loop) Go(f func()) { l.others.Go(f) }

// End waits until nothing is done in the background any more, and until the helpers are
// done. Whoever still posts is heard and ignored.
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
