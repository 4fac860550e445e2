package fetch

import (
	"context"
	"sync"
	"time"
)

// An exchange makes progress if each stallAfter brings an address, a connection, the
// response header, or stallBytes of the body. A server that sends single bytes makes
// no progress.
const (
	stallAfter = time.Second
	stallBytes = 16 << 10
)

// stallDetector detects, once, that an exchange makes no progress. A nil stallDetector does nothing.
type stallDetector struct {
	slow   func() error
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	last  time.Time // of the last progress
	bytes int64     // of the body since then
	ours  int       // current waits caused by our own limits
	over  bool
}

// newStallDetector starts watching an exchange if slow is set. The returned context ends when
// slow returns an error.
func newStallDetector(ctx context.Context, slow func() error) (context.Context, *stallDetector) {
	if slow == nil {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p := &stallDetector{slow: slow, cancel: cancel, last: time.Now()}
	p.mu.Lock() // the timer may fire before it is stored
	p.timer = time.AfterFunc(stallAfter, p.fire)
	p.mu.Unlock()
	return ctx, p
}

// progress records progress.
func (p *stallDetector) progress() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.last, p.bytes = time.Now(), 0
	p.mu.Unlock()
}

// more counts body bytes.
func (p *stallDetector) more(n int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.bytes += int64(n)
	p.mu.Unlock()
}

// pause is called when the exchange waits for one of our own limits, which does not
// count as a slow host.
func (p *stallDetector) pause() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.ours++
	p.mu.Unlock()
}

// resume ends a pause.
func (p *stallDetector) resume() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.ours--
	p.last, p.bytes = time.Now(), 0
	p.mu.Unlock()
}

// stop stops watching.
func (p *stallDetector) stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.over = true
	p.timer.Stop()
	p.mu.Unlock()
}

// end stops watching and cancels the context.
func (p *stallDetector) end() {
	if p != nil {
		p.stop()
		p.cancel(context.Canceled)
	}
}

// fire checks for progress.
func (p *stallDetector) fire() {
	if !p.stalled() {
		return
	}
	if err := p.slow(); err != nil {
		p.cancel(err)
	}
}

// stalled reports whether the exchange makes no progress; if not, it sets the timer
// for the next check.
func (p *stallDetector) stalled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return false
	}
	now := time.Now()
	if p.ours > 0 || p.bytes >= stallBytes {
		p.last, p.bytes = now, 0
	}
	if rest := stallAfter - now.Sub(p.last); rest > 0 {
		p.timer.Reset(rest)
		return false
	}
	p.over = true
	return true
}
