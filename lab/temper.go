package lab

import (
	"fmt"
	"strings"
	"time"

	"headway/lab/temper"
)

// Temper is the profile of a host: its content and how it treats requests.
type Temper struct {
	Name  string // a name from the table; "" for a custom one
	About string // description
	Site  Site
	Rules temper.Rules
	// Origin is the profile of the origin behind the cache of a host ([Site.Cache]),
	// which generates uncached pages; nil means 150 ms each.
	Origin *temper.Rules
	Cert   Cert // its kind of certificate, if it serves https by itself
}

// Plain is a fast host with clean links: the starting point for many equal hosts.
func Plain() Temper {
	return Temper{Name: "plain", About: "responds immediately", Site: DefaultSite()}
}

// Tempers lists all named profiles, in the order of [Mixed].
func Tempers() []Temper {
	list := make([]Temper, 0, len(tempers)+len(robotsKinds))
	for _, row := range tempers {
		t := Temper{Name: row.name, About: row.about, Site: DefaultSite()}
		t.Site.Pages = row.pages
		row.set(&t)
		list = append(list, t)
	}
	for _, kind := range robotsKinds {
		if kind.Name == "rules" {
			continue // common to all others
		}
		t := Temper{Name: "robots-" + kind.Name, About: "robots.txt: " + kind.About, Site: DefaultSite()}
		t.Site.Pages, t.Site.Robots = robotsPages, kind.Name
		list = append(list, t)
	}
	return list
}

const robotsPages = 10 // for hosts that only test robots.txt

// FindTemper returns a profile by name.
func FindTemper(name string) (Temper, bool) {
	for _, t := range Tempers() {
		if t.Name == name {
			return t, true
		}
	}
	return Temper{}, false
}

// Mixed specifies one host of every profile: the default lab. Each is named after its
// profile and is its own registrable domain (flapping.test), except that plain, shop,
// docs and blog share one (shop.alder.test).
func Mixed() []HostSpec {
	var specs []HostSpec
	for i, t := range Tempers() {
		domain := ".test"
		if i < sharingDomain {
			domain = ".alder.test"
		}
		specs = append(specs, HostSpec{Name: t.Name + domain, Temper: t})
	}
	return specs
}

const sharingDomain = 4 // number of hosts that share a domain

// Select specifies one host of each named profile, with the names of [Mixed].
func Select(names ...string) ([]HostSpec, error) {
	mixed := Mixed()
	var specs []HostSpec
next:
	for _, name := range names {
		for _, spec := range mixed {
			if spec.Temper.Name == name {
				specs = append(specs, spec)
				continue next
			}
		}
		var known []string
		for _, spec := range mixed {
			known = append(known, spec.Temper.Name)
		}
		return nil, fmt.Errorf("lab: unknown profile %q; choose from %s", name, strings.Join(known, ", "))
	}
	return specs, nil
}

// row is a row of the table of profiles.
type row struct {
	name  string
	about string
	pages int
	set   func(t *Temper)
}

func limits(list ...temper.Limit) func(*Temper) {
	return func(t *Temper) { t.Rules.Limits = list }
}

func outage(o temper.Outage) func(*Temper) {
	return func(t *Temper) { t.Rules.Outages = []temper.Outage{o} }
}

func site(set func(*Site)) func(*Temper) { return func(t *Temper) { set(&t.Site) } }

func cert(c Cert) func(*Temper) { return func(t *Temper) { t.Cert = c } }

