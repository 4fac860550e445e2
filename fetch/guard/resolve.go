package guard

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Target is a checked destination: a host, a port and the addresses that may be
// connected to. Only [Dialer.Resolve] creates one.
type Target struct {
	dialer  *Dialer
	host    string
	port    uint16
	addrs   []netip.Addr
	private bool
	lookup  time.Duration
}

// Addrs returns the checked addresses in the order they are tried.
func (t Target) Addrs() []netip.Addr { return slices.Clone(t.addrs) }

// Private reports whether all addresses are allowed only through an allowed private
// range; such hosts count as owned.
func (t Target) Private() bool { return t.private }

// Lookup is how long the DNS lookup took; 0 if there was none.
func (t Target) Lookup() time.Duration { return t.lookup }

type pinnedKey struct{}

// Pin returns a context in which [Dialer.DialContext] uses the addresses of t without
// another lookup, for the same host, port and Dialer.
func (t Target) Pin(ctx context.Context) context.Context {
	return context.WithValue(ctx, pinnedKey{}, t)
}

type lookupKey struct{}

// WatchLookup returns a context in which [Dialer.Resolve] calls told(true) before a DNS
// lookup and told(false) after it, and neither if no lookup is needed.
func WatchLookup(ctx context.Context, told func(looking bool)) context.Context {
	return context.WithValue(ctx, lookupKey{}, told)
}

// Resolve looks up host and checks each address for port. One forbidden address
// refuses the host as a whole. The error is a [*BlockedError], a [*PortError], a
// [*DNSError], or the end of ctx.
func (d *Dialer) Resolve(ctx context.Context, host string, port uint16) (Target, error) {
	t, err := d.resolve(ctx, host, port)
	if err == nil {
		return t, nil
	}
	if _, ok := errors.AsType[*BlockedError](err); ok || errors.Is(err, ErrBadPort) {
		d.counters.blocked.Add(1)
	}
	return Target{}, err
}

func (d *Dialer) resolve(ctx context.Context, host string, port uint16) (Target, error) {
	if port == 0 || !d.portAllowedAnywhere(port) {
		return Target{}, &PortError{Host: host, Port: strconv.Itoa(int(port))}
	}
	t := Target{dialer: d, host: host, port: port}
	name, addr, why := readHost(host)
	switch {
	case why == "" && addr.IsValid():
		t.addrs = []netip.Addr{addr}
		return t.checked()
	case why == "" || why == reservedName && len(d.cfg.AllowPrivate) > 0:
		// An operator who allowed a private range may use internal names.
	default:
		return Target{}, &BlockedError{Host: host, Why: why}
	}
	if name == "localhost" {
		return t.local()
	}
	addrs, err, hit := d.cache.get(name)
	if hit {
		d.counters.hits.Add(1)
	} else {
		d.counters.misses.Add(1)
		told, watched := ctx.Value(lookupKey{}).(func(bool))
		if watched {
			told(true)
		}
		start := time.Now()
		addrs, err = d.flight.do(ctx, name, func(ctx context.Context) ([]netip.Addr, error) {
			return d.look(ctx, name)
		})
		t.lookup = time.Since(start)
		if watched {
			told(false)
		}
	}
	if err != nil {
		return Target{}, err
	}
	t.addrs = addrs
	return t.checked()
}

// checked returns t if all its addresses and its port are allowed.
func (t Target) checked() (Target, error) {
	t.private = true
	for _, a := range t.addrs {
		v := t.dialer.judge(a, t.port)
		if v.why != "" {
			return Target{}, &BlockedError{Host: t.host, Addr: a, Why: v.why}
		}
		if v.badPort {
			return Target{}, &PortError{Host: t.host, Port: strconv.Itoa(int(t.port))}
		}
		t.private = t.private && v.private
	}
	t.addrs = t.dialer.ordered(t.addrs)
	if len(t.addrs) == 0 {
		return Target{}, &DNSError{Host: t.host, Kind: NoAddress}
	}
	return t, nil
}

// local resolves "localhost", which is never looked up (RFC 6761), to the loopback
// addresses that the operator allowed.
func (t Target) local() (Target, error) {
	for _, a := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
		if t.dialer.judge(a, t.port) == (verdict{private: true}) {
			t.addrs = append(t.addrs, a)
		}
	}
	if len(t.addrs) == 0 {
		return Target{}, &BlockedError{Host: t.host, Why: reservedName}
	}
	return t.checked()
}

