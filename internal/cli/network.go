package cli

import (
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

// networkFlags are the words that every command which goes out has.
type networkFlags struct {
	contact      string
	allowPrivate []string
	resolver     string
	ip           string
}

func (f *networkFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.contact, "contact", "", "who to name in every request: a mail `address` or web page ("+contactEnv+")")
	fs.StringArrayVar(&f.allowPrivate, "allow-private", nil, "may go to these private addresses, as `CIDR[:PORT,…]`; they count as owned")
	fs.StringVar(&f.resolver, "resolver", "", "name server to ask, as `IP:PORT`")
	fs.StringVar(&f.ip, "ip", string(guard.Auto), "address `family`: auto, 4 or 6")
}

// client makes the one door to the network, and says what a person should know
// about it.
func (f *networkFlags) client(stderr io.Writer) (*fetch.Client, error) {
	dialer, _, err := openDoor(guard.Config{Resolver: f.resolver, IP: guard.Family(f.ip)}, f.allowPrivate)
	if err != nil {
		return nil, err
	}
	contact, err := findContact(f.contact)
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
	warnOfDoor(stderr, f.allowPrivate)
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
		return nil, nil, usage(err, "--resolver takes IP:PORT, such as 127.0.0.1:53, and --ip auto, 4 or 6")
	}
	return dialer, cfg.AllowPrivate, nil
}

// parseRanges reads the values of a flag that opens private addresses.
func parseRanges(flag string, texts []string) (list []guard.Range, err error) {
	for _, text := range texts {
		r, err := guard.ParseRange(text)
		if err != nil {
			return nil, usage(fmt.Errorf("%s: %w", flag, err), "a range looks like 127.0.0.0/8:8780 or 10.0.0.0/8")
		}
		list = append(list, r)
	}
	return list, nil
}

// warnOfDoor says what a person should know about where requests may go.
func warnOfDoor(w io.Writer, private []string) {
	if len(private) > 0 {
		fmt.Fprintf(w, "headway: warning: may go to private addresses: %s\n", oneLine(strings.Join(private, " ")))
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
	conns := int(s.Fetch.MaxConns)
	c.client, err = fetch.New(fetch.Config{
		Dialer: c.dialer, Identity: c.who,
		Timeout: s.Timeout, MaxBody: s.Fetch.MaxBody, BodyMemory: s.Fetch.BodyMemory,
		MaxConns: conns, MaxConnsPerHost: min(conns, int(s.Pace.InFlight)),
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
