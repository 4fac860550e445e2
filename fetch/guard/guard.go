// Package guard is the only place in Headway that opens a connection.
//
// All traffic goes through a [Dialer]: page fetches, robots.txt, sitemaps, webhooks and
// object storage. A name is resolved once, through a cache that respects TTLs; every
// address of the answer is checked; and the connection goes to one of the checked
// addresses, never to a name, so that a later DNS answer cannot redirect it. The
// address is checked once more just before the operating system connects.
//
// Guarantees: no connection to a non-public address unless the operator allowed its
// range ([Config.AllowPrivate]), which must lie within a private block; none to a
// link-local or cloud metadata address unless exactly that address was allowed; an
// answer with one forbidden address is refused as a whole; only ports 80 and 443 unless
// listed; lookups, cache entries and waits are bounded and counted ([Dialer.Stats]);
// any string is safe as a host.
//
// Not supported: proxies from the environment (they would dial for us), the hosts file
// and the search list (they name internal machines), zone identifiers, and unusual
// spellings of addresses, which [headway/weburl] normalises.
package guard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Family chooses the address family of connections.
type Family string

// The families of [Config.IP].
const (
	Auto Family = "auto" // both; IPv6 first, IPv4 after attemptDelay
	IPv4 Family = "4"
	IPv6 Family = "6"
)

// Defaults of [Config].
const (
	DefaultDialTimeout   = 10 * time.Second
	DefaultLookupTimeout = 10 * time.Second
	DefaultMaxLookups    = 256
	DefaultMaxEntries    = 1_000_000
	DefaultNegativeMax   = 5 * time.Minute
)

// Config configures a [Dialer]. Its zero value is strict: public addresses only, ports
// 80 and 443, the system's resolver.
type Config struct {
	// Resolver is the name server, as IP:PORT. Empty means those in /etc/resolv.conf,
	// or the system's own resolver where there is no such file.
	Resolver string
	// IP chooses the address family; empty means Auto.
	IP Family
	// AllowPrivate lists the ranges that may be dialled although they are not public.
	AllowPrivate []Range
	// ExtraPorts are allowed on public addresses in addition to 80 and 443.
	ExtraPorts []uint16
	// DialTimeout limits one connection attempt over all addresses of a name.
	DialTimeout time.Duration
	// LookupTimeout limits one lookup over all tries and name servers, not counting
	// the wait for MaxLookups.
	LookupTimeout time.Duration
	// MaxLookups limits concurrent lookups; further ones wait. A lookup that takes
	// longer than a second no longer counts, so that unresponsive name servers do not
	// block other lookups; the callers bound how many there are.
	MaxLookups int
	// MaxEntries limits the DNS cache.
	MaxEntries int
	// NegativeMax limits how long "no such name" is cached.
	NegativeMax time.Duration
	// Lookup and Connect replace name servers and sockets, for simulations and tests;
	// nil means the real ones. Both must respect ctx and be safe for concurrent use.
	// All checks of this package still apply: to what Lookup returns, and before
	// Connect is called. A [*DNSError] from Lookup says how it failed.
	Lookup  func(ctx context.Context, host string) (Answer, error)
	Connect func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
}

// Answer is the answer of a name server.
type Answer struct {
	Addrs []netip.Addr
	TTL   time.Duration // 0 means that it is not cached
}

// withDefaults returns a copy in which every zero setting has its default.
func (c Config) withDefaults() Config {
	if c.IP == "" {
		c.IP = Auto
	}
	if c.DialTimeout == 0 {
		c.DialTimeout = DefaultDialTimeout
	}
	if c.LookupTimeout == 0 {
		c.LookupTimeout = DefaultLookupTimeout
	}
	if c.MaxLookups == 0 {
		c.MaxLookups = DefaultMaxLookups
	}
	if c.MaxEntries == 0 {
		c.MaxEntries = DefaultMaxEntries
	}
	if c.NegativeMax == 0 {
		c.NegativeMax = DefaultNegativeMax
	}
	return c
}

// validate joins all problems, each with its field name.
func (c Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Resolver != "" {
		if _, err := netip.ParseAddrPort(c.Resolver); err != nil {
			bad("Resolver: %q is not IP:PORT", c.Resolver)
		}
	}
	if c.IP != Auto && c.IP != IPv4 && c.IP != IPv6 {
		bad("IP: %q is not auto, 4 or 6", c.IP)
	}
	if c.DialTimeout < 0 || c.LookupTimeout < 0 || c.NegativeMax < 0 {
		bad("DialTimeout, LookupTimeout and NegativeMax must not be negative")
	}
	if c.MaxLookups < 1 || c.MaxEntries < cacheShards {
		bad("MaxLookups must be at least 1 and MaxEntries at least %d", cacheShards)
	}
	if slices.Contains(c.ExtraPorts, 0) {
		bad("ExtraPorts: there is no port 0")
	}
	for _, r := range c.AllowPrivate {
		if !r.Prefix.IsValid() {
			bad("AllowPrivate: a range without a prefix")
		} else if err := r.Check(); err != nil {
			bad("AllowPrivate: %w", err)
		}
	}
	return errors.Join(errs...)
}

// Dialer resolves, checks and connects. It is safe for concurrent use.
type Dialer struct {
	cfg      Config
	cache    *cache
	flight   *flight
	lookups  *gate
	resolver *resolver
	counters counters
}

// New returns a Dialer for cfg.
func New(cfg Config) (*Dialer, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("guard config: %w", err)
	}
	d := &Dialer{
		cache:    newCache(cfg.MaxEntries),
		flight:   newFlight(),
		lookups:  newGate(cfg.MaxLookups),
		resolver: newResolver(cfg),
	}
	if cfg.Lookup == nil {
		cfg.Lookup = d.resolver.lookup
	}
	if cfg.Connect == nil {
		cfg.Connect = newConnect(d.control)
	}
	d.cfg = cfg
	return d, nil
}
