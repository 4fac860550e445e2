package fetchpool

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/weburl"
)

// Reasons, apart from the lease, to stop a request between its dispatch and its first byte.
var (
	ErrHeld     = errors.New("the host has just refused a request")
	ErrOptedOut = errors.New("the host has just opted out")
	// ErrNoRequest stops a robots.txt at a redirect.
	ErrNoRequest = errors.New("the job has no request left")
)

// CalledOff reports whether a request was stopped on purpose, by [ErrHeld], [ErrOptedOut],
// [ErrNoRequest] or [ErrTooManySlow]. It is retried if it still may be sent.
func CalledOff(err error) bool {
	return errors.Is(err, ErrHeld) || errors.Is(err, ErrOptedOut) || errors.Is(err, ErrNoRequest) || errors.Is(err, ErrTooManySlow)
}

// mayStart returns the check that runs right before the first byte of every request. It
// counts those that pass as sent.
func (p *Pool) mayStart(t *underway, u weburl.URL) func() error {
	return func() error {
		before := t.followed.Load() // these were answered
		err := p.checkStart(t, u)
		if err != nil {
			t.maybeSent.Store(before)
		} else {
			t.maybeSent.Store(before + 1)
		}
		return err
	}
}

func (p *Pool) checkStart(t *underway, u weburl.URL) error {
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

// follow returns the check that runs before a redirect of robots.txt is followed.
func (t *underway) follow() func(ctx context.Context) error {
	if t.Follow == nil {
		return nil
	}
	return func(ctx context.Context) error {
		if err := t.Follow(ctx); err != nil {
			return fmt.Errorf("%w: %w", ErrNoRequest, err)
		}
		t.followed.Add(1)
		return nil
	}
}
