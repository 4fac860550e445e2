package lab

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// Config describes a lab. The zero value has one host of every profile on loopback; the
// same Config always serves the same web.
type Config struct {
	// Seed seeds all random choices.
	Seed uint64

	// Hosts are the hosts to serve; nil means [Mixed].
	Hosts []HostSpec

	// Listen is the address to listen on; by default all addresses of this machine at
	// port 8780, because only then the lab has all of 127.0.0.0/8.
	Listen string

	// TLS serves https instead of http on Listen; links use it.
	TLS bool

	// ListenTLS is where hosts with their own certificate serve https while the others
	// serve http; it is used only if there are such hosts and TLS is off. By default it
	// is the address of Listen at port 8743 if Listen has port 8780, otherwise at the
	// next port, so that labs on different ports run side by side.
	ListenTLS string

	// NoHTTP2 offers only HTTP/1.1 to https clients.
	NoHTTP2 bool

	// PublicPort is the port in links; zero means the listening port.
	PublicPort int

	// Address says how links name hosts. Requests may always use both ways.
	Address Address

	// Domain is the domain of all hosts; only the first label of their names is kept.
	// By default hosts keep their own domains, and those without one are in lab.test.
	// With the domain "test" each host is its own registrable domain.
	Domain string

	// Addr is the address that the built-in DNS returns for every host; by default
	// each host's own address 127.1.x.y. Set it to 127.0.0.1 where only that address
	// is routed (macOS), or to the address visible in network namespaces.
	Addr netip.Addr

	// Clients may use the lab, in addition to this machine.
	Clients []netip.Prefix

	// DNS is the built-in resolver.
	DNS DNS

	// Log is how many requests the log keeps: zero means 10,000, a negative number
	// none.
	Log int

	// Kill kills the process that sent a request to the exhibit [KillPath]. A test that
	// starts crawlers as processes gives it; the lab itself never kills anything. nil
	// means that the exhibit is an ordinary page.
	Kill func(*http.Request) `json:"-"`
}

// Address is a way to name hosts in links.
type Address string

// The ways: by loopback address, or by name.
const (
	Loopback Address = "loopback" // the default
	Name     Address = "name"     // needs the built-in DNS, a proxy or a dialler
)

const (
	defaultListen  = "0.0.0.0:8780"
	defaultPort    = 8780
	defaultPortTLS = 8743
	defaultLog     = 10_000
)

// withDefaults returns a copy with all defaults set.
func (c Config) withDefaults() Config {
	if c.Hosts == nil {
		c.Hosts = Mixed()
	}
	hosts := make([]HostSpec, len(c.Hosts))
	certificates := false
	for i, spec := range c.Hosts {
		spec.Temper.Site = spec.Temper.Site.withDefaults()
		certificates = certificates || spec.Temper.Cert != ""
		hosts[i] = spec
	}
	c.Hosts = hosts
	if c.Listen == "" {
		c.Listen = defaultListen
	}
	switch {
	case c.TLS || !certificates:
		c.ListenTLS = ""
	case c.ListenTLS == "":
		c.ListenTLS = listenTLS(c.Listen)
	}
	if c.Address == "" {
		c.Address = Loopback
	}
	if c.Log == 0 {
		c.Log = defaultLog
	}
	c.Log = max(0, c.Log)
	c.Domain = strings.Trim(strings.ToLower(c.Domain), ".")
	c.DNS = c.DNS.withDefaults()
	return c
}

// listenTLS is where https is served if only the address for http is given. An invalid
// address is returned as it is; validate reports it.
func listenTLS(listen string) string {
	host, text, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return listen
	}
	switch port {
	case 0: // any free port
	case defaultPort:
		port = defaultPortTLS
	case math.MaxUint16:
		port--
	default:
		port++
	}
	return net.JoinHostPort(host, strconv.FormatUint(port, 10))
}

// Validate reports every invalid setting, by field.
func (c Config) Validate() error { return c.withDefaults().validate() }

func (c Config) validate() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if len(c.Hosts) < 1 || len(c.Hosts) > MaxHosts {
		bad("Hosts: %d is out of range, use 1 to %d", len(c.Hosts), MaxHosts)
	}
	for field, addr := range map[string]string{"Listen": c.Listen, "ListenTLS": c.ListenTLS, "DNS.Listen": c.DNS.Listen} {
		if addr == "" {
			continue
		}
		if _, port, err := net.SplitHostPort(addr); err != nil {
			bad("%s: %w", field, err)
		} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			bad("%s: invalid port %q, use a number below 65536", field, port)
		}
	}
	if c.PublicPort < 0 || c.PublicPort > 65535 {
		bad("PublicPort: invalid port %d", c.PublicPort)
	}
	if c.Address != Loopback && c.Address != Name {
		bad("Address: invalid value %q, use %q or %q", c.Address, Loopback, Name)
	}
	for i, p := range c.Clients {
		if !p.IsValid() {
			bad("Clients[%d]: not a prefix", i)
		}
	}
	if err := c.DNS.validate(); err != nil {
		bad("DNS: %w", err)
	}
	problems = append(problems, c.validateHosts()...)
	return errors.Join(problems...)
}

// validateHosts checks the hosts; a profile shared by many is checked once.
func (c Config) validateHosts() []error {
	var problems []error
	names := make(map[string]int, len(c.Hosts))
	var sound *Site // of a host whose profile was found valid
	for i := range c.Hosts {
		h := &c.Hosts[i]
		where := fmt.Sprintf("Hosts[%d] %q", i, h.Name)
		name := hostName(h.Name, c.Domain)
		if first, ok := names[name]; ok {
			problems = append(problems, fmt.Errorf("%s: duplicate name %s, also used by Hosts[%d]", where, name, first))
		}
		names[name] = i
		if !isHostName(name) {
			problems = append(problems, fmt.Errorf("%s: %q is not a host name", where, name))
		}
		if err := h.Temper.Rules.Validate(); err != nil {
			problems = append(problems, fmt.Errorf("%s: Rules: %w", where, err))
		}
		if h.Temper.Origin != nil {
			if err := h.Temper.Origin.Validate(); err != nil {
				problems = append(problems, fmt.Errorf("%s: Origin: %w", where, err))
			}
		}
		if err := h.Temper.Cert.validate(); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", where, err))
		}
		if sound != nil && h.Temper.Site == *sound {
			continue
		}
		if err := h.Temper.Site.validate(); err != nil {
			problems = append(problems, fmt.Errorf("%s: Site: %w", where, err))
		} else {
			sound = &h.Temper.Site
		}
	}
	return problems
}

// isHostName reports whether s is valid in a Host header and a DNS query.
func isHostName(s string) bool {
	if len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range []byte(label) {
			if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	_, err := netip.ParseAddr(s)
	return err != nil // an address is not a name
}

// port is the port in links for what listens on addr.
func (c *Config) port(addr string) int {
	if c.PublicPort != 0 {
		return c.PublicPort
	}
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return 0
	}
	return n
}

// admits reports whether a client may use the lab.
func (c *Config) admits(client netip.Addr) bool {
	client = client.Unmap()
	if client.IsLoopback() {
		return true
	}
	for _, p := range c.Clients {
		if p.Contains(client) {
			return true
		}
	}
	return false
}
