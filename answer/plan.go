package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"headway/ask"
	"headway/job"
)

// PlanFacts are the results of probing the hosts of the seeds, and the limits of the
// crawl.
type PlanFacts struct {
	Hosts    []PlanHost
	NotAsked int // hosts of seeds that were not probed
	Workers  int
	Limits   []ask.Limit
	Links    bool // links are followed in addition to sitemaps
	Sitemaps bool // sitemaps are read

	// Of a dry run, which requests no pages.
	Dry      bool
	Outside  int64 // URLs out of scope, on hosts that are not part of the crawl
	Unlooked int64 // URLs that were not read
}

// Plan is an estimate of a crawl.
type Plan struct {
	Sentence string    `json:"sentence"` // the answer in plain words
	Ends     job.State `json:"ends"`     // expected end: complete, partial, blocked or failed
	// SizeKnown says that sitemaps list all pages. Otherwise the numbers below are
	// minimums.
	SizeKnown bool        `json:"size_known"`
	Pages     int64       `json:"pages"`
	Requests  int64       `json:"requests"` // including robots.txt and sitemaps
	Bytes     int64       `json:"bytes"`
	Takes     ask.Seconds `json:"takes_seconds"`
	Slowest   string      `json:"slowest,omitempty"` // the host that takes longest

	StoppedBy string      `json:"stopped_by,omitempty"` // the limit that would stop it
	Limits    []PlanLimit `json:"ceilings"`
	Hosts     []PlanHost  `json:"hosts"`
	Outside   int64       `json:"outside"` // URLs out of scope or excluded
	Unknown   []string    `json:"unknown"` // what is not known before the crawl
	Sent      int         `json:"sent"`    // requests sent for this plan
}

// PlanLimit is a limit and how much of it the crawl would need.
type PlanLimit struct {
	ask.Limit
	Needs float64 `json:"needs"` // 0 if not known
	Stops bool    `json:"stops"` // it would stop the crawl
}

// PlanHost is what was found about one host, and what crawling it takes.
type PlanHost struct {
	Host    string `json:"host"`
	Domain  string `json:"domain"`
	Owned   bool   `json:"owned,omitempty"`
	Blocked string `json:"blocked,omitempty"` // why nothing would be fetched
	Failed  string `json:"failed,omitempty"`  // why it could not be contacted
	Moved   string `json:"moved,omitempty"`   // the host that the seed redirects to

	Robots   PlanRobots    `json:"robots"`
	Sitemaps []PlanSitemap `json:"sitemaps,omitempty"`
	Unread   int           `json:"sitemaps_unread,omitempty"` // sitemaps that were not read
	Prefixes []PlanPrefix  `json:"prefixes,omitempty"`        // URLs to fetch by the first part of the path, the largest first

	Listed     int64 `json:"listed"`     // sitemap entries
	Disallowed int64 `json:"disallowed"` // of these, disallowed by robots.txt
	Outside    int64 `json:"outside"`    // of these, out of scope or excluded
	Repeated   int64 `json:"repeated"`   // of these, duplicates
	Links      int   `json:"links"`      // pages in scope that the seed links to
	Unlisted   int   `json:"unlisted"`   // of these, in no sitemap

	Pace       ask.Seconds `json:"pace_seconds"`
	Interval   ask.Seconds `json:"interval_seconds"` // on average, including the random part
	Source     string      `json:"source"`           // base, crawl_delay, learned, operator
	Remembered bool        `json:"remembered"`       // learned in an earlier crawl
	HeldUntil  time.Time   `json:"held_until,omitzero"`
	InFlight   int         `json:"in_flight"` // at most
	Response   ask.Seconds `json:"response_seconds,omitempty"`
	PageBytes  int64       `json:"page_bytes,omitempty"`
	Looks      []PlanPage  `json:"pages_asked,omitempty"`
	Sent       int         `json:"sent"`

	SizeKnown bool        `json:"size_known"`
	Pages     int64       `json:"pages"`
	Requests  int64       `json:"requests"`
	Takes     ask.Seconds `json:"takes_seconds"`
}

