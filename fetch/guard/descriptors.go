package guard

import (
	"context"
	"errors"
	"syscall"
	"time"
)

// The backoff of [DescriptorWait] and its total.
const (
	descriptorWaitFirst = 20 * time.Millisecond
	descriptorWaitMax   = time.Second
	descriptorWaitTotal = time.Minute
)

// DescriptorWait waits for file descriptors. If the process or the machine has run out, one is
// usually closed soon, so the operation is retried. Use one zero DescriptorWait per operation.
type DescriptorWait struct {
	wait  time.Duration
	until time.Time
}

// NoDescriptor reports whether an error means that file descriptors ran out.
func NoDescriptor(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// Again waits and reports whether to retry. It is false for other errors, when ctx
// ends, and after a minute.
func (s *DescriptorWait) Again(ctx context.Context, err error) bool {
	return NoDescriptor(err) && s.Wait(ctx)
}

// Wait waits for a descriptor and reports whether to retry; it is [DescriptorWait.Again]
// without an error to check.
func (s *DescriptorWait) Wait(ctx context.Context) bool {
	now := time.Now()
	if s.until.IsZero() {
		s.until, s.wait = now.Add(descriptorWaitTotal), descriptorWaitFirst
	}
	if now.After(s.until) {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(s.wait):
		s.wait = min(2*s.wait, descriptorWaitMax)
		return true
	}
}
