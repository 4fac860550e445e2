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

// minSilence is the least time after which a server that owes an answer is taken
// for lost.
const minSilence = 10 * time.Second

// keepAlive is how a connection on which nothing is asked is tried, so that one
// without another end is noticed after half a minute.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// line is a connection whose other end may be lost without a word: behind a broken
// router, or stopped. Whoever waits for an answer reads, so a read that takes too
// long fails and takes the connection with it.
type line struct {
	net.Conn
	silence time.Duration

	mu        sync.Mutex
	deadline  time.Time // that was set from outside
	listening bool      // nothing is owed: somebody waits for news
}

// lines makes lines of the connections that the driver opens.
func (s *Store) lines(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if tcp, ok := conn.(*net.TCPConn); ok { // else it is a socket of this machine
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

// limit sets the time that the next read may take.
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

// listen says that nothing is owed on a connection from now on.
func listen(c net.Conn) {
	if l := lineOf(c); l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.listening = true
	}
}

// spoken tells whether something has come on a connection on which nothing is owed,
// which mostly is the last word of a server that went away. It does not wait. Where
// the system does not say, something may have come.
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
