package lab

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"

	"headway/internal/cli/command"
	"headway/lab"
	"headway/lab/temper"
)

// labFlags are the words of `headway lab up`.
type labFlags struct {
	cfg     lab.Config
	hosts   int
	tempers []string
	clients []string
	address string
	certOut string

	site      lab.Site
	latency   temper.Latency
	rate      float64
	burst     int
	errorRate float64
}

func (f *labFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.cfg.Listen, "listen", "0.0.0.0:8780", "`address` to listen on; 0.0.0.0 covers all of 127.0.0.0/8")
	fs.StringVar(&f.cfg.ListenTLS, "listen-tls", "", "`address` for hosts that serve https while the others serve http (default: port 8743, or the port after that of --listen if you change it)")
	fs.IntVar(&f.cfg.PublicPort, "public-port", 0, "`port` to use in links; 0 means the listening port")
	fs.StringVar(&f.address, "address", string(lab.Loopback), "`form` of hosts in links: loopback (IP addresses) or name")
	fs.StringVar(&f.cfg.Domain, "domain", "", "put all hosts under this `domain`")
	fs.StringVar(&f.cfg.DNS.Listen, "dns", "", "`address` of the built-in DNS server, UDP and TCP (default: off)")
	fs.BoolVar(&f.cfg.DNS.Wildcard, "dns-wildcard", false, "resolve every name to the lab")
	fs.StringSliceVar(&f.clients, "clients", nil, "also answer clients in these networks, as `CIDR`")
	fs.BoolVar(&f.cfg.TLS, "tls", false, "serve https, with a certificate authority created for this run")
	fs.BoolVar(&f.cfg.NoHTTP2, "no-http2", false, "offer only HTTP/1.1 over https")
	fs.StringVar(&f.certOut, "cert-out", "", "write the certificate of that authority to this `file`")
	fs.Uint64Var(&f.cfg.Seed, "seed", 1, "random `seed` of all content and behaviour")

	fs.IntVar(&f.hosts, "hosts", 0, "serve this many identical hosts instead of one per profile")
	fs.StringSliceVar(&f.tempers, "temper", nil, "serve only hosts with these behaviour profiles, by `name`; with --hosts, the profile of all")
	fs.IntVar(&f.site.Pages, "pages", f.site.Pages, "linked pages per host")
	fs.IntVar(&f.site.Orphans, "orphans", f.site.Orphans, "pages per host listed only in the sitemap")
	fs.IntVar(&f.site.MinKB, "min-kb", f.site.MinKB, "minimum page size in kB")
	fs.IntVar(&f.site.MaxKB, "max-kb", f.site.MaxKB, "maximum page size in kB")
	fs.IntVar(&f.site.Links, "links", f.site.Links, "average links per page")
	fs.IntVar(&f.site.CrossLinks, "cross-links", f.site.CrossLinks, "links per page to other hosts")
	fs.IntVar(&f.site.QueryLinks, "query-links", f.site.QueryLinks, "links per page with query permutations")
	fs.IntVar(&f.site.PrivateLinks, "private-links", f.site.PrivateLinks, "links per page that robots.txt forbids")
	fs.IntVar(&f.site.NofollowLinks, "nofollow-links", f.site.NofollowLinks, "rel=nofollow links per page")
	fs.Var(&f.site.Traps, "traps", "endless URL spaces (crawler `traps`) to link to: calendar,facets,sessions,maze")
	fs.BoolVar(&f.site.Exhibits, "exhibits", f.site.Exhibits, "link each front page to all exhibits (special test responses)")
	fs.StringVar(&f.site.Robots, "robots", f.site.Robots, "robots.txt `variant`: "+choiceNames(lab.RobotsKinds()))
	fs.DurationVar(&f.site.CrawlDelay, "crawl-delay", f.site.CrawlDelay, "Crawl-delay in robots.txt")
	fs.Float64Var(&f.site.Robots5xx, "robots-5xx", f.site.Robots5xx, "share of hosts whose robots.txt returns 503")
	fs.StringVar(&f.site.Sitemap, "sitemap", f.site.Sitemap, "sitemap `variant`: "+choiceNames(lab.SitemapKinds()))
	fs.BoolVar(&f.site.Gzip, "gzip", f.site.Gzip, "compress responses for clients that accept gzip")
	fs.Float64Var(&f.site.RedirectRate, "redirect-rate", f.site.RedirectRate, "share of internal links that redirect")
	fs.Float64Var(&f.site.ChangeRate, "change-rate", f.site.ChangeRate, "share of pages that change at each epoch")
	fs.Var(&f.latency, "latency", "response `latency`: none, const:20ms, uniform:5ms-50ms or lognormal:20ms,0.8")
	fs.Float64Var(&f.rate, "rate-limit", 0, "return 429 above this many requests per second per host; 0 means off")
	fs.IntVar(&f.burst, "rate-burst", 2, "burst size of --rate-limit (token bucket)")
	fs.Float64Var(&f.errorRate, "error-rate", 0, "share of page requests that return 503")
}