// PlanRobots is what robots.txt says.
type PlanRobots struct {
	Status     int         `json:"status,omitempty"`
	Error      string      `json:"error,omitempty"`
	Ignored    bool        `json:"ignored,omitempty"`
	Seed       bool        `json:"seed_allowed"`
	Reason     string      `json:"reason"`           // why the seed is allowed or not
	Access     string      `json:"access,omitempty"` // rules, allow_all, …
	Rule       string      `json:"rule,omitempty"`
	Line       int         `json:"line,omitempty"`
	CrawlDelay ask.Seconds `json:"crawl_delay_seconds,omitempty"`
	Sitemaps   []string    `json:"sitemaps,omitempty"` // sitemaps it names
}

// PlanSitemap is a sitemap that was read.
type PlanSitemap struct {
	URL     string `json:"url"`
	Status  int    `json:"status,omitempty"`
	Error   string `json:"error,omitempty"`
	Form    string `json:"form,omitempty"` // index, urlset, …
	Entries int    `json:"entries"`        // in a dry run only those not known before
}

// PlanPrefix is the number of URLs of a host with the same path prefix.
type PlanPrefix struct {
	Prefix string `json:"prefix"`
	URLs   int64  `json:"urls"`
}

// PlanPage is a page that was requested.
type PlanPage struct {
	URL     string      `json:"url"`
	Outcome string      `json:"outcome"`
	Status  int         `json:"status,omitempty"`
	Detail  string      `json:"detail,omitempty"`
	Took    ask.Seconds `json:"took_seconds"`
	Bytes   int64       `json:"bytes"`
}

// MakePlan builds the plan.
func MakePlan(f PlanFacts) Plan {
	p := Plan{Hosts: slices.Clone(f.Hosts), SizeKnown: len(f.Hosts) > 0 && f.NotAsked == 0, Outside: f.Outside}
	for i := range p.Hosts {
		h := &p.Hosts[i]
		h.estimate()
		p.Sent += h.Sent
		p.Outside += h.Outside
		if h.Blocked != "" || h.Failed != "" {
			p.SizeKnown = p.SizeKnown && h.Failed == ""
			continue
		}
		p.SizeKnown = p.SizeKnown && h.SizeKnown
		p.Pages += h.Pages
		p.Requests += h.Requests
		p.Bytes += h.Pages * h.PageBytes
	}
	p.Takes, p.Slowest = totalTime(p.Hosts, f.Workers)
	p.applyLimits(f.Limits)
	p.Ends = p.ends()
	p.Unknown = unknown(&f, &p)
	p.Sentence = p.sentence()
	return p
}

// estimate computes the pages, requests and time of the host.
func (h *PlanHost) estimate() {
	h.SizeKnown = h.Listed > 0 && h.Unread == 0
	if h.Blocked != "" || h.Failed != "" {
		h.Pages = 0
		return
	}
	read := 0 // sitemaps that list pages
	for _, s := range h.Sitemaps {
		if s.Entries > 0 && s.Form != "index" {
			read++
		}
	}
	if h.Unread > 0 && read > 0 {
		h.Pages += h.Pages / int64(read) * int64(h.Unread) // assume that unread ones are similarity
	}
	if h.Listed == 0 {
		h.Pages = max(h.Pages, 1) + int64(h.Unlisted) // only what is known
	}
	h.Requests = h.Pages + int64(len(h.Sitemaps)+h.Unread)
	if !h.Robots.Ignored {
		h.Requests++
	}
	h.Takes = ask.Seconds(requestsTake(h.Requests, h.Interval.Duration(), h.Response.Duration(), h.InFlight))
}

// requestsTake returns how long n requests to one host take: one interval each, or the
// response time if that is longer, with up to inFlight at once. Concurrency starts at
// one and doubles with each successful round.
func requestsTake(n int64, interval, response time.Duration, inFlight int) time.Duration {
	if n <= 0 {
		return 0
	}
	var sum time.Duration
	for now := 1; n > 1 && now < inFlight && response > interval*time.Duration(now); now *= 2 {
		round := min(n, int64(now))
		sum += max(response, time.Duration(round)*interval)
		n -= round
	}
	each := max(interval, response/time.Duration(max(inFlight, 1)))
	return sum + time.Duration(max(n-1, 0))*each + response
}

// totalTime returns how long all hosts take in parallel, and which one takes longest. Hosts
// of one domain are requested half an interval apart.
func totalTime(hosts []PlanHost, workers int) (longest ask.Seconds, slowest string) {
	domains := map[string]ask.Seconds{}
	var work time.Duration
	for i := range hosts {
		h := &hosts[i]
		if h.Takes > longest || slowest == "" && h.Requests > 0 {
			longest, slowest = max(longest, h.Takes), h.Host
		}
		domains[h.Domain] += ask.Seconds(time.Duration(h.Requests) * h.Pace.Duration() / 2)
		work += time.Duration(h.Requests) * h.Response.Duration()
	}
	for _, d := range domains {
		longest = max(longest, d)
	}
	if workers > 0 {
		longest = max(longest, ask.Seconds(work/time.Duration(workers)))
	}
	return longest, slowest
}

// applyLimits compares the plan with the limits, and cuts it at the one reached first.
func (p *Plan) applyLimits(limits []ask.Limit) {
	first := 1.0
	p.Limits = []PlanLimit{}
	p.dropHostsOverLimit(limits)
	for _, l := range limits {
		x := PlanLimit{Limit: l}
		switch l.Name {
		case "max_hosts":
			x.Needs = float64(len(p.Hosts))
		case "max_pages":
			x.Needs = float64(p.Pages)
		case "max_requests":
			x.Needs = float64(p.Requests)
		case "max_bytes":
			x.Needs = float64(p.Bytes)
		case "max_time":
			x.Needs = p.Takes.Duration().Seconds()
		case "max_pages_per_host":
			for i := range p.Hosts {
				x.Needs = max(x.Needs, float64(p.Hosts[i].Pages))
			}
		}
		// URLs over the limit of their host are skipped; the crawl continues.
		x.Stops = x.Needs > l.Max && l.Name != "max_pages_per_host"
		if part := l.Max / x.Needs; x.Stops && part < first && l.Name != "max_hosts" {
			first, p.StoppedBy = part, l.Name
		}
		p.Limits = append(p.Limits, x)
	}
	p.capHosts()
	if p.StoppedBy != "" {
		p.Pages = int64(float64(p.Pages) * first)
		p.Requests = int64(float64(p.Requests) * first)
		p.Bytes = int64(float64(p.Bytes) * first)
		p.Takes = ask.Seconds(float64(p.Takes) * first)
	}
}

// dropHostsOverLimit drops the last hosts over the limit of hosts.
func (p *Plan) dropHostsOverLimit(limits []ask.Limit) {
	for _, l := range limits {
		if l.Name != "max_hosts" || float64(len(p.Hosts)) <= l.Max {
			continue
		}
		p.StoppedBy = l.Name
		for i := int(l.Max); i < len(p.Hosts); i++ {
			h := &p.Hosts[i]
			p.Pages -= h.Pages
			p.Requests -= h.Requests
			p.Bytes -= h.Pages * h.PageBytes
			h.Pages, h.Requests, h.Takes = 0, 0, 0
		}
		p.Takes, p.Slowest = totalTime(p.Hosts, 0)
	}
}

// capHosts drops pages over the limit of pages per host.
func (p *Plan) capHosts() {
	for _, l := range p.Limits {
		if l.Name != "max_pages_per_host" || l.Needs <= l.Max {
			continue
		}
		p.Takes, p.Slowest = 0, ""
		for i := range p.Hosts {
			h := &p.Hosts[i]
			if over := h.Pages - int64(l.Max); over > 0 {
				p.Pages -= over
				p.Requests -= over
				p.Bytes -= over * h.PageBytes
				h.Pages, h.Requests = h.Pages-over, h.Requests-over
				h.Takes = ask.Seconds(requestsTake(h.Requests, h.Interval.Duration(), h.Response.Duration(), h.InFlight))
			}
		}
		p.Takes, p.Slowest = totalTime(p.Hosts, 0)
	}
}

// ends returns how the crawl would end.
func (p *Plan) ends() job.State {
	var blocked, failed int
	for i := range p.Hosts {
		switch h := &p.Hosts[i]; {
		case h.Failed != "":
			failed++
		case h.Blocked != "":
			blocked++
		}
	}
	switch all := len(p.Hosts); {
	case all > 0 && blocked+failed == all && blocked > 0:
		return job.Blocked
	case all > 0 && failed == all:
		return job.Failed
	case p.StoppedBy != "":
		return job.Partial
	default:
		return job.Complete
	}
}

