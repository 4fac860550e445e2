package guard

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"

	"headway/fetch/guard/guardtest"
)

// TestLookup queries a real name server over real sockets.
func TestLookup(t *testing.T) {
	names := guardtest.Serve(t)
	const v4, v6 = "93.184.215.14", "2606:4700:4700::1111"
	tests := []struct {
		name   string
		reply  guardtest.Reply
		family Family
		addrs  []string
		kind   DNSKind
		ttl    time.Duration
	}{
		{"both families", guardtest.Reply{Addrs: []string{v4, v6}, TTL: 60}, Auto, []string{v4, v6}, "", time.Minute},
		{"only IPv4 wanted", guardtest.Reply{Addrs: []string{v4, v6}, TTL: 60}, IPv4, []string{v4}, "", time.Minute},
		{"only IPv6 wanted", guardtest.Reply{Addrs: []string{v4, v6}, TTL: 60}, IPv6, []string{v6}, "", time.Minute},
		{"behind an alias", guardtest.Reply{Addrs: []string{v4}, Alias: "other.test", TTL: 60}, Auto, []string{v4}, "", time.Minute},
		{"cut over UDP, whole over TCP", guardtest.Reply{Addrs: []string{v4}, Cut: true, TTL: 60}, Auto, []string{v4}, "", time.Minute},
		{"a forged answer first", guardtest.Reply{Addrs: []string{v4}, Forged: true, TTL: 60}, Auto, []string{v4}, "", time.Minute},
		{"no answer for the other family", guardtest.Reply{Addrs: []string{v4}, Skip6: true, TTL: 60}, Auto, []string{v4}, "", time.Minute},
		{"no such name", guardtest.Reply{Code: dns.RcodeNameError, SOA: 600}, Auto, nil, NXDomain, 10 * time.Minute},
		{"no such name, no zone", guardtest.Reply{Code: dns.RcodeNameError}, Auto, nil, NXDomain, defaultNegativeTTL},
		{"no address", guardtest.Reply{SOA: 600}, Auto, nil, NoAddress, 10 * time.Minute},
		{"an alias to nothing", guardtest.Reply{Alias: "other.test", SOA: 600}, Auto, nil, NoAddress, 10 * time.Minute},
		{"server failure", guardtest.Reply{Code: dns.RcodeServerFailure}, Auto, nil, ServFail, 0},
		{"refused", guardtest.Reply{Code: dns.RcodeRefused}, Auto, nil, ServFail, 0},
		{"unknown code", guardtest.Reply{Code: 14}, Auto, nil, ServFail, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			names.Set("site.test", tt.reply)
			answer, err := newResolver(Config{Resolver: names.Addr, IP: tt.family}).lookup(t.Context(), "site.test")
			var got []string
			for _, a := range answer.Addrs {
				got = append(got, a.String())
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(tt.addrs))
			if !slices.Equal(got, want) {
				t.Errorf("addresses %v, want %v", got, want)
			}
			failure, _ := errors.AsType[*DNSError](err)
			if kind := kindOf(failure); kind != tt.kind || answer.TTL != tt.ttl {
				t.Errorf("%q for %v, want %q for %v", kind, answer.TTL, tt.kind, tt.ttl)
			}
		})
	}
}

func kindOf(e *DNSError) DNSKind {
	if e == nil {
		return ""
	}
	return e.Kind
}

func TestSilentNameServer(t *testing.T) {
	names := guardtest.Serve(t)
	names.Set("site.test", guardtest.Reply{Silent: true})
	d := newDialer(t, Config{Resolver: names.Addr, LookupTimeout: 500 * time.Millisecond})
	_, err := d.Resolve(t.Context(), "site.test", 80)
	if failure, ok := errors.AsType[*DNSError](err); !ok || !failure.Timeout() || failure.Definite() {
		t.Errorf("error %v, want a timeout", err)
	}
	// Once it responds, lookups succeed: the failure was not cached.
	names.Set("site.test", guardtest.Reply{Addrs: []string{"93.184.215.14"}})
	if _, err := d.Resolve(t.Context(), "site.test", 80); err != nil {
		t.Error(err)
	}
}

func TestNoNameServer(t *testing.T) {
	pc, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pc.Close()
	d := newDialer(t, Config{Resolver: pc.LocalAddr().String()})
	_, err = d.Resolve(t.Context(), "site.test", 80)
	if failure, ok := errors.AsType[*DNSError](err); !ok || failure.Kind != Unreachable {
		t.Errorf("error %v, want an unreachable name server", err)
	}
}

func TestSecondNameServer(t *testing.T) {
	bad, good := guardtest.Serve(t), guardtest.Serve(t)
	bad.Set("site.test", guardtest.Reply{Code: dns.RcodeServerFailure})
	good.Set("site.test", guardtest.Reply{Addrs: []string{"93.184.215.14"}})
	r := newResolver(Config{IP: Auto})
	r.servers, r.read = []string{bad.Addr, good.Addr}, time.Now()
	if answer, err := r.lookup(t.Context(), "site.test"); err != nil || len(answer.Addrs) != 1 {
		t.Errorf("%v, %v", answer, err)
	}
}

// TestSystemResolver looks up a name that cannot exist with the platform's resolver.
func TestSystemResolver(t *testing.T) {
	r := newResolver(Config{IP: Auto})
	answer, err := r.systemLookup(t.Context(), "headway.invalid")
	if failure, ok := errors.AsType[*DNSError](err); !ok || failure.Host != "headway.invalid" || len(answer.Addrs) != 0 {
		t.Errorf("%v, %v", answer, err)
	}
}

func TestReadResolvConf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(path, []byte("search corp.example\nnameserver 192.0.2.53\nnameserver 2001:db8::53\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"192.0.2.53:53", "[2001:db8::53]:53"}
	if got, err := readResolvConf(path); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, err := readResolvConf(path + ".missing"); err == nil || got != nil {
		t.Errorf("%v from a missing file", got)
	}
}
