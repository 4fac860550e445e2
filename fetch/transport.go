package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"headway/fetch/guard"
)

const (
	// streamBuffer limits how far an HTTP/2 server may send ahead of our reading, on
	// one stream and on one connection.
	streamBuffer = 256 << 10
	connBuffer   = 1 << 20
	// sessionsPerConn is the number of TLS sessions kept per connection that may be
	// idle: a session needs little memory, and outlives its connection.
	sessionsPerConn = 4
	// writeBuffer holds a request. There is one for each connection, and net/http's own of
	// 4 KiB is a twentieth of what a page of a host with a new connection allocates.
	writeBuffer = 1 << 10
)

// newTransport returns the http.Transport that creates connections. Its own pool is
// not used, because it resends a request when a kept-alive connection has died; see
// pool.
func newTransport(cfg Config) *http.Transport {
	t := cfg.Dialer.Transport()
	t.DisableCompression = true // we decompress ourselves, within limits
	t.MaxResponseHeaderBytes = cfg.MaxHeader
	t.WriteBufferSize = writeBuffer
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.Protocols.SetHTTP2(!cfg.DisableHTTP2)
	t.ForceAttemptHTTP2 = !cfg.DisableHTTP2
	t.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: streamBuffer, MaxReceiveBufferPerConnection: connBuffer}

	protocols := []string{"h2", "http/1.1"}
	if cfg.DisableHTTP2 {
		protocols = protocols[1:]
	}
	d := &dialling{dialer: cfg.Dialer, tlsTimeout: cfg.TLSTimeout, tls: &tls.Config{
		MinVersion:         tls.VersionTLS12,
		RootCAs:            cfg.RootCAs,
		NextProtos:         protocols,
		ClientSessionCache: tls.NewLRUClientSessionCache(tlsSessions(cfg)),
	}}
	t.DialContext = d.plain
	t.DialTLSContext = d.secure
	return t
}

// tlsSessions is the size of the TLS session cache.
func tlsSessions(cfg Config) int {
	return int(max(sessionsPerConn*min(cfg.IdleMemory/idleSecureBytes, int64(cfg.MaxConns)), 1))
}

// dialling opens the connections of a transport.
type dialling struct {
	dialer     *guard.Dialer
	tls        *tls.Config
	tlsTimeout time.Duration
}

// dialled collects facts about a connection while it is opened. It is passed in the
// context, because http.Transport passes nothing else to its dial functions.
type dialled struct {
	phase   Phase
	wire    *wireConn   // nil for HTTP/2
	shared  *sharedConn // only for HTTP/2
	remote  netip.AddrPort
	connect time.Duration
	tls     time.Duration
}

type dialledKey struct{}

// plain dials for http.
func (d *dialling) plain(ctx context.Context, network, addr string) (net.Conn, error) {
	info, conn, err := d.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	info.wire = &wireConn{Conn: conn}
	return info.wire, nil
}

func (d *dialling) dial(ctx context.Context, network, addr string) (*dialled, net.Conn, error) {
	info, ok := ctx.Value(dialledKey{}).(*dialled)
	if !ok {
		info = &dialled{}
	}
	start := time.Now()
	conn, err := d.dialer.DialContext(ctx, network, addr)
	info.connect = time.Since(start)
	if err != nil {
		return nil, nil, err
	}
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		info.remote = tcp.AddrPort()
	}
	return info, conn, nil
}

// secure dials for https and does the TLS handshake.
func (d *dialling) secure(ctx context.Context, network, addr string) (net.Conn, error) {
	info, raw, err := d.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	info.phase = PhaseTLS
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		raw.Close()
		return nil, err
	}
	cfg := d.tls.Clone()
	cfg.ServerName = host
	shared := &sharedConn{Conn: raw}
	conn := tls.Client(shared, cfg)
	ctx, cancel := context.WithTimeoutCause(ctx, d.tlsTimeout, &TimeoutError{"no handshake within", d.tlsTimeout})
	defer cancel()
	start := time.Now()
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, err
	}
	info.tls = time.Since(start)
	if conn.ConnectionState().NegotiatedProtocol == "h2" {
		info.shared = shared
		return conn, nil // net/http needs this type for HTTP/2
	}
	info.wire = &wireConn{Conn: conn}
	return info.wire, nil
}

// wireConn passes the bytes of an HTTP/1 connection to the current exchange, and
// allows no write without one.
type wireConn struct {
	net.Conn
	seen atomic.Pointer[exchange]
}

// sharedConn is the connection below HTTP/2. It allows no write that the Fence of the
// latest request forbids.
type sharedConn struct {
	net.Conn
	fence   atomic.Pointer[func() error]
	refused atomic.Pointer[error]
}

// Write writes p if the fence allows it.
func (c *sharedConn) Write(p []byte) (int, error) {
	if f := c.fence.Load(); f != nil && *f != nil {
		if err := (*f)(); err != nil {
			c.refused.CompareAndSwap(nil, &err)
			return 0, errors.Join(err, c.Close())
		}
	}
	return c.Conn.Write(p)
}

// refusal returns why nothing may be written any more, or nil.
func (c *sharedConn) refusal() error {
	if c == nil {
		return nil
	}
	if err := c.refused.Load(); err != nil {
		return *err
	}
	return nil
}

// errOver stops a request whose exchange has ended.
var errOver = errors.New("exchange is over")

// Write writes p if the exchange may still send.
func (c *wireConn) Write(p []byte) (int, error) {
	x := c.seen.Load()
	if x == nil || !x.mayWrite(p) {
		return 0, errOver
	}
	n, err := c.Conn.Write(p)
	if n > 0 {
		x.requestSent()
	}
	return n, err
}

// Read reads and passes the bytes to the exchange.
func (c *wireConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if x := c.seen.Load(); x != nil && n > 0 {
		x.read(p[:n])
	}
	return n, err
}
