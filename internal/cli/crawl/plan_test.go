package crawl

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/answer"
	"headway/fetch"
	"headway/fetch/guard"
	"headway/internal/simweb"
	"headway/lab"
	"headway/lab/temper"
	"headway/limit"
	"headway/politeness"
	"headway/store"
	"headway/store/memory"
	"headway/survey"
	"headway/weburl"
)

// planTolerance is how far a plan may be from what comes.
const planTolerance = 0.3

// planSite is a web of hosts, and a crawl of it.
type planSite struct {
	hosts   []lab.HostSpec
	preset  string
	set     func(p *politeness.Policy)
	limits  limit.Limits
	learned bool // crawled once before
}

// listing is a site with a sitemap.
func listing(pages int, change ...func(*lab.Temper)) lab.Temper {
	t := lab.Temper{Site: lab.DefaultSite()}
	t.Site.Pages, t.Site.Sitemap = pages, "parts"
	for _, c := range change {
		c(&t)
	}
	return t
}

// hostsOf are n hosts of a temper, each of a domain of its own or all of one.
func hostsOf(n int, domain string, t lab.Temper) []lab.HostSpec {
	specs := make([]lab.HostSpec, n)
	for i := range specs {
		specs[i] = lab.HostSpec{Name: fmt.Sprintf("h%d.%s", i, domain), Temper: t}
		if domain == "" {
			specs[i].Name = fmt.Sprintf("h%d.site%d.example", i, i)
		}
	}
	return specs
}

// planSites are ten sites whose plan is held against the crawl.
var planSites = map[string]planSite{
	"the preset for any site": {hosts: hostsOf(1, "", listing(300))},
	"audit":                   {hosts: hostsOf(1, "", listing(150)), preset: "audit"},
	"Crawl-delay":             {hosts: hostsOf(1, "", listing(60, func(t *lab.Temper) { t.Site.CrawlDelay = 2 * time.Second }))},
	"many files of a sitemap": {hosts: hostsOf(1, "", listing(1200)), preset: "owned", set: func(p *politeness.Policy) { p.Base = 50 * time.Millisecond }},
	"hosts of several sizes": {hosts: []lab.HostSpec{
		{Name: "a.one.example", Temper: listing(20)}, {Name: "b.two.example", Temper: listing(200)}, {Name: "c.three.example", Temper: listing(90)},
	}},
	"hosts of one domain": {hosts: hostsOf(5, "one.example", listing(60))},
	"answers slower than the pace": {hosts: hostsOf(2, "", listing(80, func(t *lab.Temper) {
		t.Rules.Latency = temper.Constant(3 * time.Second)
	}))},
	"answers that set the pace": {hosts: hostsOf(1, "", listing(600, func(t *lab.Temper) {
		t.Rules.Latency = temper.Constant(400 * time.Millisecond)
	})), preset: "owned", set: func(p *politeness.Policy) { p.InFlight = 8 }},
	"a page limit": {hosts: hostsOf(2, "", listing(400)), limits: limit.Limits{Pages: 100}},
	"a pace that was learned": {hosts: hostsOf(1, "", listing(300, func(t *lab.Temper) {
		t.Rules.Limits = []temper.Limit{{Rate: 2, Burst: 2}}
	})), preset: "owned", set: func(p *politeness.Policy) { p.Base = 100 * time.Millisecond }, learned: true},
}

// TestPlanHolds plans the crawl of ten sites with sitemaps in virtual time, then
// crawls them: pages and time are within the tolerance.
func TestPlanHolds(t *testing.T) {
	for name, site := range planSites {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { site.holds(t) })
		})
	}
}

