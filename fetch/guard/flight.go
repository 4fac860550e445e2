package guard

import (
	"context"
	"net/netip"
	"sync"
)

// flight merges concurrent lookups of one name (single flight). The lookup is
// cancelled when the last caller has left, not when the first one does.
type flight struct {
	mu    sync.Mutex
	calls map[string]*call
}

type call struct {
	done    chan struct{} // closed when addrs and err are final
	addrs   []netip.Addr
	err     error
	waiters int
	cancel  context.CancelFunc
}

func newFlight() *flight { return &flight{calls: map[string]*call{}} }

// do returns the result of the running lookup of host, and starts one with look if
// there is none. The lookup keeps the context values of its first caller, but not its
// cancellation.
func (f *flight) do(ctx context.Context, host string, look func(context.Context) ([]netip.Addr, error)) ([]netip.Addr, error) {
	f.mu.Lock()
	c, ok := f.calls[host]
	if !ok {
		lookCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		c = &call{done: make(chan struct{}), cancel: cancel}
		f.calls[host] = c
		go func() {
			defer cancel()
			c.addrs, c.err = look(lookCtx)
			f.mu.Lock()
			f.forget(host, c)
			f.mu.Unlock()
			close(c.done)
		}()
	}
	c.waiters++
	f.mu.Unlock()

	select {
	case <-c.done:
		return c.addrs, c.err
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.waiters--; c.waiters == 0 {
		// The next caller must not join a lookup that is being cancelled.
		f.forget(host, c)
		c.cancel()
	}
	return nil, context.Cause(ctx)
}

// forget removes c unless another call has taken its place. f.mu is held.
func (f *flight) forget(host string, c *call) {
	if f.calls[host] == c {
		delete(f.calls, host)
	}
}
