package lab

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// DNS configures the built-in name server. It answers for the hosts, for the names of
// [DNSExhibits] and for Names, over UDP and TCP, and with NXDOMAIN for the rest. Use it
// where 127.x.y.z is not routed, or to test a crawler with hostile answers.
type DNS struct {
	Listen   string            // address for UDP and TCP; "" means off
	TTL      time.Duration     // of every response; zero means 5 minutes
	Wildcard bool              // every name resolves to the lab, and is served by host 0
	Delay    time.Duration     // before every response
	Names    map[string]Script // further names; their requests are served by host 0
}

// Script is a sequence of answers for a name: the first query of a type gets the first
// step, the second the second, and the last step is repeated.
type Script []Step

// Step is one answer. An A query gets the IPv4 addresses, an AAAA query the others.
type Step struct {
	Addrs    []netip.Addr  // a zero Addr is the address of the lab
	CNAME    string        // the name is an alias of this one; a host's addresses follow
	RCode    RCode         // anything but NoError comes alone
	TTL      time.Duration // zero means that of the DNS, negative means 0
	Delay    time.Duration // before the response
	Drop     bool          // no response at all
	Truncate bool          // over UDP reply only: retry over TCP
}

// DNSStats counts queries since the lab started or was reset.
type DNSStats struct {
	Queries  int64 `json:"queries"`
	TCP      int64 `json:"tcp"`      // of these, over TCP
	NXDomain int64 `json:"nxdomain"` // answered with NXDOMAIN
	Dropped  int64 `json:"dropped"`  // not answered, on purpose
}

// dnsTally counts queries and the position in each script.
type dnsTally struct {
	queries, tcp, nxdomain, dropped atomic.Int64

	mu    sync.Mutex
	steps map[scriptKey]int
}

type scriptKey struct {
	name  string
	qtype uint16
}

func (t *dnsTally) stats() DNSStats {
	return DNSStats{Queries: t.queries.Load(), TCP: t.tcp.Load(), NXDomain: t.nxdomain.Load(), Dropped: t.dropped.Load()}
}

// step returns the step of a script for one more query.
func (t *dnsTally) step(s Script, name string, qtype uint16) Step {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.steps == nil {
		t.steps = map[scriptKey]int{}
	}
	key := scriptKey{name, qtype}
	n := t.steps[key]
	if n < len(s)-1 {
		t.steps[key] = n + 1
	}
	return s[n]
}

const (
	defaultTTL = 5 * time.Minute

	maxDNSWaiting = 1024             // concurrently delayed answers; more queries are dropped
	maxDNSConns   = 64               // TCP connections at once; more wait
	dnsIdle       = 10 * time.Second // for the next query on a TCP connection
)

func (d DNS) withDefaults() DNS {
	if d.TTL == 0 {
		d.TTL = defaultTTL
	}
	names := make(map[string]Script, len(d.Names)+len(dnsExhibits))
	for _, e := range dnsExhibits {
		names[e.Name] = e.script
	}
	for name, script := range d.Names {
		names[strings.Trim(strings.ToLower(name), ".")] = script
	}
	d.Names = names
	return d
}

func (d *DNS) validate() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if d.TTL < 0 || d.Delay < 0 {
		bad("TTL, Delay: must not be negative")
	}
	for name, script := range d.Names {
		if !isHostName(name) {
			bad("Names: %q is not a host name", name)
		}
		if len(script) == 0 {
			bad("Names[%s]: empty list of answers", name)
		}
		for i, step := range script {
			if step.CNAME != "" && !isHostName(step.CNAME) {
				bad("Names[%s][%d].CNAME: %q is not a host name", name, i, step.CNAME)
			}
		}
	}
	return errors.Join(problems...)
}

// resolve answers one question; drop means that no reply is sent.
func (l *Lab) resolve(q question, tcp bool) (r reply, delay time.Duration, drop bool) {
	t := &l.rec.Load().dns
	t.queries.Add(1)
	if tcp {
		t.tcp.Add(1)
	}
	step := Step{RCode: NXDomain}
	if script, ok := l.cfg.DNS.Names[q.name]; ok {
		step = t.step(script, q.name, q.qtype)
	} else if n, ok := l.dir.findName(q.name); ok {
		step = Step{Addrs: []netip.Addr{l.address(n)}}
	}
	if step.Drop {
		t.dropped.Add(1)
		return reply{}, 0, true
	}
	if step.RCode == NXDomain {
		t.nxdomain.Add(1)
	}
	return l.reply(step, tcp), l.cfg.DNS.Delay + step.Delay, false
}

