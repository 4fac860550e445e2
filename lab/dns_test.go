package lab

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// resolver queries the lab's DNS as Go programs do, over UDP and, if truncated, TCP.
func resolver(l *Lab) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, l.DNSAddr().String())
	}}
}

func TestDNSNames(t *testing.T) {
	l, _ := start(t, Config{Hosts: Uniform(300, Plain()), Domain: "farm.test", DNS: DNS{Listen: "127.0.0.1:0"}})
	r := resolver(l)
	for name, want := range map[string]string{"h299.farm.test": "127.1.1.50", "H0.Farm.Test.": "127.1.0.1"} {
		if addrs, err := r.LookupHost(t.Context(), name); err != nil || strings.Join(addrs, " ") != want {
			t.Errorf("%s: %v %v", name, addrs, err)
		}
	}
	_, err := r.LookupHost(t.Context(), "h300.farm.test.")
	if dnsErr, ok := errors.AsType[*net.DNSError](err); !ok || !dnsErr.IsNotFound {
		t.Errorf("an unknown name: %v", err)
	}
	if st := l.Stats().DNS; st.Queries < 6 || st.NXDomain == 0 || st.TCP != 0 {
		t.Errorf("%+v", st)
	}
}

// TestDNSOneAddress is the lab where only one address is routed.
func TestDNSOneAddress(t *testing.T) {
	l, c := start(t, Config{
		Hosts: Mixed(), Address: Name, Addr: netip.MustParseAddr("127.0.0.1"),
		Listen: "127.0.0.1:0", ListenTLS: "127.0.0.1:0", DNS: DNS{Listen: "127.0.0.1:0"},
	})
	r := resolver(l)
	var d net.Dialer
	d.Resolver = r
	c.Transport.(*http.Transport).DialContext = d.DialContext
	resp, _ := get(t, c, l.Seeds()[1])
	if st := l.Stats(); resp.StatusCode != http.StatusOK || st.PerHost[0].Host != "http://shop.alder.test:"+port(l) {
		t.Errorf("%s, %+v", resp.Status, st.PerHost)
	}
}

func port(l *Lab) string {
	_, p, _ := net.SplitHostPort(l.Addr().String())
	return p
}

func TestDNSWildcard(t *testing.T) {
	l, c := start(t, Config{Hosts: Uniform(2, small(nil)), DNS: DNS{Listen: "127.0.0.1:0", Wildcard: true}})
	d := net.Dialer{Resolver: resolver(l)}
	c.Transport.(*http.Transport).DialContext = d.DialContext
	if resp, text := get(t, c, "http://no.such.name.example:"+port(l)+"/"); resp.StatusCode != http.StatusOK || !strings.Contains(text, "of host 0") {
		t.Errorf("%s %.100s", resp.Status, text)
	}
}

// dnsShows are the answers of each unusual name to A queries, one per query, and to an
// AAAA query.
var dnsShows = map[string]struct {
	a    []string
	aaaa string
}{
	"rebind.dns.test":     {[]string{"127.1.0.1 ttl 0", "10.0.0.5 ttl 0", "10.0.0.5 ttl 0"}, ""},
	"rebind-in.dns.test":  {[]string{"203.0.113.7 ttl 0", "127.1.0.1 ttl 0", "127.1.0.1 ttl 0"}, ""},
	"mixed.dns.test":      {[]string{"203.0.113.7 10.0.0.5", "203.0.113.7 10.0.0.5"}, ""},
	"mixed-lab.dns.test":  {[]string{"127.1.0.1 169.254.169.254"}, ""},
	"mixed-v6.dns.test":   {[]string{"127.1.0.1"}, "::ffff:10.0.0.5"},
	"private.dns.test":    {[]string{"10.0.0.5"}, ""},
	"v6.dns.test":         {[]string{""}, "::1"},
	"servfail.dns.test":   {[]string{"RCodeServerFailure", "RCodeServerFailure"}, "RCodeServerFailure"},
	"refused.dns.test":    {[]string{"RCodeRefused"}, "RCodeRefused"},
	"late.dns.test":       {[]string{"RCodeServerFailure", "RCodeServerFailure", "127.1.0.1", "127.1.0.1"}, "RCodeServerFailure"},
	"slow.dns.test":       {[]string{"127.1.0.1 after 3s"}, " after 3s"},
	"drop.dns.test":       {[]string{"nothing"}, "nothing"},
	"truncated.dns.test":  {[]string{"truncated, over TCP 127.1.0.1"}, "truncated, over TCP "},
	"many.dns.test":       {[]string{"truncated, over TCP " + strings.TrimSpace(strings.Repeat("127.1.0.1 ", 200))}, ""},
	"cname.dns.test":      {[]string{"private.dns.test."}, "private.dns.test."},
	"cname-loop.dns.test": {[]string{"cname-loop.dns.test."}, "cname-loop.dns.test."},
}

