package fetch

import (
	"container/list"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"headway/fetch/guard"
	"headway/weburl"
)

// pool keeps connections for the next request to the same host, and limits how many
// are open. It replaces the pool of http.Transport, which resends a request when a
// kept-alive connection turns out to be dead (the server would see two requests) and
// which has no limit over all hosts.
type pool struct {
	transport *http.Transport
	maxOpen   int
	maxHost   int
	maxIdle   int64 // bytes
	keepAlive time.Duration

	mu    sync.Mutex
	open  int
	hosts map[string]*hostConns
	// Idle connections (*conn), the one idle for longest first. A TLS handshake is
	// expensive for both sides, so plain connections are closed first.
	plain, secure list.List
	waiters       list.List // of *connWaiter
	closed        bool
	waits         uint64
	waited        time.Duration
}

// hostConns are the connections of one host, including those being dialled.
type hostConns struct {
	open  int
	conns []*conn
}

// Estimated memory of an idle connection: buffers and two goroutines; with TLS also
// keys and certificates, with HTTP/2 also tables.
const (
	idlePlainBytes  = 24 << 10
	idleSecureBytes = 64 << 10
	// maxIdlePlain limits idle plain connections: losing one costs only a dial.
	maxIdlePlain = 1024
)

// maxStreams limits the concurrent exchanges on one HTTP/2 connection.
const maxStreams = 100

// conn is an open connection, or a reservation for one that is being dialled.
type conn struct {
	host   string
	secure bool
	cc     *http.ClientConn // nil until dialled
	wire   *wireConn        // nil for HTTP/2
	shared *sharedConn      // only for HTTP/2
	info   dialled
	active int  // running exchanges
	gone   bool // no longer handed out
	over   bool // being closed
	place  *list.Element
	timer  *time.Timer
}

type connWaiter struct {
	host  string
	ready chan struct{} // closed when a retry may succeed
}

func newPool(cfg Config) *pool {
	return &pool{
		transport: newTransport(cfg),
		maxOpen:   cfg.MaxConns,
		maxHost:   min(cfg.MaxConnsPerHost, cfg.MaxConns),
		maxIdle:   cfg.IdleMemory,
		keepAlive: cfg.KeepAlive,
		hosts:     map[string]*hostConns{},
	}
}

