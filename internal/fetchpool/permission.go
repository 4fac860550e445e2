package fetchpool

import (
	"errors"
	"time"

	"headway/weburl"
)

// Reasons, apart from the lease, to stop a request between its dispatch and its first byte.
var (
	ErrHeld     = errors.New("the host has just refused a request")
	ErrOptedOut = errors.New("the host has just opted out")
)

// CalledOff reports whether a request was stopped on purpose, by [ErrHeld], [ErrOptedOut]
// or [ErrTooManySlow]. It is retried if it still may be sent.
func CalledOff(err error) bool {
	return errors.Is(err, ErrHeld) || errors.Is(err, ErrOptedOut) || errors.Is(err, ErrTooManySlow)
}

// mayStart returns the check that runs right before the first byte of every request.
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
