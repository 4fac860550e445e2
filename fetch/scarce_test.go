package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"headway/fetch/guard"
)

// TestNoDescriptors runs out of sockets for a while: the exchange closes idle
// connections, waits, and succeeds. Only after a minute it fails, as a local error.
func TestNoDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p := newPiped(t, Config{Timeout: 5 * time.Second}, say(response("", []byte("hello"))))
		var until atomic.Pointer[time.Time]
		until.Store(new(time.Time))
		d, err := guard.New(guard.Config{
			Lookup: func(_ context.Context, host string) (guard.Answer, error) {
				if time.Now().Before(*until.Load()) {
					return guard.Answer{}, &guard.DNSError{Host: host, Kind: guard.Unreachable, Err: os.NewSyscallError("socket", syscall.EMFILE)}
				}
				return guard.Answer{Addrs: []netip.Addr{netip.MustParseAddr("93.184.215.14")}, TTL: time.Hour}, nil
			},
			Connect: func(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
				if time.Now().Before(*until.Load()) {
					return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", syscall.ENFILE)}
				}
				return p.connect(ctx, a)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		c.cfg.Dialer = d
		c.pool.transport = newTransport(c.cfg)
		for i := range 16 {
			if _, err := get(t, c, fmt.Sprintf("http://h%d.test/", i)); err != nil {
				t.Fatal(err)
			}
		}
		again := time.Now().Add(30 * time.Second)
		until.Store(&again)
		r, err := get(t, c, "http://new.test/") // its lookup waits
		if err != nil || time.Now().Before(again) || r.Timing.Connect > time.Second {
			t.Fatalf("%v at %v, there were sockets from %v on; %+v", err, time.Now(), again, r.Timing)
		}
		again = time.Now().Add(30 * time.Second)
		until.Store(&again)
		c.pool.closeOldestIdle()
		before := time.Now()
		r, err = get(t, c, "http://h0.test/") // its dial waits
		if err != nil || time.Now().Before(again) || r.Timing.Sent.Before(again) {
			t.Fatalf("%v after %v", err, time.Since(before))
		}
		if _, idle := c.pool.stats(); idle >= 16 {
			t.Errorf("%d connections idle while sockets are scarce", idle)
		}
		again = time.Now().Add(time.Hour)
		until.Store(&again)
		c.pool.close()
		before = time.Now()
		_, err = get(t, c, "http://h1.test/")
		if e, ok := errors.AsType[*Error](err); !ok || !e.Local {
			t.Errorf("%v, want an error of our own", err)
		}
		if took := time.Since(before); took < time.Minute || took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// TestIdleConnectionsAreBounded keeps only as many idle connections as allowed, and
// prefers secure ones.
func TestIdleConnectionsAreBounded(t *testing.T) {
	d, err := guard.New(guard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p := newPool(Config{Dialer: d, MaxConns: 10_000, MaxConnsPerHost: 2, IdleMemory: 100 * idleSecureBytes, KeepAlive: time.Hour})
	defer p.close()
	use := func(host string) *conn {
		t.Helper()
		c, err := p.take(t.Context(), host)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(p.hosts[host].conns, c) { // as after a dial
			p.mu.Lock()
			p.hosts[host].conns = append(p.hosts[host].conns, c)
			p.mu.Unlock()
		}
		return c
	}
	for i := range 300 {
		p.give(use(fmt.Sprintf("http://h%d.test", i)), true)
	}
	if n := p.plain.Len(); n != 100*idleSecureBytes/idlePlainBytes {
		t.Errorf("%d plain connections idle", n)
	}
	for i := range 80 {
		p.give(use(fmt.Sprintf("https://h%d.test", i)), true)
	}
	if s, n := p.secure.Len(), p.plain.Len(); s != 80 || n != 20*idleSecureBytes/idlePlainBytes {
		t.Errorf("%d secure and %d plain connections idle", s, n)
	}
	for i := range 300 {
		p.give(use(fmt.Sprintf("https://h%d.test", i)), true)
	}
	layer, idle := p.stats()
	if s := p.secure.Len(); s != 100 || idle != 100 || layer.Use != 100 || len(p.hosts) != 100 {
		t.Errorf("%d secure of %d idle of %d open, of %d hosts", s, idle, layer.Use, len(p.hosts))
	}
	if p.hosts["https://h299.test"] == nil || p.hosts["https://h100.test"] != nil {
		t.Error("not those used last are kept")
	}
	if n := tlsSessions(Config{MaxConns: 10_000, IdleMemory: 100 * idleSecureBytes}); n != 400 {
		t.Errorf("%d sessions", n)
	}
	// Plain ones have their own limit, however much memory there is.
	p.maxIdle = 1 << 40
	for i := range 2 * maxIdlePlain {
		p.give(use(fmt.Sprintf("http://h%d.test", i)), true)
	}
	if n := p.plain.Len(); n != maxIdlePlain {
		t.Errorf("%d plain connections idle, want %d", n, maxIdlePlain)
	}
}
