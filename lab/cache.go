package lab

import (
	"strconv"
	"time"
)

const (
	cacheTTL   = 5 * time.Minute        // how long the cache keeps a page
	cacheCold  = 150 * time.Millisecond // origin time of an uncached page
	cacheShare = 16                     // one page in this many is never cached,
	// and every other one of these because it sets a cookie.
	cacheCookie = 2 * cacheShare
)

// cacheResult is what the cache in front of a host did.
type cacheResult uint8

const (
	cacheOff     cacheResult = iota // there is no cache
	cacheHit                        // the page was cached
	cacheMiss                       // it was not
	cacheExpired                    // it was, but expired
	cacheBypass                     // it is never cached
)

// neverKept reports whether a page is never cached.
func neverKept(page int) bool { return page%cacheShare == cacheShare-1 }

// cacheState is the content of a cache: when each page was last stored.
type cacheState map[int]time.Time

// look looks a page up and stores it if it was not cached. age is the age of a hit, ttl
// the lifetime of a page.
func (s *cacheState) look(page int, now time.Time, ttl time.Duration) (r cacheResult, age time.Duration) {
	if neverKept(page) {
		return cacheBypass, 0
	}
	filled, ok := (*s)[page]
	if age = now.Sub(filled); ok && age < ttl {
		return cacheHit, age
	}
	if *s == nil {
		*s = cacheState{}
	}
	(*s)[page] = now
	if ok {
		return cacheExpired, 0
	}
	return cacheMiss, 0
}

// cacheStyle is the response headers of one kind of cache, by result.
type cacheStyle struct {
	Choice
	header string
	values [cacheBypass + 1]string
}

var cacheStyles = []cacheStyle{
	{
		Choice{"cloudflare", "CF-Cache-Status HIT, MISS, EXPIRED, BYPASS; Age"},
		"Cf-Cache-Status",
		[...]string{"", "HIT", "MISS", "EXPIRED", "BYPASS"},
	},
	{
		Choice{"varnish", "X-Cache HIT, MISS; Age"},
		"X-Cache",
		[...]string{"", "HIT", "MISS", "MISS", "MISS"},
	},
	{
		Choice{"fastly", "X-Cache of two layers, such as MISS, HIT; Age"},
		"X-Cache",
		[...]string{"", "MISS, HIT", "MISS, MISS", "MISS, MISS", "PASS, PASS"},
	},
	{
		Choice{"cloudfront", "X-Cache in words, such as Hit from cloudfront; Age"},
		"X-Cache",
		[...]string{"", "Hit from cloudfront", "Miss from cloudfront", "RefreshHit from cloudfront", "Miss from cloudfront"},
	},
}

// CacheStyles lists the values of [Site.Cache].
func CacheStyles() []Choice {
	list := make([]Choice, len(cacheStyles))
	for i := range cacheStyles {
		list[i] = cacheStyles[i].Choice
	}
	return list
}

// throughCache passes a page request through the cache in front of the host: uncached
// pages take time, and headers report the result. done means that no response is needed:
// the client disconnected, or the origin refused.
func (x *exchange) throughCache() (done bool) {
	ttl := x.host.site.CacheTTL
	if ttl == 0 {
		ttl = cacheTTL
	}
	x.tally.mu.Lock()
	result, age := x.tally.cache.look(x.page, time.Now(), ttl)
	x.tally.mu.Unlock()
	x.cached = result
	if result != cacheHit && x.generatePage() {
		x.tally.mu.Lock()
		delete(x.tally.cache, x.page)
		x.tally.mu.Unlock()
		return true
	}
	head := x.Header()
	for i := range cacheStyles {
		if s := &cacheStyles[i]; s.Name == x.host.site.Cache {
			head[s.header] = []string{s.values[result]}
		}
	}
	switch {
	case result == cacheBypass && x.page%cacheCookie != cacheCookie-1:
		head.Set("Cache-Control", "private, no-store")
		return false
	case result == cacheBypass:
		head.Set("Set-Cookie", "visitor="+strconv.Itoa(x.page)+"; Path=/; HttpOnly")
	default:
		head.Set("Age", strconv.Itoa(int(age/time.Second)))
	}
	head.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(ttl/time.Second)))
	return false
}

// countCache counts the cache result of a delivered page.
func (c *HostStats) countCache(r cacheResult) {
	switch r {
	case cacheHit:
		c.CacheHits++
	case cacheMiss, cacheExpired:
		c.CacheMisses++
	case cacheBypass:
		c.CacheBypasses++
	}
}
