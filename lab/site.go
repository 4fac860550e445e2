package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Site is what a host holds. The zero Site means [DefaultSite]; to change a
// detail, start from there.
type Site struct {
	Pages   int // linked pages
	Orphans int // pages that only the sitemap names

	MinKB, MaxKB  int // page size, log-uniform between the two
	Links         int // links per page, about
	CrossLinks    int // of those: to other hosts
	QueryLinks    int // of those: query permutations and tracking parameters
	PrivateLinks  int // of those: forbidden by robots.txt
	NofollowLinks int // of those: rel=nofollow, to pages nothing else links to
	DeadLinks     int // so many pages, the first ones, have a link beside those to a page that is not there: every other one on another host

	Traps    Traps // endless spaces every page links into
	Faults   bool  // the front page links to every exhibit below /fault/
	Exhibits bool  // the front page links to every exhibit there is

	Robots     string        // what robots.txt answers, a name from [RobotsKinds]
	CrawlDelay time.Duration // in robots.txt; zero means none
	Robots5xx  float64       // share of the hosts with this site whose robots.txt answers 503 instead

	Sitemap string // what /sitemap.xml is, a name from [SitemapKinds]
	Gzip    bool   // compress for clients that accept gzip

	RedirectRate float64 // share of internal links that go through a redirect
	ChangeRate   float64 // share of pages that change at each epoch

	Cache     string        // headers of a cache in front, a name from [CacheStyles]; "" means none
	CacheTTL  time.Duration // how long that cache keeps a page; zero means five minutes
	Challenge string        // the page of a [temper.Challenge], a name from [Challenges]; "" means the first
}

// DefaultSite is a thousand pages of ordinary size with clean links.
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

// maxPages bounds the pages of one host: each costs a bit of memory per host
// and a path per lab.
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

// Choice is one value of a setting that takes a name, with a line about it.
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