// ordered drops the families that are not configured and alternates the two, IPv6
// first (RFC 8305).
func (d *Dialer) ordered(addrs []netip.Addr) []netip.Addr {
	var v4, v6 []netip.Addr
	for _, a := range addrs {
		if a.Is4() {
			v4 = append(v4, a)
		} else {
			v6 = append(v6, a)
		}
	}
	switch {
	case d.cfg.IP == IPv4 || len(v6) == 0 && d.cfg.IP == Auto:
		return v4
	case d.cfg.IP == IPv6 || len(v4) == 0:
		return v6
	}
	mixed := make([]netip.Addr, 0, len(addrs))
	for i := range max(len(v4), len(v6)) {
		if i < len(v6) {
			mixed = append(mixed, v6[i])
		}
		if i < len(v4) {
			mixed = append(mixed, v4[i])
		}
	}
	return mixed
}

// slowLookup is how long a lookup counts towards MaxLookups.
const slowLookup = time.Second

// look looks a name up within the limits and caches the answer. An answer that is not
// definite, such as a server failure, is not cached.
func (d *Dialer) look(ctx context.Context, name string) ([]netip.Addr, error) {
	if err := d.lookups.enter(ctx); err != nil {
		return nil, err
	}
	// A slow lookup stops counting, so that others can start: its callers are
	// limited elsewhere.
	leave := sync.OnceFunc(d.lookups.leave)
	defer leave()
	defer time.AfterFunc(slowLookup, leave).Stop()
	answer, err := d.ask(ctx, name)
	if err == nil && len(answer.Addrs) == 0 {
		err = &DNSError{Host: name, Kind: NoAddress}
	}
	if err != nil {
		d.counters.lookupFailures.Add(1)
		if failure, ok := errors.AsType[*DNSError](err); ok && failure.Definite() {
			d.cache.put(name, nil, failure.Kind, min(answer.TTL, d.cfg.NegativeMax))
		}
		return nil, err
	}
	addrs := keepAddrs(answer.Addrs)
	d.cache.put(name, addrs, "", answer.TTL)
	return addrs, nil
}

// ask looks a name up, and retries while there is no file descriptor.
func (d *Dialer) ask(ctx context.Context, name string) (Answer, error) {
	var scarce DescriptorWait
	for {
		once, cancel := context.WithTimeout(ctx, d.cfg.LookupTimeout)
		answer, err := d.cfg.Lookup(once, name)
		cancel()
		if err == nil || !scarce.Again(ctx, err) {
			return answer, err
		}
	}
}

// keepAddrs limits the addresses of an answer. Non-public addresses come first, so that
// truncation never turns a refused answer into an accepted one.
func keepAddrs(addrs []netip.Addr) []netip.Addr {
	if len(addrs) <= maxAddrs {
		return addrs
	}
	addrs = slices.Clone(addrs)
	slices.SortStableFunc(addrs, func(a, b netip.Addr) int {
		return boolInt(notPublic(a) == "") - boolInt(notPublic(b) == "")
	})
	return addrs[:maxAddrs]
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reservedName is the reason for refusing names reserved for local networks.
const reservedName = "name reserved for local networks"

// reservedZones are not delegated in the public DNS.
var reservedZones = []string{"localhost", "local", "internal", "home.arpa", "onion", "alt"}

const (
	maxHost  = 253 // bytes of a host name
	maxLabel = 63
)

// readHost distinguishes an address from a name. A name is returned in lower case
// without its root dot; why says what is wrong with anything else. Hosts from weburl
// are already canonical; any other string must be safe too.
func readHost(host string) (name string, addr netip.Addr, why string) {
	if strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return "", netip.Addr{}, "not a host name" // check before lower-casing turns it into ASCII
	}
	name = strings.ToLower(strings.TrimSuffix(host, "."))
	if strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]") {
		name = name[1 : len(name)-1]
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return name, a, ""
	}
	if name == "" || len(name) > maxHost {
		return "", netip.Addr{}, "not a host name"
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) {
			return "", netip.Addr{}, "not a host name"
		}
		last = label
	}
	if looksNumeric(last) {
		return "", netip.Addr{}, "non-standard spelling of an IP address"
	}
	if !strings.Contains(name, ".") || slices.ContainsFunc(reservedZones, func(zone string) bool {
		return name == zone || strings.HasSuffix(name, "."+zone)
	}) {
		if strings.HasSuffix(name, ".localhost") {
			name = "localhost"
		}
		return name, netip.Addr{}, reservedName
	}
	return name, netip.Addr{}, ""
}

// isLabel accepts letters, digits, hyphens and underscores.
func isLabel(s string) bool {
	if s == "" || len(s) > maxLabel {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// looksNumeric reports whether a last label makes other software read the host as an
// IPv4 address: all digits, or hexadecimal after 0x.
func looksNumeric(label string) bool {
	if rest, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