func (x planSite) holds(t *testing.T) {
	web, err := simweb.New(lab.Config{Hosts: x.hosts})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	cfg := x.config(t, web)
	known := &remembered{Store: memory.Open(memory.Config{})}
	if x.learned {
		cfg.Store = known
		if _, err := headway.Run(t.Context(), cfg.Worker, cfg.Job); err != nil {
			t.Fatal(err)
		}
	}
	known.Store = memory.Open(memory.Config{}) // only hosts are remembered
	cfg.Store = known
	look, err := headway.Survey(cfg.Worker, cfg.Job)
	if err != nil {
		t.Fatal(err)
	}
	surveys, err := survey.Take(t.Context(), look, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := answer.MakePlan(answer.PlanFacts{Hosts: planHosts(surveys), Workers: headway.DefaultWorkers, Limits: answer.PlanLimits(cfg.Limits), Links: true, Sitemaps: true})
	before := web.Stats().Total.PageAnswers
	r, err := headway.Run(t.Context(), cfg.Worker, cfg.Job)
	if err != nil {
		t.Fatal(err)
	}
	pages := web.Stats().Total.PageAnswers - before
	t.Logf("%s Planned %d pages in %v, came to %d in %v.", p.Sentence, p.Pages, p.Takes.Duration(), pages, r.Elapsed)
	near(t, "pages", float64(p.Pages), float64(pages))
	near(t, "seconds", p.Takes.Duration().Seconds(), r.Elapsed.Seconds())
	if !p.SizeKnown || p.Ends != r.State {
		t.Errorf("size known %v, would end %s, ended %s", p.SizeKnown, p.Ends, r.State)
	}
	if p.Hosts[0].Remembered != x.learned || x.learned && p.Hosts[0].Source != "learned" {
		t.Errorf("known before: %v; the pace is set by %s", p.Hosts[0].Remembered, p.Hosts[0].Source)
	}
}

// near wants a guess to be within the tolerance.
func near(t *testing.T, what string, guess, came float64) {
	t.Helper()
	if off := math.Abs(guess-came) / came; !(off <= planTolerance) {
		t.Errorf("%s: planned %.1f, came to %.1f: %.0f %% off", what, guess, came, 100*off)
	}
}

// config is the crawl of the site.
func (x planSite) config(t *testing.T, web *simweb.Web) crawlConfig {
	d, err := guard.New(guard.Config{
		AllowPrivate: []guard.Range{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}},
		Lookup: func(ctx context.Context, host string) (guard.Answer, error) {
			addr, err := web.Lookup(ctx, host)
			return guard.Answer{Addrs: []netip.Addr{addr}, TTL: time.Hour}, err
		},
		Connect: func(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
			return web.DialContext(ctx, "tcp", addr.String())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := fetch.New(fetch.Config{Dialer: d, KeepAlive: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	name := x.preset
	if name == "" {
		name = politeness.DefaultPreset
	}
	policy, ok := politeness.Preset(name)
	if !ok {
		t.Fatalf("no preset %q", name)
	}
	if x.set != nil {
		x.set(&policy)
	}
	cfg := crawlConfig{
		headway.Worker{Fetcher: client, Owned: func(weburl.URL) bool { return true }},
		headway.Job{Policy: policy, Limits: limit.Resolve(limit.Layer{Level: limit.Job, Limits: x.limits})},
	}
	for _, h := range x.hosts {
		u, err := weburl.Parse("http://" + h.Name + "/")
		if err != nil {
			t.Fatal(err)
		}
		cfg.Seeds = append(cfg.Seeds, u)
	}
	return cfg
}

// remembered is a store whose hosts outlive it, as those of a user do.
type remembered struct {
	store.Store
	mu    sync.Mutex
	hosts []store.Host
}

func (s *remembered) Claim(_ context.Context, _ time.Time, domains []string) (store.Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return store.Claim{Granted: domains, Hosts: slices.Clone(s.hosts)}, nil
}

func (*remembered) Wanted(context.Context, time.Time) ([]string, error) { return nil, nil }

func (*remembered) Keep(context.Context) ([]string, error) { return nil, nil }

func (s *remembered) Yield(_ context.Context, _ time.Time, _ []string, hosts []store.Host) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hosts {
		s.hosts = slices.DeleteFunc(slices.Clone(s.hosts), func(old store.Host) bool { return old.Host == h.Host })
		s.hosts = append(s.hosts, h)
	}
	return nil
}
