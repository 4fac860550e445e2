package fleettest

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// listen opens a socket whose connections the kernel stamps: what arrives has the
// time at which it did, however late this process comes to read it.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		if failed := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) }); failed != nil {
			return failed
		}
		return err
	}}
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return stampedListener{l.(*net.TCPListener)}, nil
}

type stampedListener struct{ *net.TCPListener }

// Accept waits for a client on this machine. Others are turned away: the socket is
// open to them only because it owns the whole of 127.0.0.0/8.
func (l stampedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptTCP()
		if err != nil {
			return nil, err
		}
		if !c.RemoteAddr().(*net.TCPAddr).IP.IsLoopback() {
			_ = c.Close() // whatever it says
			continue
		}
		raw, err := c.SyscallConn()
		if err != nil {
			return nil, err
		}
		s := &stampedConn{TCPConn: c, raw: raw}
		s.awaits.Store(true)
		return s, nil
	}
}

// stampedConn is a connection on which requests follow each other, each after the
// answer to the one before.
type stampedConn struct {
	*net.TCPConn
	raw    syscall.RawConn
	awaits atomic.Bool  // the next byte is the first of a request
	first  atomic.Int64 // when the kernel got the first byte of the last one; 0 if it did not say
}

// Read takes the first byte of a request alone, so that its stamp is not that of a
// later segment.
func (c *stampedConn) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	first := c.awaits.Load()
	if first {
		p = p[:1]
	}
	var control [256]byte
	var length int
	failed := c.raw.Read(func(fd uintptr) bool {
		for {
			n, length, _, _, err = unix.Recvmsg(int(fd), p, control[:], 0)
			if err != unix.EINTR {
				return err != unix.EAGAIN
			}
		}
	})
	switch {
	case failed != nil:
		return 0, failed
	case err != nil:
		return 0, fmt.Errorf("recvmsg: %w", err)
	case n == 0:
		return 0, io.EOF
	}
	if first {
		c.awaits.Store(false)
		c.first.Store(stampIn(control[:length]))
	}
	return n, nil
}

// Write is how an answer begins: what is read after it is another request.
func (c *stampedConn) Write(p []byte) (int, error) {
	c.awaits.Store(true)
	return c.TCPConn.Write(p)
}

// arrived is when the first byte of the request that is being answered did.
func (c *stampedConn) arrived() time.Time {
	at := c.first.Load()
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(0, at)
}

// stampIn finds the time in what the kernel says of a read; 0 if there is none.
func stampIn(control []byte) int64 {
	list, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return 0
	}
	for _, m := range list {
		var at unix.Timespec
		if m.Header.Level != unix.SOL_SOCKET || m.Header.Type != unix.SCM_TIMESTAMPNS {
			continue
		}
		if _, err := binary.Decode(m.Data, binary.NativeEndian, &at); err == nil {
			return at.Nano()
		}
	}
	return 0
}
