package fetch

import (
	"context"
	"sync"
	"time"
)

// watch ends an exchange when one of its timeouts expires. It uses one timer: when it
// fires, the timeouts of the current phase are checked, and the timer is set to the
// next one. Most exchanges end before it fires once.
type watch struct {
	cfg    *Config
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	timer  *time.Timer
	phase  Phase
	limit  time.Duration // timeout of the whole exchange
	start  time.Time     // start of the exchange
	since  time.Time     // start of the phase
	last   time.Time     // last arrival of body bytes
	wire   int64         // bytes of the body so far
	paused time.Time     // set while the server waits for us
}

// newWatch starts the timeouts. The returned context ends with a *TimeoutError as its
// cause when one expires; stop must be called.
func newWatch(ctx context.Context, cfg *Config, limit time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	now := time.Now()
	w := &watch{cfg: cfg, cancel: cancel, limit: limit, start: now, since: now, phase: PhaseConnect}
	w.mu.Lock() // the timer may fire before it is stored
	w.timer = time.AfterFunc(limit, w.fire)
	w.mu.Unlock()
	return ctx, w
}

// stop stops the timer and cancels the context.
func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// enter starts a phase.
func (w *watch) enter(p Phase) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.phase = p
	w.since = time.Now()
	w.last = w.since
	w.arm(w.since)
}

// progress counts n more bytes of the body.
func (w *watch) progress(n int) {
	w.mu.Lock()
	w.wire += int64(n)
	w.last = time.Now()
	w.mu.Unlock()
}

// pause stops the timeouts: from now on the server waits for us.
func (w *watch) pause() {
	w.mu.Lock()
	w.paused = time.Now()
	w.mu.Unlock()
}

// resume extends all timeouts by the length of the pause.
func (w *watch) resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	rest := now.Sub(w.paused)
	w.paused = time.Time{}
	w.start, w.since, w.last = w.start.Add(rest), w.since.Add(rest), w.last.Add(rest)
	w.arm(now)
}

// fire checks the timeouts.
func (w *watch) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paused.IsZero() {
		w.arm(time.Now())
	}
}

// arm cancels if a timeout has expired, or sets the timer for the next one. Callers
// hold w.mu.
func (w *watch) arm(now time.Time) {
	at, what := w.next()
	if now.Before(at) {
		w.timer.Reset(at.Sub(now))
		return
	}
	w.cancel(what)
}

// next returns the timeout that expires first.
func (w *watch) next() (time.Time, *TimeoutError) {
	at := w.start.Add(w.limit)
	what := &TimeoutError{"not finished within", w.limit}
	sooner := func(t time.Time, name string, limit time.Duration) {
		if t.Before(at) {
			at, what = t, &TimeoutError{name, limit}
		}
	}
	switch w.phase {
	case PhaseHeader:
		sooner(w.since.Add(w.cfg.HeaderTimeout), "no header within", w.cfg.HeaderTimeout)
	case PhaseBody:
		sooner(w.last.Add(w.cfg.IdleTimeout), "no data received for", w.cfg.IdleTimeout)
		// Until then, the bytes so far satisfy the minimum rate.
		enough := time.Duration(float64(w.wire) / float64(w.cfg.LeastRate) * float64(time.Second))
		sooner(w.since.Add(max(w.cfg.LeastRateAfter, enough)), "data rate too low over", max(w.cfg.LeastRateAfter, enough))
	}
	return at, what
}
