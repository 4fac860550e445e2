package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

const (
	idleTimeout   = 2 * time.Minute
	headerTimeout = time.Minute // for receiving the request line and headers
	shutdownGrace = time.Second // for responses in progress when the lab stops
)

// sockets are the listeners of a lab; unused ones are nil.
type sockets struct {
	web, webTLS, dnsTCP net.Listener
	dnsUDP              net.PacketConn
}

func (s *sockets) close() {
	for _, ln := range []net.Listener{s.web, s.webTLS, s.dnsTCP} {
		if ln != nil {
			ln.Close()
		}
	}
	if s.dnsUDP != nil {
		s.dnsUDP.Close()
	}
}

// Listen opens the sockets, after which [Lab.Hosts] and all links contain the real ports.
// [Lab.Run] calls it if needed. If you call it first, for example to print addresses, call
// Run afterwards, which closes the sockets.
func (l *Lab) Listen(ctx context.Context) error {
	if l.sockets != nil {
		return errors.New("lab: already listening")
	}
	s := &sockets{}
	err := l.open(ctx, s)
	if err != nil {
		s.close()
		return err
	}
	l.sockets = s
	port, portTLS := l.cfg.port(s.web.Addr().String()), 0
	if s.webTLS != nil {
		portTLS = l.cfg.port(s.webTLS.Addr().String())
	}
	l.web.setBases(&l.cfg, port, portTLS)
	l.web.filler().prepare()
	return nil
}

func (l *Lab) open(ctx context.Context, s *sockets) (err error) {
	var lc net.ListenConfig
	if s.web, err = lc.Listen(ctx, "tcp", l.cfg.Listen); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	if l.cfg.ListenTLS != "" {
		if s.webTLS, err = lc.Listen(ctx, "tcp", l.cfg.ListenTLS); err != nil {
			return fmt.Errorf("lab: https: %w", err)
		}
	}
	if l.cfg.DNS.Listen != "" {
		if s.dnsUDP, s.dnsTCP, err = listenDNS(ctx, l.cfg.DNS.Listen); err != nil {
			return fmt.Errorf("lab: DNS: %w", err)
		}
	}
	return nil
}

// Addr is the address of the web server after [Lab.Listen], otherwise nil.
func (l *Lab) Addr() net.Addr {
	if l.sockets == nil {
		return nil
	}
	return l.sockets.web.Addr()
}

// DNSAddr is the UDP and TCP address of the built-in DNS after [Lab.Listen]; nil if there
// is none.
func (l *Lab) DNSAddr() net.Addr {
	if l.sockets == nil || l.sockets.dnsUDP == nil {
		return nil
	}
	return l.sockets.dnsUDP.LocalAddr()
}

// Run serves until ctx ends, then lets responses in progress finish for a second and
// returns nil. Any other end is an error. A lab runs once.
func (l *Lab) Run(ctx context.Context) error {
	if l.sockets == nil {
		if err := l.Listen(ctx); err != nil {
			return err
		}
	}
	s := l.sockets
	defer s.close()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// Handlers outlive ctx for the grace that Shutdown gives them.
	beyond := context.WithoutCancel(ctx)
	handlers, cut := context.WithCancel(beyond)
	defer cut()

	var wg sync.WaitGroup
	serve := func(what string, f func() error) {
		wg.Go(func() {
			if err := f(); err != nil && ctx.Err() == nil {
				stop(&serveError{what, err})
			}
		})
	}
	web, webTLS := l.httpServer(handlers), l.httpServer(handlers)
	if l.cfg.TLS {
		serve("https", func() error { return web.ServeTLS(l.guard(s.web), "", "") })
	} else {
		serve("http", func() error { return web.Serve(l.guard(s.web)) })
	}
	if s.webTLS != nil {
		serve("https", func() error { return webTLS.ServeTLS(l.guard(s.webTLS), "", "") })
	}
	if s.dnsUDP != nil {
		serve("DNS", func() error { return l.serveDNS(handlers, s.dnsUDP) })
		serve("DNS over TCP", func() error { return l.serveDNSTCP(handlers, l.guard(s.dnsTCP)) })
	}
	<-ctx.Done()
	shutdown(beyond, web, cut)
	shutdown(beyond, webTLS, cut)
	cut()
	s.close()
	wg.Wait()
	if failed, ok := errors.AsType[*serveError](context.Cause(ctx)); ok {
		return failed
	}
	return nil
}

// serveError is why a lab stopped by itself.
type serveError struct {
	what string
	err  error
}

func (e *serveError) Error() string { return fmt.Sprintf("lab: serve %s: %v", e.what, e.err) }
func (e *serveError) Unwrap() error { return e.err }

// shutdown lets responses in progress finish, then cancels those that hang.
func shutdown(ctx context.Context, srv *http.Server, cut context.CancelFunc) {
	wait := func() error {
		ctx, cancel := context.WithTimeout(ctx, shutdownGrace)
		defer cancel()
		return srv.Shutdown(ctx)
	}
	if wait() == nil {
		return
	}
	cut()
	if wait() != nil {
		srv.Close()
	}
}

func (l *Lab) httpServer(handlers context.Context) *http.Server {
	srv := &http.Server{
		Handler:           l.Handler(),
		BaseContext:       func(net.Listener) context.Context { return handlers },
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          log.New(io.Discard, "", 0), // clients that disconnect are expected
		ConnState:         l.countConnections,
		TLSConfig:         l.tlsConfig(),
		Protocols:         new(http.Protocols),
	}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetHTTP2(!l.cfg.NoHTTP2)
	return srv
}

// guarded refuses clients from other machines: the lab listens on the wildcard address
// only to have all of 127.0.0.0/8.
type guarded struct {
	net.Listener
	cfg *Config
}

func (l *Lab) guard(ln net.Listener) net.Listener { return guarded{ln, &l.cfg} }

func (g guarded) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if g.cfg.admits(addrOf(c.RemoteAddr())) {
			return c, nil
		}
		c.Close()
	}
}

// addrOf returns the IP address of a network address, or the zero Addr.
func addrOf(a net.Addr) netip.Addr {
	switch a := a.(type) {
	case *net.TCPAddr:
		return a.AddrPort().Addr()
	case *net.UDPAddr:
		return a.AddrPort().Addr()
	default:
		return netip.Addr{}
	}
}
