// Package guardtest provides a scripted name server, and a listener that fails the
// test when anything connects. Both listen on loopback.
package guardtest

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// Reply is the scripted answer for a name.
type Reply struct {
	Addrs  []string // A and AAAA records
	Texts  []string // TXT records
	Alias  string   // a CNAME in front of the addresses
	TTL    uint32   // of all records
	Code   int      // such as dns.RcodeNameError
	SOA    uint32   // lifetime of a negative answer; 0 means no SOA record
	Silent bool     // no response at all
	Cut    bool     // over UDP only a truncated answer, over TCP the whole one
	Skip6  bool     // no response to AAAA questions
	Forged bool     // preceded by a response with the wrong ID
}

// Names is a scripted name server.
type Names struct {
	Addr string // IP:PORT of its UDP and TCP sockets

	mu      sync.Mutex
	scripts map[string][]Reply
	asked   map[asked]int
}

// asked is the key for counting questions.
type asked struct {
	name string
	kind uint16
}

// Serve starts a name server that stops at the end of the test. Names without a
// script do not exist.
func Serve(t testing.TB) *Names {
	t.Helper()
	pc, ln := listen(t)
	n := &Names{Addr: pc.LocalAddr().String(), scripts: map[string][]Reply{}, asked: map[asked]int{}}
	for _, srv := range []*dns.Server{{PacketConn: pc, Handler: n}, {Listener: ln, Handler: n}} {
		started := make(chan struct{})
		srv.NotifyStartedFunc = func() { close(started) }
		done := make(chan error, 1)
		go func() { done <- srv.ActivateAndServe() }()
		<-started
		t.Cleanup(func() {
			if err := srv.Shutdown(); err != nil {
				t.Error(err)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	return n
}

// listen opens one port for UDP and TCP. The system picks a free UDP port; if it is
// taken for TCP, another one is tried.
func listen(t testing.TB) (net.PacketConn, net.Listener) {
	t.Helper()
	const tries = 20
	var lc net.ListenConfig
	for try := 1; ; try++ {
		pc, err := lc.ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ln, err := lc.Listen(t.Context(), "tcp4", pc.LocalAddr().String())
		if err == nil {
			return pc, ln
		}
		pc.Close()
		if try == tries {
			t.Fatal(err)
		}
	}
}

// Set scripts a name: the first lookup gets the first reply, and so on; the last reply
// is repeated.
func (n *Names) Set(name string, replies ...Reply) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name = strings.ToLower(dns.Fqdn(name))
	n.scripts[name] = replies
	delete(n.asked, asked{name, dns.TypeA})
	delete(n.asked, asked{name, dns.TypeAAAA})
}

// Asked returns the number of A questions for a name.
func (n *Names) Asked(name string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[asked{strings.ToLower(dns.Fqdn(name)), dns.TypeA}]
}

// ServeDNS answers one question.
func (n *Names) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	if len(q.Question) != 1 {
		return
	}
	name, kind := strings.ToLower(q.Question[0].Name), q.Question[0].Qtype
	_, udp := w.RemoteAddr().(*net.UDPAddr)
	reply := n.next(name, kind, udp)
	if reply.Silent || reply.Skip6 && kind == dns.TypeAAAA {
		return
	}
	m := new(dns.Msg)
	m.SetReply(q)
	m.Rcode = reply.Code
	if reply.Cut && udp {
		m.Truncated = true
		_ = w.WriteMsg(m) // a client that went away is not our problem, here and below
		return
	}
	owner := q.Question[0].Name
	head := func(t uint16) dns.RR_Header {
		return dns.RR_Header{Name: owner, Rrtype: t, Class: dns.ClassINET, Ttl: reply.TTL}
	}
	if reply.Alias != "" {
		m.Answer = append(m.Answer, &dns.CNAME{Hdr: head(dns.TypeCNAME), Target: dns.Fqdn(reply.Alias)})
		owner = dns.Fqdn(reply.Alias)
	}
	for _, text := range reply.Addrs {
		a := netip.MustParseAddr(text)
		switch {
		case a.Is4() && kind == dns.TypeA:
			m.Answer = append(m.Answer, &dns.A{Hdr: head(dns.TypeA), A: a.AsSlice()})
		case a.Is6() && kind == dns.TypeAAAA:
			m.Answer = append(m.Answer, &dns.AAAA{Hdr: head(dns.TypeAAAA), AAAA: a.AsSlice()})
		}
	}
	for _, text := range reply.Texts {
		if kind == dns.TypeTXT {
			m.Answer = append(m.Answer, &dns.TXT{Hdr: head(dns.TypeTXT), Txt: []string{text}})
		}
	}
	if reply.SOA > 0 {
		m.Ns = append(m.Ns, &dns.SOA{
			Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: reply.SOA},
			Ns:  "ns.test.", Mbox: "hostmaster.test.", Minttl: reply.SOA,
		})
	}
	if reply.Forged {
		forged := m.Copy()
		forged.Id++
		_ = w.WriteMsg(forged)
	}
	_ = w.WriteMsg(m)
}

// next returns the reply to a question. A truncated reply over UDP is not consumed:
// the client repeats the question over TCP.
func (n *Names) next(name string, kind uint16, udp bool) Reply {
	n.mu.Lock()
	defer n.mu.Unlock()
	script, ok := n.scripts[name]
	if !ok {
		return Reply{Code: dns.RcodeNameError, SOA: 60}
	}
	q := asked{name, kind}
	r := script[min(n.asked[q], len(script)-1)]
	if !r.Cut || !udp {
		n.asked[q]++
	}
	return r
}

// Trap is a listener that records connections.
type Trap struct {
	Addr netip.AddrPort

	mu   sync.Mutex
	more *sync.Cond
	from []string
}

// SetTrap listens on ip and any port until the test ends, and fails the test if
// anything connected.
func SetTrap(t testing.TB, ip string) *Trap {
	t.Helper()
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Skipf("no listener on %s: %v", ip, err)
	}
	trap := &Trap{Addr: ln.Addr().(*net.TCPAddr).AddrPort()}
	trap.more = sync.NewCond(&trap.mu)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			trap.mu.Lock()
			trap.from = append(trap.from, c.RemoteAddr().String())
			trap.mu.Unlock()
			trap.more.Broadcast()
			c.Close()
		}
	}()
	t.Cleanup(func() {
		if n := trap.Hits(t); n > 0 {
			t.Errorf("%d connections to %s, which must not be contacted", n, trap.Addr)
		}
		ln.Close()
		<-done
	})
	return trap
}

// Hits returns how many connections arrived. It connects itself: the listener accepts
// in order, so once that connection is accepted, all earlier ones are counted.
func (p *Trap) Hits(t testing.TB) int {
	t.Helper()
	var dialer net.Dialer
	// Not the test's context: it has ended at the last call.
	c, err := dialer.DialContext(context.Background(), "tcp", p.Addr.String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	own := c.LocalAddr().String()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !slices.Contains(p.from, own) {
		p.more.Wait()
	}
	p.from = slices.DeleteFunc(p.from, func(s string) bool { return s == own })
	return len(p.from)
}
