package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Site is the content of a host. The zero Site means [DefaultSite]; start from that to
// change a detail.
type Site struct {
	Pages   int // linked pages
	Orphans int // pages listed only in the sitemap

	MinKB, MaxKB  int // page size, log-uniform between the two
	Links         int // links per page, approximately
	CrossLinks    int // of these, to other hosts
	QueryLinks    int // of these, query permutations and tracking parameters
	PrivateLinks  int // of these, disallowed by robots.txt
	NofollowLinks int // of these, rel=nofollow, to pages without other links
	DeadLinks     int // this many pages, the first ones, have an additional link to a missing page, alternating between this and another host

	Traps      Traps // endless URL spaces linked from every page
	Faults     bool  // the front page links to every exhibit below /fault/
	Exhibits   bool  // the front page links to all exhibits
	HiddenText bool  // the front page links to the pages of [TextPairs]

	Robots     string        // response of robots.txt, a name from [RobotsKinds]
	CrawlDelay time.Duration // in robots.txt; zero means none
	Robots5xx  float64       // share of hosts with this site whose robots.txt responds 503 instead

	Sitemap string // type of /sitemap.xml, a name from [SitemapKinds]
	Gzip    bool   // compress for clients that accept gzip

	RedirectRate float64 // share of internal links that go through a redirect
	ChangeRate   float64 // share of pages that change at each epoch

	Cache     string        // headers of the cache in front, a name from [CacheStyles]; "" means none
	CacheTTL  time.Duration // lifetime in that cache; zero means five minutes
	Challenge string        // the page of a [temper.Challenge], a name from [Challenges]; "" means the first
}

// DefaultSite has a thousand pages of ordinary size with clean links.
func DefaultSite() Site {
	return Site{
		Pages: 1000, MinKB: 10, MaxKB: 60, Links: 60, CrossLinks: 6, PrivateLinks: 2, NofollowLinks: 2,
		Robots: "rules", Sitemap: "parts", Gzip: true, ChangeRate: 0.1,
	}
}

func (s Site) withDefaults() Site {
	if s == (Site{}) {
		return DefaultSite()
	}
	if s.Robots == "" {
		s.Robots = "rules"
	}
	if s.Sitemap == "" {
		s.Sitemap = "none"
	}
	return s
}

// maxPages limits the pages of one host: each costs a bit per host and a path per lab.
const maxPages = 10_000_000

func (s *Site) validate() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if s.Pages < 1 || s.Pages > maxPages {
		bad("Pages: %d is out of range, use 1 to %d", s.Pages, maxPages)
	}
	if s.Orphans < 0 || s.Orphans > maxPages {
		bad("Orphans: %d is out of range, use 0 to %d", s.Orphans, maxPages)
	}
	if s.MinKB < 1 || s.MaxKB < s.MinKB {
		bad("MinKB, MaxKB: must satisfy 1 <= %d <= %d", s.MinKB, s.MaxKB)
	}
	if min(s.Links, s.CrossLinks, s.QueryLinks, s.PrivateLinks, s.NofollowLinks, s.DeadLinks) < 0 {
		bad("Links, CrossLinks, QueryLinks, PrivateLinks, NofollowLinks, DeadLinks: must not be negative")
	}
	if s.CrawlDelay < 0 {
		bad("CrawlDelay: %v must not be negative", s.CrawlDelay)
	}
	if s.CacheTTL < 0 {
		bad("CacheTTL: %v must not be negative", s.CacheTTL)
	}
	for name, share := range map[string]float64{"Robots5xx": s.Robots5xx, "RedirectRate": s.RedirectRate, "ChangeRate": s.ChangeRate} {
		if share < 0 || share > 1 {
			bad("%s: %v is out of range, use 0 to 1", name, share)
		}
	}
	known := func(field, name string, choices []Choice) {
		if !slices.ContainsFunc(choices, func(c Choice) bool { return c.Name == name }) {
			bad("%s: invalid value %q; choose one of %s", field, name, choiceNames(choices))
		}
	}
	known("Robots", s.Robots, RobotsKinds())
	known("Sitemap", s.Sitemap, SitemapKinds())
	if s.Cache != "" {
		known("Cache", s.Cache, CacheStyles())
	}
	if s.Challenge != "" {
		known("Challenge", s.Challenge, Challenges())
	}
	return errors.Join(problems...)
}

// Choice is one value of a named setting, with a description.
type Choice struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

func choiceNames(choices []Choice) string {
	names := make([]string, len(choices))
	for i, c := range choices {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}
