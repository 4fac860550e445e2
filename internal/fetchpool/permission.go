package fetchpool

import (
	"errors"
	"time"

	"headway/weburl"
)

// What stops a request between the moment it was handed out and its first byte, beside
// the lease.
var (
	ErrHeld     = errors.New("the host has just asked to be left alone")
	ErrOptedOut = errors.New("the host has just opted out")
)

// CalledOff reports whether a request was stopped on purpose, by [ErrHeld], [ErrOptedOut]
// or [ErrCrowded]: nothing is wrong with us, and it is tried again if it still may be.
func CalledOff(err error) bool {
	return errors.Is(err, ErrHeld) || errors.Is(err, ErrOptedOut) || errors.Is(err, ErrCrowded)
}

// mayStart is called right before the first byte of every request.
func (p *Pool) mayStart(t *underway, u weburl.URL) func() error {
	return func() error {
		now := time.Now()
		if err := t.Lease.MayStart(now); err != nil {
			return err
		}
		if t.Gate.Closed(now) {
			return ErrHeld
		}
		if p.cfg.OptedOut(u) {
			return ErrOptedOut
		}
		return nil
	}
}
