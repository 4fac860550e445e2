package fleettest

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// listen opens a socket whose connections have kernel timestamps: the time at which
// data arrived, however late this process reads it.
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

// Accept waits for a client on this machine. Others are refused: the socket is only
// open to them because it covers all of 127.0.0.0/8.
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

// stampedConn is a connection with one request at a time.
type stampedConn struct {
	*net.TCPConn
	raw    syscall.RawConn
	awaits atomic.Bool  // the next byte is the first of a request
	first  atomic.Int64 // when the kernel got the first byte of the last one; 0 if unknown
}

// Read reads the first byte of a request alone, so that its timestamp is not that of a
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

// Write begins a response: what is read after it is the next request.
func (c *stampedConn) Write(p []byte) (int, error) {
	c.awaits.Store(true)
	return c.TCPConn.Write(p)
}

// arrived is when the first byte of the current request arrived.
func (c *stampedConn) arrived() time.Time {
	at := c.first.Load()
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(0, at)
}

// stampIn finds the timestamp in the control messages of a read; 0 if there is none.
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

// TestArrival: a request has the time at which its first byte arrived, not that at
// which it was read, also for consecutive requests on a connection.
func TestArrival(t *testing.T) {
	ln, err := listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	accepted, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	server := accepted.(*stampedConn)
	send := func(to io.Writer, text string) (before, after time.Time) {
		t.Helper()
		before = time.Now().Round(0) // wall clock, as the kernel's
		if _, err := io.WriteString(to, text); err != nil {
			t.Fatal(err)
		}
		return before, time.Now()
	}
	read := func(want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(server, got); err != nil || string(got) != want {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	}
	// The kernel starts stamping a moment after the first socket has requested it.
	for range 1000 {
		send(client, "?")
		read("?")
		send(server, "!")
		if !server.arrived().IsZero() {
			break
		}
		time.Sleep(time.Millisecond) // the kernel does not report when it starts
	}
	for _, parts := range [][]string{{"GET /", " HTTP/1.1\r\n\r\n"}, {"GET /b HTTP/1.1\r\n\r\n"}, {"G", "ET /c HTTP/1.1\r\n\r\n"}} {
		before, after := send(client, parts[0])
		read(parts[0])
		for _, rest := range parts[1:] {
			send(client, rest)
			read(rest)
		}
		if at := server.arrived(); at.Before(before) || at.After(after) {
			t.Errorf("%q arrived at %v, sent between %v and %v", parts, at, before, after)
		}
		send(server, "HTTP/1.1 204 No Content\r\n\r\n")
	}
}