// query builds a query with an independent implementation.
func query(t testing.TB, name string, qtype dnsmessage.Type) []byte {
	t.Helper()
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: 4711, RecursionDesired: true})
	if err := b.StartQuestions(); err != nil {
		t.Fatal(err)
	}
	if err := b.Question(dnsmessage.Question{Name: dnsmessage.MustNewName(name + "."), Type: qtype, Class: dnsmessage.ClassINET}); err != nil {
		t.Fatal(err)
	}
	msg, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return msg
}

// describe queries the lab without a socket and parses the reply with an independent
// implementation.
func describe(t testing.TB, l *Lab, name string, qtype dnsmessage.Type, tcp bool) string {
	t.Helper()
	out, delay := l.dnsReply(query(t, name, qtype), tcp)
	if out == nil {
		return "nothing"
	}
	var msg dnsmessage.Message
	if err := msg.Unpack(out); err != nil {
		t.Fatal(err)
	}
	if msg.ID != 4711 || !msg.Response || !msg.Authoritative || !msg.RecursionDesired || len(msg.Questions) != 1 {
		t.Errorf("%s: header %+v", name, msg.Header)
	}
	if !tcp && len(out) > 512 {
		t.Errorf("%s: %d bytes over UDP", name, len(out))
	}
	if msg.Truncated {
		return "truncated, over TCP " + describe(t, l, name, qtype, true)
	}
	if msg.RCode != dnsmessage.RCodeSuccess {
		return msg.RCode.String()
	}
	var parts []string
	ttl := uint32(300)
	for _, a := range msg.Answers {
		ttl = a.Header.TTL
		switch body := a.Body.(type) {
		case *dnsmessage.AResource:
			parts = append(parts, netip.AddrFrom4(body.A).String())
		case *dnsmessage.AAAAResource:
			parts = append(parts, netip.AddrFrom16(body.AAAA).String())
		case *dnsmessage.CNAMEResource:
			parts = append(parts, body.CNAME.String())
		}
	}
	text := strings.Join(parts, " ")
	if ttl == 0 {
		text += " ttl 0"
	} else if ttl != 300 {
		t.Errorf("%s: TTL %d", name, ttl)
	}
	if delay > 0 {
		text += " after " + delay.String()
	}
	return text
}

func TestDNSExhibits(t *testing.T) {
	l := mustNew(t, Config{Hosts: Uniform(2, Plain()), DNS: DNS{Names: map[string]Script{
		"Alias.Test.": {{CNAME: "h1.lab.test"}, {RCode: NXDomain}},
	}}})
	for _, e := range DNSExhibits() {
		want, ok := dnsShows[e.Name]
		if !ok {
			t.Errorf("%s has no case", e.Name)
			continue
		}
		for i, a := range want.a {
			if got := describe(t, l, e.Name, dnsmessage.TypeA, false); got != a {
				t.Errorf("%s, query %d: %q, want %q", e.Name, i, got, a)
			}
		}
		if got := strings.TrimSuffix(describe(t, l, e.Name, dnsmessage.TypeAAAA, false), " ttl 0"); got != want.aaaa && !strings.Contains(got, "truncated") {
			t.Errorf("%s: AAAA %q, want %q", e.Name, got, want.aaaa)
		}
	}
	if len(dnsShows) != len(DNSExhibits()) {
		t.Errorf("%d names, %d cases", len(DNSExhibits()), len(dnsShows))
	}
	// A script from the Config, and an alias of a host.
	for _, want := range []string{"h1.lab.test. 127.1.0.2", "RCodeNameError", "RCodeNameError"} {
		if got := describe(t, l, "alias.test", dnsmessage.TypeA, false); got != want {
			t.Errorf("alias: %q, want %q", got, want)
		}
	}
	l.Reset()
	if got := describe(t, l, "rebind.dns.test", dnsmessage.TypeA, false); got != "127.1.0.1 ttl 0" {
		t.Errorf("after a reset the script goes on: %q", got)
	}
	if got := describe(t, l, "h1.lab.test", dnsmessage.TypeMX, false); got != "" {
		t.Errorf("MX of a host: %q", got)
	}
}

