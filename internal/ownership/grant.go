package ownership

import (
	"context"
	"time"
)

// Grant is the lease of one request. If the process can resume after a suspension, the
// grant ends with the epoch in which the request was handed out.
type Grant struct {
	lease *Lease
	epoch *Epoch // nil if there is only one
}

// Context is the context of the request.
func (g Grant) Context(ctx context.Context) context.Context {
	if g.epoch == nil {
		return ctx
	}
	return g.epoch.ctx
}

// MayStart returns an error if the lease is too old to start a request, or the epoch has
// ended.
func (g Grant) MayStart(now time.Time) error {
	if !g.lease.MayStart(now) || g.epoch != nil && g.epoch.Over() {
		return ErrExpired
	}
	return nil
}

// Fence returns an error once the lease has expired. It is checked before bytes leave on a
// shared connection.
func (g Grant) Fence() error {
	if g.lease.Expired(time.Now()) {
		return ErrExpired
	}
	return nil
}

// LocalError returns [ErrExpired] if the process was suspended when a request failed: such an
// error says nothing about the host. If the lease was renewed since, the context of the
// epoch has ended.
func (g Grant) LocalError(err error) error {
	if err != nil && g.epoch != nil && g.lease.Expired(time.Now()) {
		return ErrExpired
	}
	return nil
}

// Interrupted reports whether the process was suspended since the request was handed out,
// so that its latency is unknown. The lease is checked first: if it was renewed since, the
// epoch has ended.
func (g Grant) Interrupted() bool {
	return g.epoch != nil && (g.lease.Expired(time.Now()) || g.epoch.Over())
}
