package visit

import (
	"fmt"
	"slices"
	"time"
)

// Cache is what the caches between us and the origin said about an answer.
type Cache struct {
	Verdict CacheVerdict  `json:"verdict,omitempty"` // empty where none spoke
	By      string        `json:"by,omitempty"`      // the header that says so
	Age     time.Duration `json:"age,omitempty"`     // how long the copy had been kept
	Barred  string        `json:"barred,omitempty"`  // the header that keeps shared caches from serving it again
}

// CacheVerdict says what a cache did for a request. The set is closed, as that
// of outcomes is.
type CacheVerdict string

// What caches do. The empty verdict means that none said anything.
const (
	CacheHit         CacheVerdict = "hit"         // served from a copy
	CacheStale       CacheVerdict = "stale"       // served from a copy that was too old; a newer one may be on its way
	CacheRevalidated CacheVerdict = "revalidated" // the origin said that the copy is still good
	CacheExpired     CacheVerdict = "expired"     // the copy was too old: the origin made the page
	CacheMiss        CacheVerdict = "miss"        // there was no copy: the origin made the page
	CacheBypass      CacheVerdict = "bypass"      // passed on: this answer is not kept
	CacheDynamic     CacheVerdict = "dynamic"     // passed on: answers of this kind are never kept
)

// CacheVerdicts lists the closed set in the order of tables.
var CacheVerdicts = []CacheVerdict{
	CacheHit, CacheStale, CacheRevalidated, CacheExpired, CacheMiss, CacheBypass, CacheDynamic,
}

// Cold tells whether the origin had to make the page though a cache would keep
// it: what asking once may change.
func (c CacheVerdict) Cold() bool { return c == CacheMiss || c == CacheExpired }

// Check reports a verdict outside the closed set.
func (c Cache) Check() error {
	if c.Verdict != "" && !slices.Contains(CacheVerdicts, c.Verdict) {
		return fmt.Errorf("unknown cache verdict %q", c.Verdict)
	}
	return nil
}