// TestDNSOverSockets queries unusual names over real sockets.
func TestDNSOverSockets(t *testing.T) {
	l, _ := start(t, Config{Hosts: Uniform(2, Plain()), DNS: DNS{
		Listen: "127.0.0.1:0", TTL: time.Minute, Delay: 5 * time.Millisecond,
		Names: map[string]Script{"late.test": {{Addrs: []netip.Addr{labAddr}, Delay: 20 * time.Millisecond}}},
	}})
	r := resolver(l)
	began := time.Now()
	if addrs, err := r.LookupNetIP(t.Context(), "ip4", "late.test."); err != nil || len(addrs) != 1 || time.Since(began) < 25*time.Millisecond {
		t.Errorf("late.test: %v %v after %v", addrs, err, time.Since(began))
	}
	if addrs, err := r.LookupNetIP(t.Context(), "ip4", "many.dns.test."); err != nil || len(addrs) != 200 {
		t.Errorf("many.dns.test: %d addresses, %v", len(addrs), err)
	}
	if l.Stats().DNS.TCP == 0 {
		t.Error("no query over TCP")
	}
	// Several queries on one connection, the last one dropped.
	conn, err := net.Dial("tcp", l.DNSAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, name := range []string{"h0.lab.test", "h1.lab.test", "drop.dns.test"} {
		q := query(t, name, dnsmessage.TypeA)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(q))), q...)); err != nil {
			t.Fatal(err)
		}
		var size [2]byte
		_, err := io.ReadFull(conn, size[:])
		if name == "drop.dns.test" {
			if err == nil {
				t.Error("a query to drop was answered")
			}
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		msg := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, msg); err != nil {
			t.Fatal(err)
		}
		var m dnsmessage.Message
		if err := m.Unpack(msg); err != nil || len(m.Answers) != 1 || m.Answers[0].Header.TTL != 60 {
			t.Errorf("%s: %+v %v", name, m, err)
		}
	}
	if st := l.Stats().DNS; st.Dropped != 1 {
		t.Errorf("%+v", st)
	}
}

// FuzzDNSReply checks that any packet is answered with a message that an
// independent implementation can read, or not at all.
func FuzzDNSReply(f *testing.F) {
	l := mustNew(f, Config{Hosts: Uniform(3, Plain())})
	for _, name := range []string{"h0.lab.test", "cname.dns.test", "many.dns.test", "x.test"} {
		f.Add(query(f, name, dnsmessage.TypeA), false)
		f.Add(query(f, name, dnsmessage.TypeAAAA), true)
	}
	f.Add([]byte("\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01"), false)
	f.Fuzz(func(t *testing.T, q []byte, tcp bool) {
		out, _ := l.dnsReply(q, tcp)
		if out == nil {
			return
		}
		if !tcp && len(out) > dnsUDPBytes {
			t.Fatalf("%d bytes over UDP", len(out))
		}
		var p dnsmessage.Parser
		head, err := p.Start(out)
		if err != nil || !head.Response || head.ID != binary.BigEndian.Uint16(q) {
			t.Fatalf("%+v %v", head, err)
		}
		if _, err := p.AllQuestions(); err != nil {
			t.Fatalf("questions: %v", err)
		}
		if _, err := p.AllAnswers(); err != nil {
			t.Fatalf("answers: %v", err)
		}
	})
}
