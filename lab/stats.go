package lab

import (
	"slices"
	"time"
)

// HostStats is what one host saw. Everything is exact, except that the median
// and the first percentile are taken over the first 262,144 gaps.
type HostStats struct {
	Host             string  `json:"host,omitempty"`     // base URL
	Pages            int     `json:"pages"`              // linked pages it has
	InFlight         int     `json:"in_flight"`          // requests being handled now
	Requests         int64   `json:"requests"`           // all requests except those to control paths
	PageRequests     int64   `json:"page_requests"`      // requests for linked pages, whatever the response
	PageAnswers      int64   `json:"page_answers"`       // of these, answered with 200 or 304
	UniquePages      int64   `json:"unique_pages"`       // distinct linked pages answered with 200 or 304
	UniqueOrphans    int64   `json:"unique_orphans"`     // distinct pages that are only in a sitemap
	QueryRequests    int64   `json:"query_requests"`     // page answers to requests with a query
	NotModified      int64   `json:"not_modified"`       // 304
	RobotsFetches    int64   `json:"robots_fetches"`     // of /robots.txt
	RobotsViolations int64   `json:"robots_violations"`  // requests to disallowed paths
	BeforeRobots     int64   `json:"before_robots"`      // content requests before robots.txt was requested
	Robots5xxIgnored int64   `json:"robots_5xx_ignored"` // content requests although robots.txt returned 5xx
	SitemapFetches   int64   `json:"sitemap_fetches"`    // of all kinds of sitemaps
	NofollowHits     int64   `json:"nofollow_hits"`      // requests for pages that only rel=nofollow links point to, including the maze
	TrapHits         int64   `json:"trap_hits"`          // requests for traps: calendar, facets and sessions
	FacetHits        int64   `json:"facet_hits"`         // of those, facets
	SessionHits      int64   `json:"session_hits"`       // of those, sessions
	RedirectHits     int64   `json:"redirect_hits"`      // requests for paths that redirect
	ExhibitHits      int64   `json:"exhibit_hits"`       // requests for /fault/ and /exhibit/
	NotFound         int64   `json:"not_found"`          // 404
	TooMany          int64   `json:"answered_429"`       // 429
	Errors5xx        int64   `json:"answered_5xx"`       // 5xx
	Unanswered       int64   `json:"unanswered"`         // requests without a response: cut off by the host, or the client disconnected
	Challenges       int64   `json:"challenges"`         // responses with a challenge page
	CacheHits        int64   `json:"cache_hits"`         // cache hits
	CacheMisses      int64   `json:"cache_misses"`       // cache misses, including expired pages
	CacheBypasses    int64   `json:"cache_bypasses"`     // requests that bypassed the cache
	Refusals         int64   `json:"refusals"`           // 429 and 503
	FirstRefusalMS   float64 `json:"first_refusal_ms"`   // since the counts began; -1 if none
	LastRefusalMS    float64 `json:"last_refusal_ms"`    // since the counts began; -1 if none
	InsideRetryAfter int64   `json:"inside_retry_after"` // requests that arrived before an announced Retry-After had passed
	BytesOut         int64   `json:"bytes_out"`          // bytes of response bodies, as transferred
	MaxConcurrent    int     `json:"max_concurrent"`     // maximum number of concurrent requests
	MinGapMS         float64 `json:"min_gap_ms"`         // smallest interval between the starts of content requests; -1 if fewer than two
	GapP01MS         float64 `json:"gap_p01_ms"`         // 1st percentile of the intervals
	MedianGapMS      float64 `json:"median_gap_ms"`      // median interval
	MinGapAnyMS      float64 `json:"min_gap_any_ms"`     // smallest interval, including robots.txt and sitemaps

	Origin *OriginStats `json:"origin,omitempty"` // counts of the origin behind the cache, if there is one; not included in sums
}

// Stats is what the whole lab saw since it started or was reset.
type Stats struct {
	Hosts           int         `json:"hosts"`            // number of hosts served
	Pages           int         `json:"pages"`            // linked pages of all hosts
	Complete        float64     `json:"complete"`         // unique pages / all pages
	HostsTouched    int         `json:"hosts_touched"`    // hosts that had a request
	HostsIncomplete int         `json:"hosts_incomplete"` // of those, with a page missing
	Connections     int64       `json:"connections"`      // accepted connections
	BytesOut        int64       `json:"bytes_out"`        // bytes of response bodies, as transferred
	SpanSeconds     float64     `json:"span_seconds"`     // from the first request to the last response
	LabCPUSeconds   float64     `json:"lab_cpu_seconds"`  // user and system, since the process started
	GapP01MS        float64     `json:"gap_p01_ms"`       // 1st percentile of the intervals of all hosts
	GapMedianMS     float64     `json:"gap_median_ms"`    // median of the intervals of all hosts
	Epoch           int         `json:"epoch"`            // number of times pages were changed
	DNS             DNSStats    `json:"dns"`
	Total           HostStats   `json:"total"`              // sums; the largest max_concurrent, the smallest gaps
	PerHost         []HostStats `json:"per_host,omitempty"` // the hosts that got requests
}

