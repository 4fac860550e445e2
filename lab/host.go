package lab

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"headway/lab/temper"
)

// HostSpec specifies one host.
type HostSpec struct {
	Name   string // a label such as "shop", or a whole name such as "shop.alder.test"
	Temper Temper // its behaviour and content
}

// Uniform specifies n hosts with one profile, named h0, h1 and so on.
func Uniform(n int, t Temper) []HostSpec {
	specs := make([]HostSpec, n)
	for i := range specs {
		specs[i] = HostSpec{Name: "h" + strconv.Itoa(i), Temper: t}
	}
	return specs
}

// Host describes a host that the lab serves.
type Host struct {
	Name   string `json:"name"`   // the name in the built-in DNS
	Addr   string `json:"addr"`   // its loopback address
	URL    string `json:"url"`    // the front page, as in links
	Temper string `json:"temper"` // a name from [Tempers], or "" for a custom one
	About  string `json:"about"`  // description of the profile
	Pages  int    `json:"pages"`  // linked pages
}

// MaxHosts is how many hosts fit into the loopback addresses 127.1.0.1 up to
// 127.4.249.250.
const MaxHosts = networks * hostsPerNetwork

const (
	networks        = 4 // 127.1.0.0/16 up to 127.4.0.0/16
	hostsPerByte    = 250
	hostsPerNetwork = hostsPerByte * hostsPerByte
)

// vhost is a virtual host: its specification, and what is derived from it.
type vhost struct {
	index  int
	name   string // lower case, without a final dot
	base   string // scheme://host[:port], as in links
	site   *Site
	rules  *temper.Rules
	temper *Temper
	robots *robotsKind
}

// hostAddr is the loopback address of host i.
func hostAddr(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(1 + i/hostsPerNetwork), byte(i % hostsPerNetwork / hostsPerByte), byte(1 + i%hostsPerByte)})
}

// addrHost finds the host with a loopback address.
func addrHost(a netip.Addr) (int, bool) {
	if a = a.Unmap(); !a.Is4() {
		return 0, false
	}
	b := a.As4()
	if b[0] != 127 || b[1] < 1 || b[1] > networks || b[2] >= hostsPerByte || b[3] < 1 || b[3] > hostsPerByte {
		return 0, false
	}
	return int(b[1]-1)*hostsPerNetwork + int(b[2])*hostsPerByte + int(b[3]) - 1, true
}

// directory finds hosts by name and by address.
type directory struct {
	names    map[string]int
	hosts    int
	wildcard bool // unknown names are host 0
}

// find finds the host of a Host header, with or without a port.
func (d *directory) find(host string) (int, bool) {
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		n, ok := addrHost(addr)
		return n, ok && n < d.hosts
	}
	return d.findName(host)
}

func (d *directory) findName(name string) (int, bool) {
	if n, ok := d.names[name]; ok {
		return n, true
	}
	n, ok := d.names[strings.TrimSuffix(strings.ToLower(name), ".")]
	return n, ok || d.wildcard && name != ""
}

// hostName is the full name of a host: with a given domain, only the first label of asked
// is kept.
func hostName(asked, domain string) string {
	asked = strings.ToLower(asked)
	label, _, dotted := strings.Cut(asked, ".")
	switch {
	case domain != "":
		return label + "." + domain
	case dotted:
		return asked
	default:
		return asked + "." + defaultDomain
	}
}

// defaultDomain is the domain of hosts without one.
const defaultDomain = "lab.test"

// makeWeb creates the hosts of a lab; call setBases afterwards.
func makeWeb(cfg *Config) (*web, *directory) {
	w := &web{seed: cfg.Seed, hosts: make([]vhost, len(cfg.Hosts))}
	d := &directory{names: make(map[string]int, len(cfg.Hosts)), hosts: len(cfg.Hosts), wildcard: cfg.DNS.Wildcard}
	pages := 0
	for i := range w.hosts {
		spec := &cfg.Hosts[i]
		site := &spec.Temper.Site
		h := &w.hosts[i]
		*h = vhost{
			index: i, name: hostName(spec.Name, cfg.Domain), site: site, rules: &spec.Temper.Rules,
			temper: &spec.Temper, robots: findRobots(site.Robots),
		}
		if newRNG(w.seed, 0x0b075, uint64(i)).float() < site.Robots5xx {
			h.robots = findRobots("503")
		}
		d.names[h.name] = i
		pages = max(pages, site.Pages)
	}
	for name := range cfg.DNS.Names {
		if _, taken := d.names[name]; !taken {
			d.names[name] = 0
		}
	}
	w.paths = make([]string, pages)
	for n := range w.paths {
		w.paths[n] = pagePath(n)
	}
	return w, d
}

// setBases sets the base URL of each host once the ports are known.
func (w *web) setBases(cfg *Config, port, portTLS int) {
	for i := range w.hosts {
		h := &w.hosts[i]
		host := h.name
		if cfg.Address == Loopback {
			host = hostAddr(i).String()
		}
		switch {
		case cfg.TLS:
			h.base = baseURL("https", host, port)
		case h.temper.Cert != "":
			h.base = baseURL("https", host, portTLS)
		default:
			h.base = baseURL("http", host, port)
		}
	}
}

func baseURL(scheme, host string, port int) string {
	if port == 0 || scheme == "http" && port == 80 || scheme == "https" && port == 443 {
		return scheme + "://" + host
	}
	return fmt.Sprintf("%s://%s:%d", scheme, host, port)
}
