package guard

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// How long a [Scarce] waits: a little longer each time, and not for ever.
const (
	scarceFirst = 20 * time.Millisecond
	scarceLast  = time.Second
	scarceFor   = time.Minute
)

// Scarce waits for descriptors. Where this process, or the machine, has none left,
// somebody will close one soon: what failed is tried again, and is nobody's fault.
// The zero Scarce is ready, for one thing that is tried.
type Scarce struct {
	wait  time.Duration
	until time.Time
}

// NoDescriptor tells whether an error is that there was no descriptor left.
func NoDescriptor(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// Again tells whether what failed is worth another try, after waiting for it. It is
// not when the error is another, when ctx ends, and after a minute.
func (s *Scarce) Again(ctx context.Context, err error) bool {
	return NoDescriptor(err) && s.Wait(ctx)
}

// Wait waits for a descriptor, and tells whether to try again; as [Scarce.Again] for
// an error that is told in another way.
func (s *Scarce) Wait(ctx context.Context) bool {
	now := time.Now()
	if s.until.IsZero() {
		s.until, s.wait = now.Add(scarceFor), scarceFirst
	}
	if now.After(s.until) {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(s.wait):
		s.wait = min(2*s.wait, scarceLast)
		return true
	}
}