// report collects all counts.
func (rec *recorder) report(w *web) Stats {
	st := Stats{
		Hosts: len(rec.hosts), Connections: rec.connections.Load(), LabCPUSeconds: cpuSeconds(),
		SpanSeconds: time.Duration(max(0, rec.last.Load()-rec.first.Load())).Seconds(), DNS: rec.dns.stats(),
	}
	none := HostStats{FirstRefusalMS: -1, LastRefusalMS: -1, MinGapMS: -1, GapP01MS: -1, MedianGapMS: -1, MinGapAnyMS: -1}
	st.Total = none
	var all []int32
	for i := range rec.hosts {
		st.Pages += w.hosts[i].site.Pages
		c, gaps := rec.hosts[i].snapshot(none)
		if c.Requests == 0 {
			continue
		}
		c.Host, c.Pages = w.hosts[i].base, w.hosts[i].site.Pages
		all = append(all, gaps...)
		st.HostsTouched++
		if c.UniquePages < int64(c.Pages) {
			st.HostsIncomplete++
		}
		st.Total.add(&c)
		st.PerHost = append(st.PerHost, c)
	}
	st.Complete = float64(st.Total.UniquePages) / float64(st.Pages)
	st.BytesOut = st.Total.BytesOut
	slices.Sort(all)
	st.Total.GapP01MS, st.Total.MedianGapMS = quantiles(all)
	st.GapP01MS, st.GapMedianMS = st.Total.GapP01MS, st.Total.MedianGapMS
	return st
}

// quantiles returns the first percentile and the median of sorted microseconds, in
// milliseconds, or -1.
func quantiles(gaps []int32) (p01, median float64) {
	if len(gaps) == 0 {
		return -1, -1
	}
	return float64(gaps[len(gaps)/100]) / 1e3, float64(gaps[len(gaps)/2]) / 1e3
}

// add sums counters, and keeps the extremes of concurrency, gaps and times.
func (c *HostStats) add(o *HostStats) {
	c.Pages += o.Pages
	c.InFlight += o.InFlight
	c.Requests += o.Requests
	c.PageRequests += o.PageRequests
	c.PageAnswers += o.PageAnswers
	c.UniquePages += o.UniquePages
	c.UniqueOrphans += o.UniqueOrphans
	c.QueryRequests += o.QueryRequests
	c.NotModified += o.NotModified
	c.RobotsFetches += o.RobotsFetches
	c.RobotsViolations += o.RobotsViolations
	c.BeforeRobots += o.BeforeRobots
	c.Robots5xxIgnored += o.Robots5xxIgnored
	c.SitemapFetches += o.SitemapFetches
	c.NofollowHits += o.NofollowHits
	c.TrapHits += o.TrapHits
	c.FacetHits += o.FacetHits
	c.SessionHits += o.SessionHits
	c.RedirectHits += o.RedirectHits
	c.ExhibitHits += o.ExhibitHits
	c.NotFound += o.NotFound
	c.TooMany += o.TooMany
	c.Errors5xx += o.Errors5xx
	c.Unanswered += o.Unanswered
	c.Challenges += o.Challenges
	c.CacheHits += o.CacheHits
	c.CacheMisses += o.CacheMisses
	c.CacheBypasses += o.CacheBypasses
	c.Refusals += o.Refusals
	c.InsideRetryAfter += o.InsideRetryAfter
	c.BytesOut += o.BytesOut
	c.MaxConcurrent = max(c.MaxConcurrent, o.MaxConcurrent)
	c.FirstRefusalMS = lowest(c.FirstRefusalMS, o.FirstRefusalMS)
	c.LastRefusalMS = max(c.LastRefusalMS, o.LastRefusalMS)
	c.MinGapMS = lowest(c.MinGapMS, o.MinGapMS)
	c.MinGapAnyMS = lowest(c.MinGapAnyMS, o.MinGapAnyMS)
}

// lowest returns the smaller of two values, where -1 means none.
func lowest(a, b float64) float64 {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}