// unknown lists what is not known before the crawl.
func unknown(f *PlanFacts, p *Plan) []string {
	list := []string{}
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	for i := range p.Hosts {
		h := &p.Hosts[i]
		switch {
		case h.Blocked != "" || h.Failed != "":
			continue
		case h.Listed == 0 && f.Dry:
			add("%s: number of pages; no sitemap gives a count, and no page was fetched for links", h.Host)
		case h.Listed == 0 && !f.Sitemaps:
			add("%s: number of pages; sitemaps are not read, and the seed links to %d pages in scope", h.Host, h.Links)
		case h.Listed == 0:
			add("%s: number of pages; no sitemap gives a count, and the seed links to %d pages in scope", h.Host, h.Links)
		case h.Unread > 0:
			add("%s: contents of %d more sitemaps; assumed to be like those already read", h.Host, h.Unread)
		}
		if h.Listed > 0 && h.Unlisted > 0 && f.Links {
			add("%s: number of pages missing from sitemaps; the seed links to %d of them", h.Host, h.Unlisted)
		}
		if !h.Remembered && h.Source == "base" && f.Dry {
			add("%s: whether it accepts one request every %s", h.Host, short(h.Pace.Duration()))
		} else if !h.Remembered && h.Source == "base" {
			add("%s: whether it accepts one request every %s; so far it got %d requests", h.Host, short(h.Pace.Duration()), h.Sent)
		}
	}
	if p.SizeKnown && p.Pages > 0 {
		add("number of duplicate pages; duplicates are skipped")
	}
	if f.Dry && f.Links && len(p.Hosts) > 0 {
		add("pages missing from sitemaps: a dry run does not follow links")
	}
	if f.Dry && p.Pages > 0 {
		add("page sizes and response times: a dry run fetches no page")
	}
	if f.Unlooked > 0 {
		add("the distribution of %s; assumed to be like the others", thousands(f.Unlooked)+" more URLs")
	}
	if f.NotAsked > 0 {
		add("%d more seed hosts, which were not contacted", f.NotAsked)
	}
	return list
}

// sentence summarises the plan in plain words.
func (p *Plan) sentence() string {
	var words []string
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch p.Ends {
	case job.Blocked, job.Failed:
		var why []string
		for i := range p.Hosts {
			h := &p.Hosts[i]
			why = append(why, h.Host+": "+cmp.Or(h.Failed, h.Blocked))
		}
		return fmt.Sprintf("Nothing would be fetched (%s): %s.", p.Ends, strings.Join(why[:min(len(why), maxSlowest)], "; "))
	}
	about := "About"
	if !p.SizeKnown {
		about = "At least"
	}
	if p.SizeKnown || p.StoppedBy != "" {
		add("%s %s in %s.", about, pages(p.Pages), short(p.Takes.Duration()))
	} else {
		add("%s %s; the total is unknown until crawled.", about, pages(p.Pages))
	}
	for i := range p.Hosts {
		if h := &p.Hosts[i]; h.Host == p.Slowest && h.Pace > 0 {
			add("%s takes longest, at one request every %s (%s).", h.Host, short(h.Pace.Duration()), h.Source)
		}
	}
	for _, l := range p.Limits {
		if l.Name == p.StoppedBy {
			add("%s %s would stop the crawl.", l.Name, limitAmount(l.Max, l.Unit))
		} else if !p.SizeKnown && l.Name == "max_pages" && p.StoppedBy == "" {
			add("At most %s (max_pages).", pages(int64(l.Max)))
		}
	}
	return strings.Join(words, " ")
}

// limitAmount formats an amount of a limit with its unit.
func limitAmount(n float64, unit string) string {
	switch unit {
	case "seconds":
		return short(ask.FromSeconds(n).Duration())
	case "bytes":
		return thousands(int64(n)) + " bytes"
	default:
		return thousands(int64(n))
	}
}

// pages formats a count: 1 page, 1,240 pages.
func pages(n int64) string {
	if n == 1 {
		return "1 page"
	}
	return thousands(n) + " pages"
}
