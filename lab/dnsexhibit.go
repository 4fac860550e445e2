package lab

import (
	"net/netip"
	"time"
)

// DNSExhibit is a name of the built-in DNS with an unusual answer.
type DNSExhibit struct {
	Name   string
	About  string
	script Script
}

// DNSExhibits lists the unusual names. Each also has an AAAA answer, empty unless stated
// otherwise.
func DNSExhibits() []DNSExhibit { return append([]DNSExhibit(nil), dnsExhibits...) }

var (
	labAddr           = netip.Addr{}                                 // the lab itself
	documentationAddr = netip.AddrFrom4([4]byte{203, 0, 113, 7})     // looks public; documentation range, not routed
	private           = netip.AddrFrom4([4]byte{10, 0, 0, 5})        //
	metadata          = netip.AddrFrom4([4]byte{169, 254, 169, 254}) // cloud metadata service
)

const slowDNS = 3 * time.Second

var dnsExhibits = []DNSExhibit{
	{"rebind.dns.test", "the lab on the first query, 10.0.0.5 afterwards, TTL 0", Script{
		{Addrs: []netip.Addr{labAddr}, TTL: -1}, {Addrs: []netip.Addr{private}, TTL: -1},
	}},
	{"rebind-in.dns.test", "203.0.113.7 on the first query, the lab afterwards, TTL 0", Script{
		{Addrs: []netip.Addr{documentationAddr}, TTL: -1}, {Addrs: []netip.Addr{labAddr}, TTL: -1},
	}},
	{"mixed.dns.test", "203.0.113.7 and 10.0.0.5 in one answer", Script{{Addrs: []netip.Addr{documentationAddr, private}}}},
	{"mixed-lab.dns.test", "the lab and 169.254.169.254 in one answer", Script{{Addrs: []netip.Addr{labAddr, metadata}}}},
	{"mixed-v6.dns.test", "A is the lab, AAAA is the mapped ::ffff:10.0.0.5", Script{
		{Addrs: []netip.Addr{labAddr, netip.AddrFrom16(private.As16())}},
	}},
	{"private.dns.test", "10.0.0.5", Script{{Addrs: []netip.Addr{private}}}},
	{"v6.dns.test", "no A, AAAA is ::1", Script{{Addrs: []netip.Addr{netip.IPv6Loopback()}}}},
	{"servfail.dns.test", "SERVFAIL", Script{{RCode: ServFail}}},
	{"refused.dns.test", "REFUSED", Script{{RCode: Refused}}},
	{"late.dns.test", "SERVFAIL twice, then the lab", Script{
		{RCode: ServFail}, {RCode: ServFail}, {Addrs: []netip.Addr{labAddr}},
	}},
	{"slow.dns.test", "the lab, after 3 seconds", Script{{Addrs: []netip.Addr{labAddr}, Delay: slowDNS}}},
	{"drop.dns.test", "no response at all", Script{{Drop: true}}},
	{"truncated.dns.test", "truncated over UDP, so that the client retries over TCP; there the lab", Script{{Addrs: []netip.Addr{labAddr}, Truncate: true}}},
	{"many.dns.test", "200 records of the lab: too long for UDP", Script{{Addrs: make([]netip.Addr, 200)}}},
	{"cname.dns.test", "an alias of private.dns.test", Script{{CNAME: "private.dns.test"}}},
	{"cname-loop.dns.test", "an alias of itself", Script{{CNAME: "cname-loop.dns.test"}}},
}