func choiceNames(list []lab.Choice) string {
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// config turns the words into the lab they ask for.
func (f *labFlags) config(fs *pflag.FlagSet) (lab.Config, error) {
	cfg := f.cfg
	cfg.Address = lab.Address(f.address)
	for _, c := range f.clients {
		prefix, err := netip.ParsePrefix(c)
		if err != nil {
			return cfg, command.Usage(fmt.Errorf("--clients: %w", err), "give a network in CIDR form, for example 10.1.0.0/24")
		}
		cfg.Clients = append(cfg.Clients, prefix)
	}
	hosts, err := f.specs()
	if err != nil {
		return cfg, err
	}
	for i := range hosts {
		f.shape(&hosts[i].Temper, fs)
	}
	cfg.Hosts = hosts
	if err := cfg.Validate(); err != nil {
		return cfg, command.Usage(err, "headway lab up --help lists the flags")
	}
	return cfg, nil
}

// specs chooses the hosts.
func (f *labFlags) specs() ([]lab.HostSpec, error) {
	switch {
	case f.hosts < 0 || f.hosts > lab.MaxHosts:
		return nil, command.Usage(fmt.Errorf("--hosts %d is out of range", f.hosts), fmt.Sprintf("choose a number from 0 to %d", lab.MaxHosts))
	case f.hosts > 0 && len(f.tempers) > 1:
		return nil, command.Usage(errors.New("--hosts allows only one --temper, which all hosts share"), "remove --hosts to serve one host per profile")
	case f.hosts > 0:
		t := lab.Plain()
		if len(f.tempers) == 1 {
			var ok bool
			if t, ok = lab.FindTemper(f.tempers[0]); !ok {
				return nil, unknownTemper(f.tempers[0])
			}
		}
		return lab.Uniform(f.hosts, t), nil
	case len(f.tempers) > 0:
		for _, name := range f.tempers {
			if _, ok := lab.FindTemper(name); !ok {
				return nil, unknownTemper(name)
			}
		}
		specs, err := lab.Select(f.tempers...)
		if err != nil {
			return nil, command.Usage(err, "")
		}
		return specs, nil
	default:
		return lab.Mixed(), nil
	}
}

func unknownTemper(name string) *command.Failure {
	var names []string
	for _, t := range lab.Tempers() {
		names = append(names, t.Name)
	}
	return command.Usage(fmt.Errorf("unknown profile %q for --temper", name), "choose from "+strings.Join(names, ", "))
}

// shape changes what flags name and nothing else, so that a host keeps the
// rest of its temper.
func (f *labFlags) shape(t *lab.Temper, fs *pflag.FlagSet) {
	fields := map[string]func(){
		"pages":          func() { t.Site.Pages = f.site.Pages },
		"orphans":        func() { t.Site.Orphans = f.site.Orphans },
		"min-kb":         func() { t.Site.MinKB = f.site.MinKB },
		"max-kb":         func() { t.Site.MaxKB = f.site.MaxKB },
		"links":          func() { t.Site.Links = f.site.Links },
		"cross-links":    func() { t.Site.CrossLinks = f.site.CrossLinks },
		"query-links":    func() { t.Site.QueryLinks = f.site.QueryLinks },
		"private-links":  func() { t.Site.PrivateLinks = f.site.PrivateLinks },
		"nofollow-links": func() { t.Site.NofollowLinks = f.site.NofollowLinks },
		"traps":          func() { t.Site.Traps = f.site.Traps },
		"exhibits":       func() { t.Site.Exhibits = f.site.Exhibits },
		"robots":         func() { t.Site.Robots = f.site.Robots },
		"crawl-delay":    func() { t.Site.CrawlDelay = f.site.CrawlDelay },
		"robots-5xx":     func() { t.Site.Robots5xx = f.site.Robots5xx },
		"sitemap":        func() { t.Site.Sitemap = f.site.Sitemap },
		"gzip":           func() { t.Site.Gzip = f.site.Gzip },
		"redirect-rate":  func() { t.Site.RedirectRate = f.site.RedirectRate },
		"change-rate":    func() { t.Site.ChangeRate = f.site.ChangeRate },
		"latency":        func() { t.Rules.Latency = f.latency },
		"rate-limit":     func() { t.Rules.Limits = []temper.Limit{{Rate: f.rate, Burst: f.burst}} },
		"error-rate":     func() { t.Rules.ErrorRate = f.errorRate },
	}
	fs.Visit(func(flag *pflag.Flag) {
		if set := fields[flag.Name]; set != nil {
			set()
		}
	})
}
