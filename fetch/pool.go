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

// pool keeps connections for the next request to the same host, and bounds how
// many are open. It stands in for the pool inside http.Transport because that
// one sends a request again, unasked, when a kept connection turns out to be
// dead: the server would see two requests where one was due. It also knows no
// bound over all hosts.
type pool struct {
	transport *http.Transport
	maxOpen   int
	maxHost   int
	maxIdle   int64 // bytes
	keepAlive time.Duration

	mu    sync.Mutex
	open  int
	hosts map[string]*hostConns
	// Idle connections, of *conn, the one that idles longest at the front. A
	// handshake is dear on both sides, so the plain ones go first.
	plain, secure list.List
	waiters       list.List // of *connWaiter
	closed        bool
	waits         uint64
	waited        time.Duration
}

// hostConns are the connections of one host, those being dialled included.
type hostConns struct {
	open  int
	conns []*conn
}

// What an idle connection is taken to hold in memory: its buffers, two
// goroutines, of a secure one its keys, certificates and, for HTTP/2, tables.
const (
	idlePlainBytes  = 24 << 10
	idleSecureBytes = 64 << 10
	// maxIdlePlain is how many plain ones are kept at most: all that is lost with
	// one is the time of a dial.
	maxIdlePlain = 1024
)

// maxStreams bounds how many exchanges share one HTTP/2 connection.
const maxStreams = 100

// conn is an open connection, or a place for one that is being dialled.
type conn struct {
	host   string
	secure bool
	cc     *http.ClientConn // nil until dialled
	wire   *wireConn        // nil for HTTP/2
	shared *sharedConn      // only for HTTP/2
	info   dialled
	active int  // exchanges under way
	gone   bool // is not handed out any more
	over   bool // somebody is closing it
	place  *list.Element
	timer  *time.Timer
}

type connWaiter struct {
	host  string
	ready chan struct{} // closed when it is worth another try
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

// take returns a kept connection to a host, reserved for one exchange, or a
// place to dial a new one into, in which case its cc is nil. It waits while
// there is neither.
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

// tryTake takes a connection or a place, or queues for one. A connection of
// another host may have to go for the place; the caller closes it first.
func (p *pool) tryTake(host string) (c, victim *conn, wait *list.Element) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.hosts[host]
	if h == nil {
		h = &hostConns{}
		p.hosts[host] = h
	}
	for i := len(h.conns) - 1; i >= 0; i-- { // the one used last is the freshest
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

// await waits until another try is worth it.
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
		p.wake(w.host) // it was our turn; the next one takes it
	default:
		p.waiters.Remove(place)
		p.tidy(w.host)
	}
	return err
}

// usable reports whether a connection taken from the pool is still alive, and
// reserves a stream of HTTP/2.
func (c *conn) usable() bool {
	if c.wire == nil {
		return c.cc.Reserve() == nil
	}
	return c.cc.Err() == nil
}

// dial fills the place c with a connection to the host of u.
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
		// Like a kept one: a stream is reserved, or the server allows none.
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
			p.died(c)
		}
	})
	return nil
}

// give returns a connection after an exchange. What cannot be used again, or
// was never dialled, is closed.
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
		over = p.tooMany()
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

// relieve closes the connections that have idled longest, an eighth of them: this
// process has no descriptor left, whoever holds them.
func (p *pool) relieve() {
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

// expire closes a connection that has idled its time.
func (p *pool) expire(c *conn) {
	p.mu.Lock()
	last := c.place != nil && p.retire(c)
	p.mu.Unlock()
	if last {
		p.shut(c)
	}
}

// died forgets a connection that has closed by itself.
func (p *pool) died(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.retire(c) {
		p.free(c)
		p.wake(c.host)
	}
}

// shut closes a connection that retire was the last to use, and only then
// frees its place: there are never more than places.
func (p *pool) shut(c *conn) {
	c.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free(c)
	p.wake(c.host)
}

// close closes the connection if there is one. It calls back into the pool, so
// p.mu must not be held.
func (c *conn) close() {
	if c.cc != nil {
		c.cc.Close()
	}
}

// idle is the list a connection idles in. p.mu is held, here and below.
func (p *pool) idle(c *conn) *list.List {
	if c.secure {
		return &p.secure
	}
	return &p.plain
}

// oldest is the idle connection that is missed least, or nil.
func (p *pool) oldest() *conn {
	for _, l := range []*list.List{&p.plain, &p.secure} {
		if e := l.Front(); e != nil {
			return e.Value.(*conn)
		}
	}
	return nil
}

// tooMany retires idle connections that are too many, for the caller to shut.
func (p *pool) tooMany() (over []*conn) {
	for p.plain.Len() > maxIdlePlain || int64(p.plain.Len())*idlePlainBytes+int64(p.secure.Len())*idleSecureBytes > p.maxIdle {
		c := p.oldest()
		p.retire(c)
		over = append(over, c)
	}
	return over
}

// busy marks an exchange on a kept connection.
func (p *pool) busy(c *conn) {
	c.active++
	if c.place != nil {
		p.idle(c).Remove(c.place)
		c.place = nil
		c.timer.Stop()
	}
}

// retire hands a connection out no more. It reports true once, when nobody
// uses the connection any longer: the caller then closes it and frees its place.
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

// free gives the place of a retired connection away.
func (p *pool) free(c *conn) {
	p.hosts[c.host].open--
	p.open--
	p.tidy(c.host)
}

// wake lets the first waiter try again that a change at host can help.
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

// tidy forgets a host without connections.
func (p *pool) tidy(host string) {
	if h := p.hosts[host]; h != nil && h.open == 0 {
		delete(p.hosts, host)
	}
}

// close closes idle connections now and the others when they are given back.
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

// sever closes all connections, also those in use. Their places are free once the
// exchanges on them have ended.
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
