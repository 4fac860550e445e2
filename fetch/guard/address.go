package guard

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// special is a block of addresses that no public web server uses.
type special struct {
	prefix netip.Prefix
	why    string
}

// specials are the non-public blocks: the IANA special-purpose registries, multicast
// and reserved space, and single addresses used by cloud hosts. IPv6 outside
// globalUnicast is refused anyway; its blocks are listed for their reason. Transition
// addresses are refused entirely, whatever IPv4 address they embed.
var specials = []special{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared address space"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("168.63.129.16/32"), "cloud host agent"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},
	{netip.MustParsePrefix("192.31.196.0/24"), "AS112 service"},
	{netip.MustParsePrefix("192.52.193.0/24"), "multicast tunnels"},
	{netip.MustParsePrefix("192.88.99.0/24"), "retired 6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("192.175.48.0/24"), "AS112 service"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarking"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},

	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("::/96"), "IPv4-compatible"},
	{netip.MustParsePrefix("::ffff:0:0/96"), "IPv4-mapped"},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "IPv4-translated"},
	{nat64, "NAT64"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "local-use NAT64"},
	{netip.MustParsePrefix("100::/64"), "discard-only"},
	{netip.MustParsePrefix("100:0:0:1::/64"), "dummy prefix"},
	{netip.MustParsePrefix("2001::/32"), "Teredo"},
	{netip.MustParsePrefix("2001::/23"), "protocol assignments"},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{netip.MustParsePrefix("2002::/16"), "6to4"},
	{netip.MustParsePrefix("2620:4f:8000::/48"), "AS112 service"},
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
	{netip.MustParsePrefix("5f00::/16"), "segment routing"},
	{netip.MustParsePrefix("fc00::/7"), "unique local"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "retired site-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

// exacts are addresses that can expose the credentials of a machine or an account:
// link-local ones, and cloud metadata services. They can only be allowed by their
// exact address.
var exacts = []special{
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("168.63.129.16/32"), "cloud host agent"},
	{netip.MustParsePrefix("100.100.100.200/32"), "cloud metadata"},
	{netip.MustParsePrefix("192.0.0.192/32"), "cloud metadata"},
	{netip.MustParsePrefix("fd00:ec2::/32"), "cloud metadata"},
	{netip.MustParsePrefix("fd20:ce::254/128"), "cloud metadata"},
}

// exactOnly says why an address can only be allowed by its exact address, or "". IPv4
// addresses embedded in an IPv6 address are checked as well.
func exactOnly(a netip.Addr) string {
	for _, s := range exacts {
		if s.prefix.Contains(a) {
			return s.why
		}
	}
	for _, inner := range embeddedIPv4s(a) {
		if why := exactOnly(inner); why != "" {
			return why + " inside"
		}
	}
	return ""
}

// embeddedIPv4s returns the IPv4 addresses that an IPv6 address may embed: in its last four
// bytes, plain or inverted (Teredo), or after the 6to4 prefix.
func embeddedIPv4s(a netip.Addr) []netip.Addr {
	if a.Is4() {
		return nil
	}
	b := a.As16()
	list := []netip.Addr{netip.AddrFrom4([4]byte(b[12:]))}
	if b[0] == 0x20 && b[1] == 0x02 {
		list = append(list, netip.AddrFrom4([4]byte(b[2:6])))
	}
	if b[0] == 0x20 && b[1] == 0x01 && b[2] == 0 && b[3] == 0 {
		list = append(list, netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	return list
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
)

// Public reports whether an address belongs to the public internet.
func Public(a netip.Addr) bool { return notPublic(a) == "" }

// notPublic says why an address is not public, or "".
func notPublic(a netip.Addr) string {
	if !a.IsValid() {
		return "not an address"
	}
	if a.Zone() != "" {
		return "address with a zone"
	}
	for _, s := range specials {
		// Contains compares within one family, and treats an IPv4-mapped address as
		// IPv6.
		if s.prefix.Contains(a) {
			return s.why
		}
	}
	if a.Is4() {
		return ""
	}
	if !globalUnicast.Contains(a) {
		return "outside global unicast"
	}
	if inner, ok := isatap(a); ok && notPublic(inner) != "" {
		return "ISATAP with " + notPublic(inner) + " inside"
	}
	return ""
}

// isatap returns the IPv4 address in an ISATAP interface identifier (RFC 5214), to
// which routers that support it would forward the packet.
func isatap(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	if (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		return netip.AddrFrom4([4]byte(b[12:])), true
	}
	return netip.Addr{}, false
}

// Range is a block of non-public addresses that may be dialled.
type Range struct {
	Prefix netip.Prefix
	// Ports are the only ports allowed in the block; none means 80 and 443.
	Ports []uint16
}

// ParseRange reads CIDR[:PORT,…], the form of the command line: "10.0.0.0/8",
// "127.0.0.0/8:8080,8443", "fd00::/8:8080". A single address is its own range:
// "127.0.0.1:8080", "[::1]:8080".
func ParseRange(s string) (Range, error) {
	block, ports := splitRange(s)
	r := Range{}
	if strings.Contains(block, "/") {
		p, err := netip.ParsePrefix(block)
		if err != nil {
			return Range{}, fmt.Errorf("range %q: %q is not a CIDR block", s, block)
		}
		r.Prefix = p.Masked()
	} else {
		a, err := netip.ParseAddr(block)
		if err != nil || a.Zone() != "" {
			return Range{}, fmt.Errorf("range %q: %q is not a CIDR block or an address", s, block)
		}
		r.Prefix = netip.PrefixFrom(a, a.BitLen())
	}
	if err := r.Check(); err != nil {
		return Range{}, fmt.Errorf("range %q: %w", s, err)
	}
	if ports == "" {
		return r, nil
	}
	for text := range strings.SplitSeq(ports[1:], ",") {
		n, ok := parsePort(text)
		if !ok {
			return Range{}, fmt.Errorf("range %q: %q is not a port from 1 to 65535", s, text)
		}
		r.Ports = append(r.Ports, n)
	}
	return r, nil
}

// Check refuses a range that is wider than its private block, and a range of
// addresses that can only be allowed one by one.
func (r Range) Check() error {
	within := func(s special) bool { return s.prefix.Bits() <= r.Prefix.Bits() && s.prefix.Contains(r.Prefix.Addr()) }
	if !slices.ContainsFunc(specials, within) {
		return fmt.Errorf("%s is not inside a private block", r.Prefix)
	}
	if r.Prefix.IsSingleIP() {
		return nil
	}
	if i := slices.IndexFunc(exacts, within); i >= 0 {
		return fmt.Errorf("%s is %s, which must be allowed by its exact address", r.Prefix, exacts[i].why)
	}
	return nil
}

// splitRange cuts the port list, with its colon, from a range. IPv6 colons are before
// the slash or in brackets.
func splitRange(s string) (block, ports string) {
	cut := -1
	if slash := strings.IndexByte(s, '/'); slash >= 0 {
		if i := strings.IndexByte(s[slash:], ':'); i >= 0 {
			cut = slash + i
		}
	} else if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return s, ""
		}
		if rest := s[end+1:]; rest != "" && rest[0] != ':' {
			return s, ""
		}
		return s[1:end], s[end+1:]
	} else if strings.Count(s, ":") == 1 {
		cut = strings.IndexByte(s, ':')
	}
	if cut < 0 {
		return s, ""
	}
	return s[:cut], s[cut:]
}

