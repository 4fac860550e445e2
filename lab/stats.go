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
	Requests         int64   `json:"requests"`           // everything but control paths
	PageRequests     int64   `json:"page_requests"`      // to linked pages, whatever the answer
	PageAnswers      int64   `json:"page_answers"`       // of those, answered 200 or 304
	UniquePages      int64   `json:"unique_pages"`       // different linked pages answered 200 or 304
	UniqueOrphans    int64   `json:"unique_orphans"`     // different sitemap-only pages
	QueryRequests    int64   `json:"query_requests"`     // page answers to requests with a query
	NotModified      int64   `json:"not_modified"`       // 304
	RobotsFetches    int64   `json:"robots_fetches"`     // of /robots.txt
	RobotsViolations int64   `json:"robots_violations"`  // requests to disallowed paths
	BeforeRobots     int64   `json:"before_robots"`      // content requests before robots.txt was asked for
	Robots5xxIgnored int64   `json:"robots_5xx_ignored"` // content requests although robots.txt is out of reach
	SitemapFetches   int64   `json:"sitemap_fetches"`    // of all kinds of sitemaps
	NofollowHits     int64   `json:"nofollow_hits"`      // to what only rel=nofollow links name, the maze included
	TrapHits         int64   `json:"trap_hits"`          // to calendar, facets and sessions
	FacetHits        int64   `json:"facet_hits"`         // of those, facets
	SessionHits      int64   `json:"session_hits"`       // of those, sessions
	RedirectHits     int64   `json:"redirect_hits"`      // to paths that redirect
	ExhibitHits      int64   `json:"exhibit_hits"`       // to /fault/ and /exhibit/
	NotFound         int64   `json:"not_found"`          // 404
	TooMany          int64   `json:"answered_429"`       // 429
	Errors5xx        int64   `json:"answered_5xx"`       // 5xx
	Unanswered       int64   `json:"unanswered"`         // ended without an answer: cut by the host, or the client left
	Challenges       int64   `json:"challenges"`         // answered with a challenge page
	CacheHits        int64   `json:"cache_hits"`         // pages the cache in front had
	CacheMisses      int64   `json:"cache_misses"`       // pages it had not, or no longer
	CacheBypasses    int64   `json:"cache_bypasses"`     // pages it never keeps
	Refusals         int64   `json:"refusals"`           // 429 and 503
	FirstRefusalMS   float64 `json:"first_refusal_ms"`   // since the counts began; -1 if none
	LastRefusalMS    float64 `json:"last_refusal_ms"`    // since the counts began; -1 if none
	InsideRetryAfter int64   `json:"inside_retry_after"` // requests that came before an announced Retry-After was over
	BytesOut         int64   `json:"bytes_out"`          // of bodies, as sent
	MaxConcurrent    int     `json:"max_concurrent"`     // requests handled at once
	MinGapMS         float64 `json:"min_gap_ms"`         // between starts of content requests; -1 if fewer than two
	GapP01MS         float64 `json:"gap_p01_ms"`         // one gap in a hundred is shorter
	MedianGapMS      float64 `json:"median_gap_ms"`      // half of the gaps are shorter
	MinGapAnyMS      float64 `json:"min_gap_any_ms"`     // robots.txt and sitemaps included

	Origin *OriginStats `json:"origin,omitempty"` // what is behind the cache in front, if there is one; not in sums
}

// Stats is what the whole lab saw since it was made or reset.
type Stats struct {
	Hosts           int         `json:"hosts"`            // it serves
	Pages           int         `json:"pages"`            // linked pages of all hosts
	Complete        float64     `json:"complete"`         // unique pages / all pages
	HostsTouched    int         `json:"hosts_touched"`    // hosts that had a request
	HostsIncomplete int         `json:"hosts_incomplete"` // of those, with a page missing
	Connections     int64       `json:"connections"`      // accepted
	BytesOut        int64       `json:"bytes_out"`        // of bodies, as sent
	SpanSeconds     float64     `json:"span_seconds"`     // first request to last answer
	LabCPUSeconds   float64     `json:"lab_cpu_seconds"`  // user and system, since the process started
	GapP01MS        float64     `json:"gap_p01_ms"`       // over the gaps of all hosts
	GapMedianMS     float64     `json:"gap_median_ms"`    // likewise
	Epoch           int         `json:"epoch"`            // how often pages were changed
	DNS             DNSStats    `json:"dns"`
	Total           HostStats   `json:"total"`              // sums; the largest max_concurrent, the smallest gaps
	PerHost         []HostStats `json:"per_host,omitempty"` // the hosts touched
}

// report gathers everything.
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

// quantiles gives the first percentile and the median of sorted microseconds
// in milliseconds, or -1.
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

// lowest takes the smaller of two values, where -1 means none.
func lowest(a, b float64) float64 {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}
