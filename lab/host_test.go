package lab

import (
	"net/netip"
	"strings"
	"testing"
)

func TestHostLookup(t *testing.T) {
	l := mustNew(t, Config{Hosts: Uniform(300, Plain()), Address: Name, Domain: "farm.test", PublicPort: 8800})
	if got := l.Hosts()[299]; got.URL != "http://h299.farm.test:8800/" || got.Name != "h299.farm.test" || got.Addr != "127.1.1.50" {
		t.Fatalf("%+v", got)
	}
	for host, want := range map[string]int{
		"h299.farm.test:8800": 299, "127.1.1.50:1": 299, "127.1.0.1": 0, "H7.FARM.test": 7, "h7.farm.test.": 7,
		"[::ffff:127.1.0.8]": -1, "rebind.dns.test": 0,
		"h300.farm.test": -1, "h01.farm.test": -1, "127.1.0.0": -1, "127.1.0.01": -1, "127.0.0.1": -1, "127.1.250.1": -1,
		"example.com": -1, "": -1, ":80": -1, "h7": -1, "127.1.1.51": -1,
	} {
		n, ok := l.dir.find(host)
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("%q: %d, want %d", host, n, want)
		}
	}
}

// TestAddresses: each host has its own address, and is found by it.
func TestAddresses(t *testing.T) {
	for i, want := range map[int]string{0: "127.1.0.1", 62_499: "127.1.249.250", 62_500: "127.2.0.1", MaxHosts - 1: "127.4.249.250"} {
		addr := hostAddr(i)
		if n, ok := addrHost(addr); addr.String() != want || !ok || n != i {
			t.Errorf("host %d has address %s, want %s; found as %d, %v", i, addr, want, n, ok)
		}
	}
	for _, addr := range []string{"127.0.0.1", "127.5.0.1", "127.1.250.1", "127.2.0.0", "127.3.0.251", "126.1.0.1"} {
		if n, ok := addrHost(netip.MustParseAddr(addr)); ok {
			t.Errorf("%s is host %d", addr, n)
		}
	}
}

func TestHostNames(t *testing.T) {
	for _, test := range []struct{ asked, domain, want string }{
		{"h3", "", "h3.lab.test"},
		{"Shop.Alder.test", "", "shop.alder.test"},
		{"shop.alder.test", "lab.localhost", "shop.lab.localhost"},
		{"h3", "test", "h3.test"},
	} {
		if got := hostName(test.asked, test.domain); got != test.want {
			t.Errorf("%s in %q: %s, want %s", test.asked, test.domain, got, test.want)
		}
	}
	wild := mustNew(t, Config{Hosts: Uniform(2, Plain()), DNS: DNS{Wildcard: true}})
	if n, ok := wild.dir.find("anything.at.all:80"); !ok || n != 0 {
		t.Error("a wildcard lab does not serve a strange name")
	}
	if _, ok := wild.dir.find("127.0.0.1:80"); ok {
		t.Error("a wildcard lab serves a strange address")
	}
}

func TestClients(t *testing.T) {
	cfg := Config{Clients: []netip.Prefix{netip.MustParsePrefix("10.77.0.0/16"), netip.MustParsePrefix("fd00::/8")}}
	for addr, want := range map[string]bool{
		"127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true, "10.77.3.4": true,
		"::ffff:10.77.3.4": true, "fd00::1": true, "10.78.0.1": false, "192.0.2.1": false, "2001:db8::1": false,
	} {
		if got := cfg.admits(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
	if (&Config{}).admits(netip.Addr{}) {
		t.Error("a client without an address was admitted")
	}
}

// FuzzHostLookup checks that a host that is found has the requested name.
func FuzzHostLookup(f *testing.F) {
	l := mustNew(f, Config{Hosts: append(Uniform(500, Plain()), HostSpec{Name: "shop.alder.test"})})
	for _, seed := range []string{"h7.lab.test:80", "127.1.1.9", "SHOP.alder.TEST.", "127.1.1.9:", "[::1]:80", "::", "h7.lab.test:80:80"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		n, ok := l.dir.find(host)
		if !ok {
			return
		}
		if n < 0 || n >= len(l.web.hosts) {
			t.Fatalf("%q is host %d", host, n)
		}
		bare := strings.TrimSuffix(strings.ToLower(host), ".")
		if i := strings.LastIndexByte(host, ':'); i >= 0 {
			bare = strings.TrimSuffix(strings.ToLower(host[:i]), ".")
		}
		if addr := hostAddr(n).String(); bare != addr && bare != "::ffff:"+addr && bare != l.web.hosts[n].name && l.cfg.DNS.Names[bare] == nil {
			if a, err := netip.ParseAddr(bare); err != nil || a.Unmap() != hostAddr(n) {
				t.Fatalf("%q was taken for %s", host, l.web.hosts[n].name)
			}
		}
	})
}
