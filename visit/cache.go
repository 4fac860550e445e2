package visit

import (
	"fmt"
	"slices"
	"time"
)

// Cache is what the caches between us and the origin said about a response.
type Cache struct {
	Verdict CacheVerdict  `json:"verdict,omitempty"` // empty if none said anything
	By      string        `json:"by,omitempty"`      // the header that says so
	Age     time.Duration `json:"age,omitempty"`     // age of the copy
	Barred  string        `json:"barred,omitempty"`  // the header that prevents shared caches from reusing it
}

// CacheVerdict says what a cache did for a request. Like the outcomes, the set is closed.
type CacheVerdict string

// Cache verdicts. The empty verdict means that no cache said anything.
const (
	CacheHit         CacheVerdict = "hit"         // served from a copy
	CacheStale       CacheVerdict = "stale"       // served from an expired copy; it may be being refreshed
	CacheRevalidated CacheVerdict = "revalidated" // the origin confirmed the copy
	CacheExpired     CacheVerdict = "expired"     // the copy had expired: served by the origin
	CacheMiss        CacheVerdict = "miss"        // there was no copy: served by the origin
	CacheBypass      CacheVerdict = "bypass"      // passed to the origin: this response is not cached
	CacheDynamic     CacheVerdict = "dynamic"     // passed to the origin: such responses are never cached
)

// CacheVerdicts lists all verdicts in display order.
var CacheVerdicts = []CacheVerdict{
	CacheHit, CacheStale, CacheRevalidated, CacheExpired, CacheMiss, CacheBypass, CacheDynamic,
}

// Cold reports whether the origin served a cacheable page: a request like this may have warmed the
// cache.
func (c CacheVerdict) Cold() bool { return c == CacheMiss || c == CacheExpired }

// Check reports an unknown verdict.
func (c Cache) Check() error {
	if c.Verdict != "" && !slices.Contains(CacheVerdicts, c.Verdict) {
		return fmt.Errorf("unknown cache verdict %q", c.Verdict)
	}
	return nil
}
