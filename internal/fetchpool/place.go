package fetchpool

import (
	"errors"
	"time"
)

// place is what a task occupies in the worker pool. It belongs to the loop.
type place struct {
	slow bool // it counts as a stalled exchange
	over bool // it was released
}

// ErrTooManySlow ends an exchange that makes no progress while the limit of such exchanges is
// reached. It is retried later.
var ErrTooManySlow = errors.New("too many exchanges without progress")

// takePlace occupies a place, for a slow exchange or a normal one.
func (p *Pool) takePlace(slow bool) *place {
	if slow {
		p.stalled++
	} else {
		p.busy++
	}
	return &place{slow: slow}
}

// leavePlace frees the place of a task.
func (p *Pool) leavePlace(l *place) {
	if l.over = true; l.slow {
		p.stalled--
	} else {
		p.busy--
	}
}

// onSlow returns the callback for an exchange without progress: it moves to a slow place,
// which frees its place for others, or ends with [ErrTooManySlow].
func (p *Pool) onSlow(t *underway) func() error {
	return func() error {
		verdict := make(chan error, 1)
		if !p.loop.Offer(t.ctx, func(now time.Time) { verdict <- p.moveToSlow(now, t) }) {
			return nil
		}
		select {
		case err := <-verdict:
			return err
		case <-t.ctx.Done():
			return nil
		}
	}
}

// moveToSlow moves a task to a slow place, if one is free.
func (p *Pool) moveToSlow(now time.Time, t *underway) error {
	switch ok := p.cfg.Schedule.Slow(now, t.Request); {
	case t.place.over || t.place.slow:
		return nil
	case !ok:
		return ErrTooManySlow
	}
	t.place.slow = true
	p.busy--
	p.stalled++
	return nil
}
