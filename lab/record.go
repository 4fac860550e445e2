package lab

import (
	"math/bits"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"headway/lab/temper"
)

// recorder is the state of the lab since it was created or reset: counts, and the state
// of each host's profile and cache.
type recorder struct {
	start       time.Time
	hosts       []tally
	connections atomic.Int64
	first, last atomic.Int64 // nanoseconds since start, plus one: 0 means none
	log         requestLog
	dns         dnsTally
}

// tally is the state of one host.
type tally struct {
	bytes atomic.Int64

	mu       sync.Mutex
	c        HostStats
	temper   temper.State
	cache    cacheState
	origin   originState
	held     time.Time // when the latest announced Retry-After ends
	lastPage time.Time
	lastAny  time.Time
	gaps     []int32 // microseconds between starts of content requests
	minPage  time.Duration
	minAny   time.Duration
	pages    []uint64 // bitmap of linked pages responded with 200 or 304
	orphans  []uint64

	firstRefusal, lastRefusal time.Duration // since start; 0 = none
}

// maxGaps limits the gaps kept for the median; the smallest gap is always exact.
const maxGaps = 1 << 18

func newRecorder(cfg *Config) *recorder {
	rec := &recorder{start: time.Now(), hosts: make([]tally, len(cfg.Hosts))}
	rec.log.size = cfg.Log
	for i := range rec.hosts {
		site := &cfg.Hosts[i].Temper.Site
		rec.hosts[i].temper = temper.NewState(cfg.Seed, uint64(i))
		rec.hosts[i].origin.temper = temper.NewState(cfg.Seed, uint64(i)+1<<32)
		rec.hosts[i].pages = make([]uint64, (site.Pages+63)/64)
		rec.hosts[i].orphans = make([]uint64, (site.Orphans+63)/64)
	}
	return rec
}

