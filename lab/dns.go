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

// DNS is the resolver inside the lab. It answers for the hosts, for the names
// of [DNSExhibits] and for Names, over UDP and TCP, and says NXDOMAIN to the
// rest. Give it to a crawler where 127.x.y.z is not routed, or to test what a
// crawler makes of hostile answers.
type DNS struct {
	Listen   string            // address for UDP and TCP; "" means off
	TTL      time.Duration     // of every answer; zero means 5 minutes
	Wildcard bool              // every name there is resolves to the lab, and is served by host 0
	Delay    time.Duration     // before every answer
	Names    map[string]Script // further names; their requests are served by host 0
}

// Script is what a name answers: the first query of a type gets the first
// step, the second the second, and the last step all that follow.
type Script []Step

// Step is one answer. An A query gets the IPv4 addresses, an AAAA query the
// others.
type Step struct {
	Addrs    []netip.Addr  // a zero Addr is the address of the lab
	CNAME    string        // the name is an alias of this one; a host's addresses follow
	RCode    RCode         // anything but NoError comes alone
	TTL      time.Duration // zero means that of the DNS, less means 0
	Delay    time.Duration // before the answer
	Drop     bool          // no answer at all
	Truncate bool          // over UDP say only: ask again over TCP
}

// DNSStats counts queries since the lab was made or reset.
type DNSStats struct {
	Queries  int64 `json:"queries"`
	TCP      int64 `json:"tcp"`      // of those, over TCP
	NXDomain int64 `json:"nxdomain"` // answered so
	Dropped  int64 `json:"dropped"`  // not answered on purpose
}

// dnsTally counts queries and remembers how far each script is.
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

// step gives the step of a script that is due for one more query.
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

	maxDNSWaiting = 1024             // answers that may be delayed at once; more queries are dropped
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

// resolve decides about one question; drop means that no answer is given.
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

// address is what the DNS gives for host n.
func (l *Lab) address(n int) netip.Addr {
	if l.cfg.Addr.IsValid() {
		return l.cfg.Addr
	}
	return hostAddr(n)
}

// dnsReply answers one message, or gives nil if there is nothing to say.
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

// serveDNS answers over UDP until pc is closed.
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

// serveDNSTCP answers over TCP until ln is closed.
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

// serveDNSConn answers the queries of one connection until it ends, falls
// silent, or a script says to drop a query.
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

// sleep waits, and says whether ctx ended meanwhile.
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

// listenDNS opens one port for UDP and TCP. A port of 0 may be free for one
// and taken for the other, so that is tried a few times.
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
