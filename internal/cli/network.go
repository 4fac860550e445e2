package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/internal/config"
)

// oneClient makes the one door to the network of a command that has the flags of
// [config.RegisterNetwork], and says what a person should know about it. A contact,
// if there is one, is stronger than the settings.
func oneClient(flags *pflag.FlagSet, contact string, stderr io.Writer) (*fetch.Client, error) {
	s, _, err := config.Load(flags, os.Environ())
	if err != nil {
		return nil, usage(err, hintOf(err))
	}
	dialer, _, err := openDoor(guard.Config{Resolver: s.Resolver, IP: guard.Family(s.IP), ExtraPorts: s.Ports}, s.AllowPrivate)
	if err != nil {
		return nil, err
	}
	contact, err = findContact(cmp.Or(contact, s.Contact))
	if err != nil {
		return nil, err
	}
	client, err := fetch.New(fetch.Config{
		Dialer:   dialer,
		Identity: fetch.Identity{Product: productToken, Version: version, Contact: contact},
	})
	if err != nil {
		return nil, usage(err, "")
	}
	warnOfDoor(stderr, s.AllowPrivate)
	return client, nil
}

// openDoor makes the dialler, which may also go to the private ranges named.
func openDoor(cfg guard.Config, private []string) (*guard.Dialer, []guard.Range, error) {
	var err error
	if cfg.AllowPrivate, err = parseRanges("--allow-private", private); err != nil {
		return nil, nil, err
	}
	dialer, err := guard.New(cfg)
	if err != nil {
		return nil, nil, usage(err, "--resolver takes IP:PORT, for example 127.0.0.1:53; --ip takes auto, 4 or 6")
	}
	return dialer, cfg.AllowPrivate, nil
}

// parseRanges reads the values of a flag that opens private addresses.
func parseRanges(flag string, texts []string) (list []guard.Range, err error) {
	for _, text := range texts {
		r, err := guard.ParseRange(text)
		if err != nil {
			return nil, usage(fmt.Errorf("%s: %w", flag, err), "give a range inside a private block, for example 127.0.0.0/8:8780 or 10.0.0.0/8; list link-local and cloud metadata addresses one by one")
		}
		list = append(list, r)
	}
	return list, nil
}

// warnOfDoor says what a person should know about where requests may go.
func warnOfDoor(w io.Writer, private []string) {
	if len(private) > 0 {
		fmt.Fprintf(w, "headway: warning: private addresses allowed: %s\n", oneLine(strings.Join(private, " ")))
	}
	if warning := guard.ProxyWarning(os.Getenv); warning != "" {
		fmt.Fprintf(w, "headway: warning: %s\n", oneLine(warning))
	}
}

// connect makes the one door of a crawl to the network.
func (c *crawlRun) connect(ctx context.Context) error {
	s := c.set
	var err error
	if c.dialer, c.ranges, err = openDoor(guard.Config{
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
		product, productVersion = productToken, version
	}
	c.who = fetch.Identity{Product: product, Version: productVersion, Contact: contact}
	shares := s.Shares()
	if s.Fetch.MaxConns > shares.Conns {
		fmt.Fprintf(c.err, "headway: warning: fetch.max_conns is %d, but %d file descriptors allow only %d connections; raise ulimit -n\n", s.Fetch.MaxConns, s.Machine.Descriptors, shares.Conns)
		s.Fetch.MaxConns = shares.Conns
	}
	conns := int(s.Fetch.MaxConns)
	c.client, err = fetch.New(fetch.Config{
		Dialer: c.dialer, Identity: c.who,
		Timeout: s.Timeout, MaxBody: s.Fetch.MaxBody, BodyMemory: s.Fetch.BodyMemory,
		MaxConns: conns, IdleMemory: shares.Idle, MaxConnsPerHost: min(conns, int(s.Pace.InFlight)),
	})
	if err != nil {
		return usage(err, "")
	}
	warnOfDoor(c.err, s.AllowPrivate)
	c.log = newWarner(c.err)
	return nil
}

// addresses tells to which addresses the interval per address applies.
func (c *crawlRun) addresses() func(netip.Addr) bool {
	var prefixes []netip.Prefix
	public := false
	for _, text := range c.set.Pace.AddressRanges {
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

// slowPlaces is how many exchanges without progress may be under way: no more than
// leave every worker a connection.
func slowPlaces(s *config.Settings) int {
	rest := max(s.Fetch.MaxConns-s.Workers, s.Fetch.MaxConns/8, 1)
	return int(min(s.Fetch.Slow, rest))
}
