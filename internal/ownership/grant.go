package ownership

import (
	"context"
	"time"
)

// Grant is the lease as one request has it. Where a process goes on after it was stopped,
// the grant ends with the epoch in which the request was handed out.
type Grant struct {
	lease *Lease
	epoch *Epoch // nil where there is only one
}

// Context is that of the request, which is made within ctx.
func (g Grant) Context(ctx context.Context) context.Context {
	if g.epoch == nil {
		return ctx
	}
	return g.epoch.ctx
}

// MayStart stops a request for which the lease does not last, or whose epoch has ended.
func (g Grant) MayStart(now time.Time) error {
	if !g.lease.MayStart(now) || g.epoch != nil && g.epoch.Over() {
		return ErrExpired
	}
	return nil
}

// Fence stops bytes on a connection that requests share once the lease has run out.
func (g Grant) Fence() error {
	if g.lease.Expired(time.Now()) {
		return ErrExpired
	}
	return nil
}

// Trouble is our own trouble behind the error of a request. What fails while the process
// is stopped says nothing about a host: its timeouts are ours. Where the lease was renewed
// since, the epoch has ended, which its context tells.
func (g Grant) Trouble(err error) error {
	if err != nil && g.epoch != nil && g.lease.Expired(time.Now()) {
		return ErrExpired
	}
	return nil
}

// Interrupted reports whether the process was stopped since the request was handed out:
// how long its answer took is not known. The lease is looked at first: where it was
// renewed since, the epoch has ended.
func (g Grant) Interrupted() bool {
	return g.epoch != nil && (g.lease.Expired(time.Now()) || g.epoch.Over())
}
