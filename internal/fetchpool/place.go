package fetchpool

import (
	"errors"
	"time"
)

// place is what a task occupies among the requests under way. It belongs to the loop.
type place struct {
	slow bool // it is one among the exchanges without progress
	over bool // it was given up
}

// ErrCrowded ends an exchange that makes no progress while as many others make none as
// may. It is tried again when there is a place for it.
var ErrCrowded = errors.New("too many exchanges make no progress")

// takePlace occupies a place, among the slow exchanges or the others.
func (p *Pool) takePlace(slow bool) *place {
	if slow {
		p.dragging++
	} else {
		p.busy++
	}
	return &place{slow: slow}
}

// leavePlace frees the place of a task.
func (p *Pool) leavePlace(l *place) {
	if l.over = true; l.slow {
		p.dragging--
	} else {
		p.busy--
	}
}

// onSlow is what happens when the exchange of a task makes no progress: it gives its
// place to others, or is called off with [ErrCrowded].
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

// moveToSlow moves a task to the places of the slow exchanges, if there is one.
func (p *Pool) moveToSlow(now time.Time, t *underway) error {
	switch ok := p.cfg.Schedule.Slow(now, t.Request); {
	case t.place.over || t.place.slow:
		return nil
	case !ok:
		return ErrCrowded
	}
	t.place.slow = true
	p.busy--
	p.dragging++
	return nil
}
