package fleettest

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tick is how often a cut proxy checks whether it still is.
const tick = 10 * time.Millisecond

// proxy is a connection from one worker to a server that can be cut, slowed and left
// half open.
type proxy struct {
	listener net.Listener
	to       string
	cut      atomic.Bool  // data waits, as with retransmissions
	delay    atomic.Int64 // of each piece of data, in either direction
	accepted atomic.Int64

	mu    sync.Mutex
	links map[*link]bool
}

// link is one connection through a proxy.
type link struct {
	client, server net.Conn
	forgotten      atomic.Bool // data is lost silently
}

// newProxy runs a proxy until the test ends.
func newProxy(t *testing.T, port int) *proxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), links: map[*link]bool{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.accepted.Add(1)
			wg.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		p.cut.Store(false)
		p.each((*link).close)
		wg.Wait()
	})
	return p
}

// port is where the proxy listens.
func (p *proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// forget leaves all connections half open: neither end gets data from the other again.
// New ones work.
func (p *proxy) forget() {
	p.each(func(l *link) { l.forgotten.Store(true) })
}

func (p *proxy) each(do func(*link)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		do(l)
	}
}

func (l *link) close() {
	_, _ = l.client.Close(), l.server.Close() // errors do not matter
}

func (p *proxy) serve(client net.Conn) {
	server, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(context.Background(), "tcp", p.to)
	if err != nil {
		_ = client.Close() // no server listens
		return
	}
	l := &link{client: client, server: server}
	p.mu.Lock()
	p.links[l] = true
	p.mu.Unlock()
	var ways sync.WaitGroup
	ways.Go(func() { p.pass(l, client, server) })
	ways.Go(func() { p.pass(l, server, client) })
	ways.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// pass copies data until an end closes, and then closes the other.
func (p *proxy) pass(l *link, from io.Reader, to io.Writer) {
	defer func() {
		if !l.forgotten.Load() {
			l.close()
		}
	}()
	under := make(chan piece, maxPieces)
	go func() {
		defer close(under)
		for {
			buf := make([]byte, 64<<10)
			n, err := from.Read(buf)
			if n > 0 {
				under <- piece{buf[:n], time.Now().Add(time.Duration(p.delay.Load()))}
			}
			if err != nil {
				return
			}
		}
	}()
	defer func() {
		for range under { // until the reader has noticed the end
		}
	}()
	for x := range under {
		time.Sleep(time.Until(x.due)) // the latency of the line
		for p.cut.Load() {
			time.Sleep(tick) // until the line is restored
		}
		if l.forgotten.Load() {
			continue
		}
		if _, err := to.Write(x.data); err != nil {
			l.close()
			return
		}
	}
}

// piece is data in transit: a proxy adds latency but does not limit throughput.
type piece struct {
	data []byte
	due  time.Time
}

// maxPieces is how many are in transit.
const maxPieces = 64