// take returns a kept-alive connection to a host, reserved for one exchange, or a
// reservation to dial a new one, in which case cc is nil. It waits while there is
// neither.
func (p *pool) take(ctx context.Context, host string) (*conn, error) {
	for {
		c, victim, wait := p.tryTake(host)
		if victim != nil {
			victim.close()
		}
		if c != nil {
			if c.cc == nil || c.usable() {
				return c, nil
			}
			p.give(c, false)
			continue
		}
		if err := p.await(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// tryTake takes a connection or a reservation, or queues for one. It may have to
// evict an idle connection of another host; the caller closes that one first.
func (p *pool) tryTake(host string) (c, victim *conn, wait *list.Element) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[host]
	if h == nil {
		h = &hostConns{}
		p.hosts[host] = h
	}
	for i := len(h.conns) - 1; i >= 0; i-- { // most recently used first
		c := h.conns[i]
		if c.active == 0 || c.wire == nil && c.active < maxStreams && c.cc.Available() > 0 {
			p.busy(c)
			return c, nil, nil
		}
	}
	if h.open < p.maxHost {
		if p.open >= p.maxOpen {
			if victim = p.oldest(); victim != nil {
				p.retire(victim)
				p.free(victim)
			}
		}
		if p.open < p.maxOpen {
			p.open++
			h.open++
			return &conn{host: host, secure: strings.HasPrefix(host, "https:"), active: 1}, victim, nil
		}
	}
	p.waits++
	return nil, victim, p.waiters.PushBack(&connWaiter{host: host, ready: make(chan struct{})})
}

// await waits until a retry may succeed.
func (p *pool) await(ctx context.Context, place *list.Element) error {
	w := place.Value.(*connWaiter)
	start := time.Now()
	var err error
	select {
	case <-w.ready:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waited += time.Since(start)
	if err == nil {
		return nil
	}
	select {
	case <-w.ready:
		p.wake(w.host) // we were woken but give up: pass it on
	default:
		p.waiters.Remove(place)
		p.dropEmptyHost(w.host)
	}
	return err
}

// usable reports whether a connection taken from the pool is still alive, and
// reserves an HTTP/2 stream.
func (c *conn) usable() bool {
	if c.wire == nil {
		return c.cc.Reserve() == nil
	}
	return c.cc.Err() == nil
}

// dial connects the reservation c to the host of u.
func (p *pool) dial(ctx context.Context, c *conn, u weburl.URL, t guard.Target) *Error {
	info := &dialled{phase: PhaseConnect}
	ctx = context.WithValue(t.Pin(ctx), dialledKey{}, info)
	cc, err := p.transport.NewClientConn(ctx, u.Scheme(), dialAddr(u))
	c.info = *info
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return dialError(err, info.phase)
	}
	c.cc, c.wire, c.shared = cc, info.wire, info.shared
	if c.wire == nil {
		// Reserve a stream; the server may allow none.
		if err := cc.Reserve(); err != nil {
			return &Error{Reason: Protocol, Phase: PhaseConnect, Err: err}
		}
	}
	p.mu.Lock()
	if h := p.hosts[c.host]; !p.closed {
		h.conns = append(h.conns, c)
	}
	p.mu.Unlock()
	cc.SetStateHook(func(cc *http.ClientConn) {
		if cc.Err() != nil {
			p.onClosed(c)
		}
	})
	return nil
}

// give returns a connection after an exchange. One that cannot be reused, or was
// never dialled, is closed.
func (p *pool) give(c *conn, reusable bool) {
	p.mu.Lock()
	c.active--
	last := false
	var over []*conn
	switch {
	case c.gone || p.closed || !reusable:
		last = p.retire(c)
	case c.active == 0:
		c.place = p.idle(c).PushBack(c)
		if c.timer == nil {
			c.timer = time.AfterFunc(p.keepAlive, func() { p.expire(c) })
		} else {
			c.timer.Reset(p.keepAlive)
		}
		over = p.trimIdle()
	}
	if !last {
		p.wake(c.host)
	}
	p.mu.Unlock()
	if last {
		p.shut(c)
	}
	for _, c := range over {
		p.shut(c)
	}
}

// closeOldestIdle closes the eighth of the connections idle for longest: the process is out
// of file descriptors.
func (p *pool) closeOldestIdle() {
	p.mu.Lock()
	var list []*conn
	for range (p.plain.Len() + p.secure.Len() + 7) / 8 {
		c := p.oldest()
		p.retire(c)
		list = append(list, c)
	}
	p.mu.Unlock()
	for _, c := range list {
		p.shut(c)
	}
}

// expire closes a connection that was idle for too long.
func (p *pool) expire(c *conn) {
	p.mu.Lock()
	last := c.place != nil && p.retire(c)
	p.mu.Unlock()
	if last {
		p.shut(c)
	}
}

// onClosed removes a connection that the other side closed.
func (p *pool) onClosed(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retire(c) {
		p.free(c)
		p.wake(c.host)
	}
}

// shut closes a connection after retire reported true, and only then frees its
// reservation, so that the limit always holds.
func (p *pool) shut(c *conn) {
	c.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free(c)
	p.wake(c.host)
}

// close closes the connection if there is one. It calls back into the pool, so p.mu
// must not be held.
func (c *conn) close() {
	if c.cc != nil {
		c.cc.Close()
	}
}

// idle returns the idle list for a connection. p.mu is held, here and below.
func (p *pool) idle(c *conn) *list.List {
	if c.secure {
		return &p.secure
	}
	return &p.plain
}

// oldest returns the idle connection to close first, or nil.
func (p *pool) oldest() *conn {
	for _, l := range []*list.List{&p.plain, &p.secure} {
		if e := l.Front(); e != nil {
			return e.Value.(*conn)
		}
	}
	return nil
}

// trimIdle retires idle connections over the limit, for the caller to shut.
func (p *pool) trimIdle() (over []*conn) {
	for p.plain.Len() > maxIdlePlain || int64(p.plain.Len())*idlePlainBytes+int64(p.secure.Len())*idleSecureBytes > p.maxIdle {
		c := p.oldest()
		p.retire(c)
		over = append(over, c)
	}
	return over
}

// busy marks the start of an exchange on a kept-alive connection.
func (p *pool) busy(c *conn) {
	c.active++
	if c.place != nil {
		p.idle(c).Remove(c.place)
		c.place = nil
		c.timer.Stop()
	}
}

// retire takes a connection out of use. It reports true once, when no exchange uses
// the connection any more: the caller then shuts it.
func (p *pool) retire(c *conn) (last bool) {
	if !c.gone {
		c.gone = true
		h := p.hosts[c.host]
		h.conns = slices.DeleteFunc(h.conns, func(other *conn) bool { return other == c })
		if c.place != nil {
			p.idle(c).Remove(c.place)
			c.place = nil
		}
		if c.timer != nil {
			c.timer.Stop()
		}
	}
	if c.active > 0 || c.over {
		return false
	}
	c.over = true
	return true
}

// free frees the reservation of a retired connection.
func (p *pool) free(c *conn) {
	p.hosts[c.host].open--
	p.open--
	p.dropEmptyHost(c.host)
}

// wake wakes the first waiter that a change at host may help.
func (p *pool) wake(host string) {
	for e := p.waiters.Front(); e != nil; e = e.Next() {
		w := e.Value.(*connWaiter)
		if w.host == host || p.hosts[w.host] == nil || p.hosts[w.host].open < p.maxHost {
			p.waiters.Remove(e)
			close(w.ready)
			return
		}
	}
}

// dropEmptyHost removes a host without connections.
func (p *pool) dropEmptyHost(host string) {
	if h := p.hosts[host]; h != nil && h.open == 0 {
		delete(p.hosts, host)
	}
}

// close closes idle connections now and the others when they are returned.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	var idle []*conn
	for c := p.oldest(); c != nil; c = p.oldest() {
		p.retire(c)
		idle = append(idle, c)
	}
	p.mu.Unlock()
	for _, c := range idle {
		p.shut(c)
	}
}

// sever closes all connections, including those in use. Their reservations are freed
// when the exchanges on them end.
func (p *pool) sever() {
	p.mu.Lock()
	var all, idle []*conn
	for _, h := range p.hosts {
		all = append(all, h.conns...)
	}
	for _, c := range all {
		if p.retire(c) {
			idle = append(idle, c)
		}
	}
	p.mu.Unlock()
	for _, c := range all {
		c.close()
	}
	for _, c := range idle {
		p.shut(c)
	}
}

// stats returns the layer and the number of idle connections.
func (p *pool) stats() (guard.Layer, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return guard.Layer{
		Limit: p.maxOpen, Use: p.open, Waiting: p.waiters.Len(), Waits: p.waits, Waited: p.waited,
	}, p.plain.Len() + p.secure.Len()
}