// begin counts the start of a request and applies the host's profile.
func (rec *recorder) begin(x *exchange) {
	h := x.tally
	content := x.kind != kindRobots && x.kind != kindSitemap
	kind := temper.Other
	switch x.kind {
	case kindPage:
		kind = temper.Page
	case kindRobots:
		kind = temper.Robots
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now() // under the lock, so that gaps are never negative
	x.started = now
	rec.first.CompareAndSwap(0, int64(now.Sub(rec.start))+1)
	x.verdict = h.temper.Arrive(x.host.rules, now, kind, x.page)
	h.c.Requests++
	h.c.MaxConcurrent = max(h.c.MaxConcurrent, h.temper.InFlight())
	if now.Before(h.held) {
		h.c.InsideRetryAfter++
	}
	h.gap(now, content)
	if content && h.c.RobotsFetches == 0 {
		h.c.BeforeRobots++
	}
	h.countRequest(x)
}

// gap records the time since the previous request.
func (h *tally) gap(now time.Time, content bool) {
	if !h.lastAny.IsZero() {
		h.minAny = shorter(h.minAny, now.Sub(h.lastAny))
	}
	h.lastAny = now
	if !content {
		return
	}
	if !h.lastPage.IsZero() {
		gap := now.Sub(h.lastPage)
		h.minPage = shorter(h.minPage, gap)
		if len(h.gaps) < maxGaps {
			h.gaps = append(h.gaps, int32(min(gap.Microseconds(), 1<<31-1)))
		}
	}
	h.lastPage = now
}

// shorter returns the smaller of two gaps, where 0 means none; no gap is shorter than a
// nanosecond.
func shorter(a, b time.Duration) time.Duration {
	if b = max(1, b); a == 0 {
		return b
	}
	return min(a, b)
}

// countRequest counts what a request is for, before it is answered.
func (h *tally) countRequest(x *exchange) {
	switch x.kind {
	case kindPage:
		h.c.PageRequests++
	case kindNofollow:
		h.c.NofollowHits++
	case kindTrap:
		h.c.TrapHits++
		switch trapOf(x.path).bit {
		case Facets:
			h.c.FacetHits++
		case Sessions:
			h.c.SessionHits++
		}
	case kindRedirect:
		h.c.RedirectHits++
	case kindSitemap:
		h.c.SitemapFetches++
	case kindExhibit:
		h.c.ExhibitHits++
	case kindRobots:
		if x.path == "/robots.txt" {
			h.c.RobotsFetches++
		}
		return
	}
	if x.host.robots.means == meansUnreachable {
		h.c.Robots5xxIgnored++
	} else if x.host.robots.disallows(x.path) {
		h.c.RobotsViolations++
	}
}

// countResponse counts a response whose status is about to be sent.
func (rec *recorder) countResponse(x *exchange) {
	h := x.tally
	h.mu.Lock()
	now := time.Now()
	switch x.status {
	case http.StatusTooManyRequests:
		h.c.TooMany++
	case http.StatusNotFound:
		h.c.NotFound++
	case http.StatusNotModified:
		h.c.NotModified++
	}
	if x.status >= 500 {
		h.c.Errors5xx++
	}
	if x.status == http.StatusTooManyRequests || x.status == http.StatusServiceUnavailable {
		h.c.Refusals++
		h.lastRefusal = max(1, now.Sub(rec.start))
		if h.firstRefusal == 0 {
			h.firstRefusal = h.lastRefusal
		}
	}
	if until := now.Add(x.announced); x.announced > 0 && until.After(h.held) {
		h.held = until
	}
	h.delivered(x)
	h.mu.Unlock()
	rec.log.add(x, now)
}

// delivered records what the client received.
func (h *tally) delivered(x *exchange) {
	ok := x.status == http.StatusOK || x.status == http.StatusNotModified
	switch {
	case x.challenge:
		h.c.Challenges++
	case ok && x.kind == kindPage:
		h.c.PageAnswers++
		if x.req.URL.RawQuery != "" {
			h.c.QueryRequests++
		}
		h.pages[x.page/64] |= 1 << (x.page % 64)
		h.c.countCache(x.cached)
	case ok && x.kind == kindOrphan:
		h.orphans[x.page/64] |= 1 << (x.page % 64)
	}
}

// leave records that a request is no longer in flight.
func (rec *recorder) leave(x *exchange) {
	x.tally.mu.Lock()
	x.tally.temper.Leave()
	x.tally.mu.Unlock()
	rec.last.Store(int64(time.Since(rec.start)) + 1)
}

// unanswered records that a request ended without a response.
func (rec *recorder) unanswered(x *exchange) {
	x.tally.mu.Lock()
	x.tally.c.Unanswered++
	x.tally.mu.Unlock()
	rec.log.add(x, time.Now())
}

// snapshot copies the counts, computes the derived ones and returns the sorted gaps. none
// is the report of a host without requests.
func (h *tally) snapshot(none HostStats) (HostStats, []int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.c
	c.BytesOut = h.bytes.Load()
	c.InFlight = h.temper.InFlight()
	c.Origin = h.origin.report()
	c.UniquePages, c.UniqueOrphans = ones(h.pages), ones(h.orphans)
	c.FirstRefusalMS, c.LastRefusalMS, c.MinGapMS, c.MinGapAnyMS = none.FirstRefusalMS, none.LastRefusalMS, none.MinGapMS, none.MinGapAnyMS
	if h.firstRefusal > 0 {
		c.FirstRefusalMS, c.LastRefusalMS = milliseconds(h.firstRefusal), milliseconds(h.lastRefusal)
	}
	if h.minAny > 0 {
		c.MinGapAnyMS = milliseconds(h.minAny)
	}
	if h.minPage > 0 {
		c.MinGapMS = milliseconds(h.minPage)
	}
	gaps := slices.Clone(h.gaps)
	slices.Sort(gaps)
	c.GapP01MS, c.MedianGapMS = quantiles(gaps)
	return c, gaps
}

func ones(bitmap []uint64) (n int64) {
	for _, w := range bitmap {
		n += int64(bits.OnesCount64(w))
	}
	return n
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
