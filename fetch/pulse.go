package fetch

import (
	"context"
	"sync"
	"time"
)

// An exchange makes progress while each pulseEvery brings it a step further: an
// address, a connection, the header of the answer, or pulseBytes of its body. One
// that drips makes none.
const (
	pulseEvery = time.Second
	pulseBytes = 16 << 10
)

// pulse notices that an exchange makes no progress, once. A nil pulse notices
// nothing.
type pulse struct {
	slow   func() error
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	timer *time.Timer
	last  time.Time // of the last progress
	bytes int64     // of the body since then
	ours  int       // waits of our own making that are under way
	over  bool
}

// newPulse begins to watch an exchange, if anybody wants to know. The returned
// context ends when the exchange must.
func newPulse(ctx context.Context, slow func() error) (context.Context, *pulse) {
	if slow == nil {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p := &pulse{slow: slow, cancel: cancel, last: time.Now()}
	p.mu.Lock() // the timer may fire before it is stored
	p.timer = time.AfterFunc(pulseEvery, p.fire)
	p.mu.Unlock()
	return ctx, p
}

// beat notes a step.
func (p *pulse) beat() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.last, p.bytes = time.Now(), 0
	p.mu.Unlock()
}

// more counts bytes of the body.
func (p *pulse) more(n int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.bytes += int64(n)
	p.mu.Unlock()
}

// pause is told when the exchange waits for a bound of ours, which is not the
// host's slowness.
func (p *pulse) pause() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.ours++
	p.mu.Unlock()
}

// resume ends a pause.
func (p *pulse) resume() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.ours--
	p.last, p.bytes = time.Now(), 0
	p.mu.Unlock()
}

// stop ends the watching.
func (p *pulse) stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.over = true
	p.timer.Stop()
	p.mu.Unlock()
}

// end ends the watching and the context.
func (p *pulse) end() {
	if p != nil {
		p.stop()
		p.cancel(context.Canceled)
	}
}

// fire looks whether there was progress.
func (p *pulse) fire() {
	if !p.stalled() {
		return
	}
	if err := p.slow(); err != nil {
		p.cancel(err)
	}
}

// stalled tells whether the exchange makes no progress, or sets the timer to when
// that may be.
func (p *pulse) stalled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return false
	}
	now := time.Now()
	if p.ours > 0 || p.bytes >= pulseBytes {
		p.last, p.bytes = now, 0
	}
	if rest := pulseEvery - now.Sub(p.last); rest > 0 {
		p.timer.Reset(rest)
		return false
	}
	p.over = true
	return true
}