func (l *Lab) reply(step Step, tcp bool) reply {
	r := reply{rcode: step.RCode, truncated: step.Truncate && !tcp, ttl: uint32(l.cfg.DNS.TTL / time.Second)}
	if step.TTL != 0 {
		r.ttl = uint32(max(0, step.TTL) / time.Second)
	}
	if step.RCode != NoError {
		return r
	}
	if step.CNAME != "" {
		r.cname = step.CNAME
		if n, ok := l.dir.names[step.CNAME]; ok && l.cfg.DNS.Names[step.CNAME] == nil {
			r.addrs = append(r.addrs, l.address(n))
		}
	}
	for _, a := range step.Addrs {
		if !a.IsValid() {
			a = l.address(0)
		}
		r.addrs = append(r.addrs, a)
	}
	return r
}

// address is the address of host n in the DNS.
func (l *Lab) address(n int) netip.Addr {
	if l.cfg.Addr.IsValid() {
		return l.cfg.Addr
	}
	return hostAddr(n)
}

// dnsReply replies to one message; nil means no reply.
func (l *Lab) dnsReply(query []byte, tcp bool) (out []byte, delay time.Duration) {
	q, ok := parseQuery(query)
	if !ok {
		return nil, 0
	}
	r, delay, drop := l.resolve(q, tcp)
	if drop {
		return nil, 0
	}
	limit := dnsUDPBytes
	if tcp {
		limit = 0
	}
	return appendReply(nil, query, q, r, limit), delay
}

// serveDNS serves UDP until pc is closed.
func (l *Lab) serveDNS(ctx context.Context, pc net.PacketConn) error {
	var waiting sync.WaitGroup
	defer waiting.Wait()
	room := make(chan struct{}, maxDNSWaiting)
	buf := make([]byte, 1500)
	for {
		n, from, err := pc.ReadFrom(buf)
		if err != nil {
			return err
		}
		if !l.cfg.admits(addrOf(from)) {
			continue
		}
		out, delay := l.dnsReply(buf[:n], false)
		if out == nil {
			continue
		}
		// A reply that cannot be sent is lost, as UDP allows.
		if delay == 0 {
			_, _ = pc.WriteTo(out, from)
			continue
		}
		select {
		case room <- struct{}{}:
		default:
			continue
		}
		waiting.Go(func() {
			if !sleep(ctx, delay) {
				_, _ = pc.WriteTo(out, from)
			}
			<-room
		})
	}
}

// serveDNSTCP serves TCP until ln is closed.
func (l *Lab) serveDNSTCP(ctx context.Context, ln net.Listener) error {
	var conns sync.WaitGroup
	defer conns.Wait()
	room := make(chan struct{}, maxDNSConns)
	for {
		conn, err := ln.Accept()
		if err != nil {
			return err
		}
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			conn.Close()
			continue
		}
		conns.Go(func() {
			defer func() { <-room }()
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			l.serveDNSConn(ctx, conn)
		})
	}
}

// serveDNSConn serves one connection until it ends, is idle for too long, or a script
// drops a query.
func (l *Lab) serveDNSConn(ctx context.Context, conn net.Conn) {
	for {
		if conn.SetDeadline(time.Now().Add(dnsIdle+l.cfg.DNS.Delay)) != nil {
			return
		}
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		out, delay := l.dnsReply(query, true)
		if out == nil || sleep(ctx, delay) {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...)); err != nil {
			return
		}
	}
}

// sleep waits, and reports whether ctx ended meanwhile.
func sleep(ctx context.Context, d time.Duration) (ended bool) {
	if d == 0 {
		return ctx.Err() != nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return true
	case <-t.C:
		return false
	}
}

// listenDNS opens one port for UDP and TCP. A random port may be free for one and taken
// for the other, so it retries a few times.
func listenDNS(ctx context.Context, addr string) (net.PacketConn, net.Listener, error) {
	const tries = 8
	var lc net.ListenConfig
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, nil, err
	}
	for try := 1; ; try++ {
		udp, err := lc.ListenPacket(ctx, "udp", addr)
		if err != nil {
			return nil, nil, err
		}
		tcp, err := lc.Listen(ctx, "tcp", udp.LocalAddr().String())
		if err == nil {
			return udp, tcp, nil
		}
		udp.Close()
		if port != "0" || try == tries {
			return nil, nil, err
		}
	}
}
