package simweb

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// httpPort is the only port served.
const httpPort = 80

// Network is the state of our own network.
type Network uint32

// The states of the network. A connection that is open when the network goes down stays
// open and still receives data, but nothing more reaches the host.
const (
	Up      Network = iota
	NoRoute         // a dial fails at once: no route
	Silent          // a dial waits for a response that does not come
)

// connectTimeout is when an operating system gives up on a connection attempt: six retries
// at doubled intervals.
const connectTimeout = 127 * time.Second

// SetNetwork changes the state of our own network for all hosts.
func (w *Web) SetNetwork(n Network) { w.network.Store(uint32(n)) }

// Lookup resolves a name like a name server: each host has an address, other names do not
// exist.
func (w *Web) Lookup(_ context.Context, name string) (netip.Addr, error) {
	if addr, ok := w.names[name]; ok {
		return addr, nil
	}
	return netip.Addr{}, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

// DialContext connects to a host by name or address. It fits [net/http.Transport] and
// replaces every dialler and name server.
func (w *Web) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := w.dial(ctx, addr)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	return c, nil
}

func (w *Web) dial(ctx context.Context, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	switch Network(w.network.Load()) {
	case NoRoute:
		return nil, syscall.ENETUNREACH
	case Silent:
		return nil, w.silence(ctx)
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if _, ok := w.addrs[ip.Unmap()]; !ok {
			return nil, syscall.ECONNREFUSED
		}
	} else if _, err := w.Lookup(ctx, host); err != nil {
		return nil, err
	}
	if port != strconv.Itoa(httpPort) {
		return nil, syscall.ECONNREFUSED
	}
	client, server := net.Pipe()
	if err := w.accept.offer(ctx, server); err != nil {
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	return &wire{Conn: client, web: w, remote: remoteAddr(host)}, nil
}

// wire is our end of a connection.
type wire struct {
	net.Conn
	web    *Web
	remote net.Addr
	lost   atomic.Bool // a write was lost
}

// Write sends. Like an operating system it accepts data that it cannot send, without an
// error; the connection is then dead.
func (c *wire) Write(b []byte) (int, error) {
	if Network(c.web.network.Load()) != Up {
		c.lost.Store(true)
	}
	if c.lost.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// RemoteAddr is the address that was dialled.
func (c *wire) RemoteAddr() net.Addr { return c.remote }

// remoteAddr is the socket address of a host; one that was dialled by name has none.
func remoteAddr(host string) net.Addr {
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return pipeAddr{}
	}
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, httpPort))
}

// silence waits like a dial without a response. The context alone does not end it: net/http
// keeps a dial for the next request when its own is cancelled.
func (w *Web) silence(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, connectTimeout, syscall.ETIMEDOUT)
	defer cancel()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.accept.closed:
		return syscall.ECONNABORTED
	}
}

// accept is a listener whose connections come from DialContext.
type accept struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// offer passes a connection to Accept.
func (a *accept) offer(ctx context.Context, c net.Conn) error {
	select {
	case a.conns <- c:
		return nil
	case <-a.closed:
		return syscall.ECONNREFUSED
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Accept waits for a connection.
func (a *accept) Accept() (net.Conn, error) {
	select {
	case c := <-a.conns:
		return c, nil
	case <-a.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and refuses later connections.
func (a *accept) Close() error {
	a.once.Do(func() { close(a.closed) })
	return nil
}

// Addr is a placeholder.
func (a *accept) Addr() net.Addr { return pipeAddr{} }

// pipeAddr is the address of something that is not on a network.
type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }
