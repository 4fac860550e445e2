package crawl

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/internal/cli/command"
	"headway/weburl"
)

// checkAllowed refuses seeds at addresses that are not of the public web and
// that nobody allowed: a contact would not help.
func (c *Setup) checkAllowed() error {
	var hosts []string
	var addrs []netip.Addr
	var ports []uint16
	for _, u := range c.seeds.URLs {
		addr, err := netip.ParseAddr(u.Hostname())
		if err != nil || guard.Public(addr) || slices.ContainsFunc(c.Ranges, func(r guard.Range) bool { return r.Allows(addr, u.Port()) }) {
			continue
		}
		hosts, addrs, ports = append(hosts, u.Host()), append(addrs, addr), append(ports, u.Port())
	}
	if len(hosts) == 0 {
		return nil
	}
	what := hosts[0] + " is not a public address"
	if more := len(hosts) - 1; more > 0 {
		what += fmt.Sprintf(" (and %s)", command.Plural(more, "more seed"))
	}
	return command.Usage(errors.New(what), "to allow it, use "+strings.Join(allowFlags(addrs, ports), " "))
}

// allowFlags are the flags that allow all of some addresses at all of some ports:
// for each network of them the smallest range.
func allowFlags(addrs []netip.Addr, ports []uint16) []string {
	addrs, ports = slices.Clone(addrs), slices.Clone(ports)
	slices.SortFunc(addrs, netip.Addr.Compare)
	slices.Sort(ports)
	ports = slices.Compact(ports)
	var ranges []netip.Prefix
	for _, a := range addrs {
		if n := len(ranges); n > 0 {
			if wide, ok := widen(ranges[n-1], a); ok {
				ranges[n-1] = wide
				continue
			}
		}
		ranges = append(ranges, netip.PrefixFrom(a, a.BitLen()))
	}
	flags := make([]string, len(ranges))
	for i, p := range ranges {
		flags[i] = "--allow-private " + guard.Range{Prefix: p, Ports: ports}.String()
	}
	return flags
}

// widen makes a range contain an address of the same private block, unless one of
// them opens only by itself.
func widen(p netip.Prefix, a netip.Addr) (netip.Prefix, bool) {
	for bits := p.Bits(); bits >= 0 && p.Addr().BitLen() == a.BitLen(); bits-- {
		wide := guard.Range{Prefix: netip.PrefixFrom(p.Addr(), bits).Masked()}
		if wide.Check() != nil {
			return p, false
		}
		if wide.Prefix.Contains(a) {
			return wide.Prefix, wide.Opens(a) && wide.Opens(p.Addr())
		}
	}
	return p, false
}

// allPrivate tells whether every seed lies in a range that counts as owned.
func (c *Setup) allPrivate(ctx context.Context) bool {
	if len(c.Ranges) == 0 {
		return false
	}
	return !slices.ContainsFunc(c.seeds.URLs, func(u weburl.URL) bool { return !c.private(ctx, u) })
}

// private tells whether a seed lies in a range that counts as owned.
func (c *Setup) private(ctx context.Context, u weburl.URL) bool {
	if len(c.Ranges) == 0 {
		return false
	}
	target, err := c.Dialer.Resolve(ctx, u.Hostname(), u.Port())
	return err == nil && target.Private()
}

// CheckOwned refuses settings that only the owner of a site may use, unless all
// seeds are owned.
func (c *Setup) CheckOwned(ctx context.Context) error {
	c.owned = map[string]bool{}
	for _, h := range c.Settings.Owned {
		c.owned[strings.ToLower(h)] = true
	}
	needs := c.Settings.OwnedOnly()
	if len(needs) == 0 {
		return nil
	}
	for _, u := range c.seeds.URLs {
		if !c.Owns(u) && !c.private(ctx, u) {
			return command.Usage(fmt.Errorf("%s is allowed only on hosts you own, and %s is not declared as owned", strings.Join(needs, ", "), u.Hostname()),
				"if you own the host, add --owned "+u.Hostname())
		}
	}
	return nil
}

// Owns tells whether the operator has named the host as owned, or its address
// lies in a range that counts as such.
func (c *Setup) Owns(u weburl.URL) bool {
	if c.owned[u.Hostname()] {
		return true
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && slices.ContainsFunc(c.Ranges, func(r guard.Range) bool { return r.Opens(addr) })
}

// secrets are the extra header fields, for each seed's host, all of which are
// owned when there are any.
func (c *Setup) secrets() ([]fetch.Secrets, error) {
	if len(c.Settings.Header) == 0 && c.Settings.BasicAuth == "" {
		return nil, nil
	}
	header := http.Header{}
	for _, line := range c.Settings.Header {
		name, value, _ := strings.Cut(line, ":")
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	user, password, _ := strings.Cut(c.Settings.BasicAuth, ":")
	var list []fetch.Secrets
	known := map[string]bool{}
	for _, u := range c.seeds.URLs {
		if known[u.Host()] {
			continue
		}
		known[u.Host()] = true
		s, err := fetch.NewSecrets(u, header, user, password)
		if err != nil {
			return nil, command.Usage(err, "header names and values must be plain text on one line")
		}
		list = append(list, s)
	}
	return list, nil
}
