package crawl

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/internal/cli/command"
	"headway/internal/config"
)

// Connect makes the network client.
func (c *Setup) Connect(ctx context.Context) error {
	s := c.Settings
	var err error
	if c.Dialer, c.Ranges, err = command.NewDialer(guard.Config{
		Resolver: s.Resolver, IP: guard.Family(s.IP), MaxLookups: int(s.DNS.Lookups), MaxEntries: int(s.DNS.Entries), NegativeMax: s.DNS.Negative,
		ExtraPorts: s.Ports,
	}, s.AllowPrivate); err != nil {
		return err
	}
	contact, err := c.contact(ctx)
	if err != nil {
		return err
	}
	product, productVersion := s.Product()
	if product == "" {
		product, productVersion = command.Product, command.Version()
	}
	c.Identity = fetch.Identity{Product: product, Version: productVersion, Contact: contact}
	shares := s.Shares()
	if s.Fetch.MaxConns > shares.Conns {
		fmt.Fprintf(c.Err, "headway: warning: fetch.max_conns is %d, but %d file descriptors allow only %d connections; raise ulimit -n\n", s.Fetch.MaxConns, s.Machine.Descriptors, shares.Conns)
		s.Fetch.MaxConns = shares.Conns
	}
	conns := int(s.Fetch.MaxConns)
	c.Client, err = fetch.New(fetch.Config{
		Dialer: c.Dialer, Identity: c.Identity,
		Timeout: s.Timeout, MaxBody: s.Fetch.MaxBody, BodyMemory: s.Fetch.BodyMemory,
		MaxConns: conns, IdleMemory: shares.Idle, MaxConnsPerHost: min(conns, int(s.Pace.InFlight)),
	})
	if err != nil {
		return command.Usage(err, "")
	}
	command.WarnAddresses(c.Err, s.AllowPrivate)
	c.Log = command.NewWarner(c.Err)
	return nil
}

// Addresses tells which addresses the interval per address applies to.
func (c *Setup) Addresses() func(netip.Addr) bool {
	var prefixes []netip.Prefix
	public := false
	for _, text := range c.Settings.Pace.AddressRanges {
		if text == config.PublicAddresses {
			public = true
			continue
		}
		if p, err := netip.ParsePrefix(text); err == nil {
			prefixes = append(prefixes, p)
		}
	}
	return func(a netip.Addr) bool {
		return public && guard.Public(a) || slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
	}
}

// SlowLimit is how many exchanges without progress may be in flight: few enough to
// leave every worker a connection.
func SlowLimit(s *config.Settings) int {
	rest := max(s.Fetch.MaxConns-s.Workers, s.Fetch.MaxConns/8, 1)
	return int(min(s.Fetch.Slow, rest))
}
