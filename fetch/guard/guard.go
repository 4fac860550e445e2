// Package guard is the only place in Headway that opens a connection.
//
// Everything that speaks to a host goes through a [Dialer]: page fetches,
// robots.txt, sitemaps, webhooks and object storage. A name is resolved once
// through a cache that respects the record's lifetime, every address of the
// answer is checked, and the connection goes to one of the checked addresses,
// never to a name, so that a later answer cannot move it. The operating system
// is asked once more, just before it connects, what it is about to connect to.
//
// Promises: no connection to an address that is not public unless the operator
// named its range ([Config.AllowPrivate]), which must lie within a private block;
// none to a link-local or cloud metadata address unless it was named by itself; an answer with one forbidden address
// is refused as a whole; only ports 80 and 443 unless listed; lookups, cache
// entries and waiting are bounded and counted ([Dialer.Stats]); any string is
// safe as a host.
//
// Refusals: proxies from the environment (they would dial for us), the hosts
// file and the search list (they name machines inside), zone identifiers, and
// odd spellings of addresses, which [headway/weburl] turns into plain ones.
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
	Auto Family = "auto" // both; IPv6 first, IPv4 a moment later
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

// Config sets up a [Dialer]. Its zero value is strict: public addresses only,
// ports 80 and 443, the system's resolver.
type Config struct {
	// Resolver is the name server to ask, as IP:PORT. Empty means the ones in
	// /etc/resolv.conf, or the system's own resolver where there is no such file.
	Resolver string
	// IP chooses the address family; empty means Auto.
	IP Family
	// AllowPrivate names the ranges that may be dialled although they are not
	// public. It is the only way to them.
	AllowPrivate []Range
	// ExtraPorts are allowed on public addresses besides 80 and 443.
	ExtraPorts []uint16
	// DialTimeout bounds one connection attempt over all addresses of a name.
	DialTimeout time.Duration
	// LookupTimeout bounds one lookup over all tries and name servers, not
	// counting the wait for a place among MaxLookups.
	LookupTimeout time.Duration
	// MaxLookups is how many lookups may be under way; further ones wait. One that
	// takes longer than a second no longer counts, so that name servers that do not
	// answer keep nobody else waiting: how many there are is bounded by the callers.
	MaxLookups int
	// MaxEntries bounds the cache of answers.
	MaxEntries int
	// NegativeMax bounds how long "no such name" is believed.
	NegativeMax time.Duration
	// Lookup and Connect replace name servers and sockets, for simulations and
	// tests; nil means the real ones. Both must obey ctx, and are called
	// concurrently. Every check of this package still applies to what Lookup
	// returns, and Connect only sees addresses that passed. A [*DNSError] from
	// Lookup tells how it failed.
	Lookup  func(ctx context.Context, host string) (Answer, error)
	Connect func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
}

// Answer is what a name server said about a name.
type Answer struct {
	Addrs []netip.Addr
	TTL   time.Duration // how long it may be believed; 0 means only now
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

// validate joins all problems and names their fields.
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
