package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// minSilence is the minimum time after which a server that owes a response is considered
// lost.
const minSilence = 10 * time.Second

// keepAlive checks idle connections, so that a dead one is noticed after half a minute.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// line is a connection whose other end may disappear silently: behind a broken router, or
// stopped. While a response is expected, a read that takes too long fails and closes the
// connection.
type line struct {
	net.Conn
	silence time.Duration

	mu        sync.Mutex
	deadline  time.Time // set by the driver
	listening bool      // no response is expected: it waits for notifications
}

// lines wraps the connections that the driver opens.
func (s *Store) lines(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if tcp, ok := conn.(*net.TCPConn); ok { // otherwise it is a Unix socket
			if err := tcp.SetKeepAliveConfig(keepAlive); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
		}
		return &line{Conn: conn, silence: max(minSilence, s.terms.TakeOver)}, nil
	}
}

// Read implements [net.Conn].
func (l *line) Read(p []byte) (int, error) {
	if err := l.limit(); err != nil {
		return 0, err
	}
	return l.Conn.Read(p)
}

// limit sets the deadline of the next read.
func (l *line) limit() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	until := time.Now().Add(l.silence)
	if l.listening || !l.deadline.IsZero() && l.deadline.Before(until) {
		until = l.deadline
	}
	return l.SetReadDeadline(until)
}

// SetDeadline implements [net.Conn].
func (l *line) SetDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = t
	return l.Conn.SetDeadline(t)
}

// lineOf finds the line below a connection of the driver; nil if there is none.
func lineOf(c net.Conn) *line {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	l, _ := c.(*line)
	return l
}

// listen says that no response is expected on a connection from now on.
func listen(c net.Conn) {
	if l := lineOf(c); l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.listening = true
	}
}

// spoken reports whether unrequested data has arrived on an idle connection, usually the
// goodbye of a server that shut down. It does not wait. If the system cannot tell, it
// reports true.
func spoken(c net.Conn) bool {
	l := lineOf(c)
	if l == nil {
		return true
	}
	s, ok := l.Conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return true
	}
	came := true
	if err := raw.Control(func(fd uintptr) { came = readable(fd) }); err != nil {
		return true
	}
	return came
}
