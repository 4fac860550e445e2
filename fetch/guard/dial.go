package guard

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

const (
	// attemptDelay is the delay before the next address is tried in parallel (RFC 8305).
	attemptDelay = 250 * time.Millisecond
	// maxAttempts limits how many addresses of a name are tried.
	maxAttempts = 6
)

// DialContext connects to addr, a host:port, over TCP. It fits
// [net/http.Transport]. The host is resolved and checked first, unless a
// [Target] is pinned to ctx, and the connection goes to a checked address.
func (d *Dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, fmt.Errorf("dial %q: network %q is not TCP", addr, network)
	}
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("dial %q: not host:port", addr)
	}
	port, ok := parsePort(portText)
	if !ok {
		d.counters.blocked.Add(1)
		return nil, &PortError{Host: host, Port: portText}
	}
	t, ok := ctx.Value(pinnedKey{}).(Target)
	if !ok || t.dialer != d || t.host != host || t.port != port {
		if t, err = d.Resolve(ctx, host, port); err != nil {
			return nil, err
		}
	}
	d.counters.dials.Add(1)
	conn, err := d.dial(ctx, t)
	if err != nil {
		d.counters.dialFailures.Add(1)
		return nil, fmt.Errorf("dial %q: %w", addr, err)
	}
	return conn, nil
}

// dial tries the addresses one after the other, each started attemptDelay after the
// one before, and keeps the first connection. The error is that of the first address
// that failed.
func (d *Dialer) dial(ctx context.Context, t Target) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.DialTimeout)
	defer cancel()
	addrs := t.addrs[:min(len(t.addrs), maxAttempts)]
	if len(addrs) == 1 {
		return d.cfg.Connect(ctx, netip.AddrPortFrom(addrs[0], t.port))
	}

	type attempt struct {
		conn net.Conn
		err  error
	}
	results := make(chan attempt)
	var (
		started, ended int
		won            net.Conn
		firstErr       error
	)
	next := time.NewTimer(0)
	defer next.Stop()
	for ended < len(addrs) {
		if won != nil && ended == started {
			return won, nil
		}
		var start <-chan time.Time
		if won == nil && started < len(addrs) {
			start = next.C
		}
		select {
		case <-start:
			addr := netip.AddrPortFrom(addrs[started], t.port)
			go func() {
				conn, err := d.cfg.Connect(ctx, addr)
				results <- attempt{conn, err}
			}()
			started++
			next.Reset(attemptDelay)
		case r := <-results:
			ended++
			switch {
			case r.err != nil:
				if firstErr == nil {
					firstErr = r.err
				}
				next.Reset(0) // after a failure try the next address at once
			case won == nil:
				won = r.conn
				cancel() // stop the other attempts and wait for them
			default:
				r.conn.Close() // lost the race
			}
		}
	}
	if won != nil {
		return won, nil
	}
	return nil, firstErr
}

// newConnect returns the function that opens real connections; control is called
// before each connect.
func newConnect(control func(network, address string, _ syscall.RawConn) error) func(context.Context, netip.AddrPort) (net.Conn, error) {
	dialer := &net.Dialer{
		Control: control,
		// The pool closes idle connections long before a keep-alive probe would find
		// a dead one.
		KeepAlive: -1,
	}
	dialer.SetMultipathTCP(false)
	return func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
		network := "tcp6"
		if addr.Addr().Is4() {
			network = "tcp4"
		}
		return dialer.DialContext(ctx, network, addr.String())
	}
}

// control checks the address that the operating system is about to connect to. It is
// the last check.
func (d *Dialer) control(network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return &BlockedError{Host: address, Why: "network " + network}
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &BlockedError{Host: address, Why: "not an address"}
	}
	v := d.judge(ap.Addr(), ap.Port())
	if v.why != "" {
		return &BlockedError{Host: address, Addr: ap.Addr(), Why: v.why}
	}
	if v.badPort {
		return &PortError{Host: address, Port: fmt.Sprint(ap.Port())}
	}
	return nil
}