// String returns the form that ParseRange reads.
func (r Range) String() string {
	var b strings.Builder
	b.WriteString(r.Prefix.String())
	for i, p := range r.Ports {
		b.WriteByte(":,"[min(i, 1)])
		b.WriteString(strconv.Itoa(int(p)))
	}
	return b.String()
}

// Allows reports whether the range allows this address and port.
func (r Range) Allows(a netip.Addr, port uint16) bool {
	return r.Opens(a) && r.hasPort(port)
}

// Opens reports whether the range allows this address on some port. Link-local and
// cloud metadata addresses need a range of exactly that address.
func (r Range) Opens(a netip.Addr) bool {
	return r.Prefix.Contains(a) && (r.Prefix.IsSingleIP() || exactOnly(a) == "")
}

func (r Range) hasPort(port uint16) bool {
	if len(r.Ports) == 0 {
		return port == 80 || port == 443
	}
	return slices.Contains(r.Ports, port)
}

// parsePort reads a decimal port number from 1 to 65535.
func parsePort(s string) (uint16, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return uint16(n), err == nil && n > 0
}

// verdict says whether we may connect to an address and port.
type verdict struct {
	why     string // why not; "" when allowed
	badPort bool   // the address is fine, the port is not
	private bool   // allowed because the operator named its range
}

// judge checks the address table, the allowed ranges and the ports.
func (d *Dialer) judge(a netip.Addr, port uint16) verdict {
	why := notPublic(a)
	if why == "" {
		return verdict{badPort: !d.publicPort(port)}
	}
	// An allowed NAT64 prefix allows what is behind it, not internal machines: the
	// embedded address is checked on its own.
	if nat64.Contains(a) {
		if inner := embedded(a); d.inRange(a) && d.judge(inner, port).why != "" {
			return verdict{why: "NAT64 with " + notPublic(inner) + " inside"}
		}
	}
	if !d.inRange(a) {
		return verdict{why: why}
	}
	for _, r := range d.cfg.AllowPrivate {
		if r.Allows(a, port) {
			return verdict{private: !nat64.Contains(a)}
		}
	}
	return verdict{badPort: true}
}

// embedded returns the IPv4 address in the last four bytes.
func embedded(a netip.Addr) netip.Addr {
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[12:]))
}

func (d *Dialer) inRange(a netip.Addr) bool {
	return slices.ContainsFunc(d.cfg.AllowPrivate, func(r Range) bool { return r.Opens(a) })
}

func (d *Dialer) publicPort(port uint16) bool {
	return port == 80 || port == 443 || slices.Contains(d.cfg.ExtraPorts, port)
}

// portAllowedAnywhere reports whether any address could be dialled on the port, so that a
// forbidden port is refused without a lookup.
func (d *Dialer) portAllowedAnywhere(port uint16) bool {
	return d.publicPort(port) ||
		slices.ContainsFunc(d.cfg.AllowPrivate, func(r Range) bool { return r.hasPort(port) })
}