var tempers = []row{
	{"plain", "responds immediately", 300, func(*Temper) {}},
	{"shop", "429 above 2 requests per second, with Retry-After", 60, limits(temper.Limit{Rate: 2, Burst: 2})},
	{"docs", "Crawl-delay: 2", 30, site(func(s *Site) { s.CrawlDelay = 2 * time.Second })},
	{"blog", "half of its pages change at each epoch", 120, site(func(s *Site) { s.ChangeRate = 0.5 })},

	{"slow", "responds in 0.8 seconds, sometimes much slower", 30, func(t *Temper) { t.Rules.Latency = mustLatency("lognormal:800ms,0.5") }},
	{"heavy", "pages of 200 to 900 KB", 20, site(func(s *Site) { s.MinKB, s.MaxKB = 200, 900 })},

	{"window", "429 above 60 requests in any minute", 80, limits(temper.Limit{Max: 60, Window: time.Minute})},
	{"silent", "429 above 2 requests per second, without Retry-After", 40, limits(temper.Limit{Rate: 2, Burst: 2, Form: temper.None})},
	{"bursty", "429 above 2 requests per second, after a burst of 50", 120, limits(temper.Limit{Rate: 2, Burst: 50})},
	{"tightening", "allows 10 requests per second for the first 50, then 1 per second", 80, limits(temper.Limit{Rate: 10, Burst: 10}, temper.Limit{Rate: 1, Burst: 1, AfterRequests: 50})},
	{"relaxing", "allows 1 request per second for 30 seconds, then 20 per second", 120, limits(temper.Limit{Rate: 1, Burst: 1}, temper.Limit{Rate: 20, Burst: 20, After: 30 * time.Second})},
	{"dated", "429 above 1 request per second, Retry-After as an RFC 850 date by a clock one hour fast", 20, func(t *Temper) {
		t.Rules.Limits = []temper.Limit{{Rate: 1, Burst: 2, Form: temper.RFC850Date}}
		t.Rules.Skew = time.Hour
	}},
	{"behind", "429 above 1 request per second, Retry-After as an asctime date by a clock one day slow", 20, func(t *Temper) {
		t.Rules.Limits = []temper.Limit{{Rate: 1, Burst: 2, Form: temper.ANSICDate}}
		t.Rules.Skew = -24 * time.Hour
	}},

	{"refusing", "429 for everything except robots.txt", 10, outage(temper.Outage{Status: 429, Form: temper.None})},
	{"maintenance", "503 from second 10 to second 25, with Retry-After", 60, outage(temper.Outage{After: 10 * time.Second, For: 15 * time.Second, Robots: true})},
	{"flapping", "503 for 5 of every 20 seconds, without Retry-After", 60, outage(temper.Outage{After: 10 * time.Second, For: 5 * time.Second, Every: 20 * time.Second, Form: temper.None, Robots: true})},
	{"flaky", "one page in twenty answers 503", 100, func(t *Temper) { t.Rules.ErrorRate = 0.05 }},
	{"fragile", "502 above 4 requests in flight", 100, func(t *Temper) {
		t.Rules.Latency = temper.Constant(50 * time.Millisecond)
		t.Rules.Overload = temper.Overload{InFlight: 4}
	}},
	{"dropping", "resets connections above 5 requests per second", 60, func(t *Temper) {
		t.Rules.Overload = temper.Overload{Max: 5, Window: time.Second, Reset: true}
	}},
	{"strained", "responds in 50 ms, plus 50 ms for each other request in flight", 100, func(t *Temper) {
		t.Rules.Latency = temper.Constant(50 * time.Millisecond)
		t.Rules.Slope = 50 * time.Millisecond
	}},
	{"queue", "one worker, 100 ms per request; 502 when the queue exceeds 5 seconds", 100, func(t *Temper) {
		t.Rules.Queue = temper.Queue{Service: 100 * time.Millisecond, Longest: 5 * time.Second}
	}},

	{"waf", "a 403 challenge page from the third request on", 40, challengeAfter(2, "cloudflare-403")},
	{"waf-soft", "a 200 challenge page from the sixth request on", 40, challengeAfter(5, "anubis-200")},

	{"calendar", "every page links into an endless calendar", 60, site(func(s *Site) { s.Traps = Calendar })},
	{"facets", "every page links into a catalogue with endless filters", 60, site(func(s *Site) { s.Traps = Facets })},
	{"sessions", "every page links to six pages with new session IDs each time", 60, site(func(s *Site) { s.Traps = Sessions })},
	{"maze", "every page links into a maze with nofollow links", 60, site(func(s *Site) { s.Traps = Maze })},
	{"redirects", "half of its links redirect", 60, site(func(s *Site) { s.RedirectRate = 0.5 })},
	{"forbidden", "57 of 60 links on a page are disallowed by robots.txt", 40, site(func(s *Site) { s.PrivateLinks, s.CrossLinks, s.NofollowLinks = 57, 0, 0 })},

	{"orphans", "500 pages that only the sitemap lists", 30, site(func(s *Site) { s.Orphans = 500 })},
	{"million", "a sitemap index of a million sitemaps", 20, site(func(s *Site) { s.Sitemap = "million" })},
	{"laughs", "a sitemap of entities that expand to a billion words", 20, site(func(s *Site) { s.Sitemap = "laughs" })},

	{"cdn", "behind a cache with CF-Cache-Status; uncached pages take 150 ms", 60, site(func(s *Site) { s.Cache = "cloudflare" })},
	{"varnish", "behind a cache with X-Cache and Age; uncached pages take 150 ms", 40, site(func(s *Site) { s.Cache = "varnish" })},

	{"expired", "https with a certificate that expired yesterday", 10, cert(ExpiredCert)},
	{"wrong-name", "https with the certificate of another host", 10, cert(WrongNameCert)},
	{"self-signed", "https with an untrusted certificate", 10, cert(SelfSigned)},

	{"museum", "the front page links to every exhibit", 5, site(func(s *Site) { s.Exhibits = true })},

	// Last, so that the others keep their addresses.
	{"noisy", "a random 1 % of requests get 503, without Retry-After", 400, func(t *Temper) {
		t.Rules.ErrorRate, t.Rules.ErrorForm = 0.01, temper.None
	}},
	{"noisy-429", "a random 1 % of requests get 429, with Retry-After", 400, func(t *Temper) {
		t.Rules.ErrorRate, t.Rules.ErrorStatus = 0.01, 429
	}},
	{"bad-page", "one page always answers 503, without Retry-After", 60, outage(temper.Outage{Pages: temper.Pages{From: 7}, Form: temper.None})},
	{"search", "429 above 1 request per second on every fifth page, with Retry-After; other pages are not limited", 100, limits(temper.Limit{Rate: 1, Burst: 2, Pages: temper.Pages{From: 4, Every: 5}})},
	{"hidden-text", "the front page links to pairs of pages with and without hidden text", 1, site(func(s *Site) { s.HiddenText = true })},
}

func challengeAfter(requests int, name string) func(*Temper) {
	return func(t *Temper) {
		t.Rules.Outages = []temper.Outage{{AfterRequests: requests, Action: temper.Challenge}}
		t.Site.Challenge = name
	}
}

// mustLatency parses a latency of the table.
func mustLatency(s string) temper.Latency {
	l, err := temper.ParseLatency(s)
	if err != nil {
		panic(err) // the table is constant and covered by every test
	}
	return l
}
