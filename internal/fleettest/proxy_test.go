package fleettest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy is a line to a server that can be cut and slowed.
type proxy struct {
	listener net.Listener
	to       string
	down     atomic.Bool  // no new connection, and nothing passes on those there are
	delay    atomic.Int64 // of each piece of data, in either direction
	accepted atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// newProxy opens a line until the test ends.
func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: to, conns: map[net.Conn]bool{}}
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
		p.sever()
		wg.Wait()
	})
	return p
}

// port is where the line begins.
func (p *proxy) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// sever ends all connections.
func (p *proxy) sever() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close() // it is cut, whatever it says
	}
}

func (p *proxy) keep(c net.Conn, keep bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if keep {
		p.conns[c] = true
	} else {
		delete(p.conns, c)
		_ = c.Close() // both ends are done with it
	}
}

func (p *proxy) serve(c net.Conn) {
	p.keep(c, true)
	defer p.keep(c, false)
	if p.down.Load() {
		return
	}
	server, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(context.Background(), "tcp", p.to)
	if err != nil {
		return
	}
	p.keep(server, true)
	defer p.keep(server, false)
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{c, server}, {server, c}} {
		go func() {
			p.pass(way[0], way[1])
			done <- struct{}{}
		}()
	}
	<-done
	_ = c.Close() // ends the other way, too
	_ = server.Close()
	<-done
}

// pass hands data on; behind a cut it is lost in silence.
func (p *proxy) pass(from io.Reader, to io.Writer) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !p.down.Load() {
			time.Sleep(time.Duration(p.delay.Load()))
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
