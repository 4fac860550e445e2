package visit

import (
	"slices"
	"time"

	"headway/job"
	"headway/weburl"
)

// Item is a URL that waits: what is needed to decide when to fetch it, and
// what must survive until then.
type Item struct {
	Job      job.ID     `json:"job"`
	URL      weburl.URL `json:"url"`
	Via      weburl.URL `json:"via,omitzero"`   // the page, sitemap or redirect that named it; zero for a seed
	Found    FoundBy    `json:"found"`          // how it was named there
	Depth    int        `json:"depth"`          // links from a seed; a redirect adds none
	Hops     int        `json:"hops"`           // redirects in a row that led here, at most MaxHops
	Chain    []uint64   `json:"chain,omitzero"` // fingerprints of those redirects, to see a loop
	Priority int        `json:"priority"`       // higher first; a sitemap's 0.0–1.0 becomes 0–10
	Attempt  int        `json:"attempt"`        // attempts made before this one

	NotBefore  time.Time  `json:"not_before,omitzero"` // a retry waits until then at least
	Validators Validators `json:"validators,omitzero"` // what we know of the page from last time
}

// MaxHops is how many redirects in a row lead somewhere; the next one ends the
// URL as failed: redirect_loop.
const MaxHops = 10

// FoundBy says where a URL was named.
type FoundBy string

// How a URL can be found.
const (
	FoundSeed     FoundBy = "seed"
	FoundLink     FoundBy = "link"
	FoundSitemap  FoundBy = "sitemap"
	FoundRedirect FoundBy = "redirect"
)

// Validators let a server answer 304 instead of a page we already have.
type Validators struct {
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"` // as the server wrote it
}

// Follow returns the item for a redirect target found at it: the same depth,
// one hop more. The chain is the fingerprints of all URLs redirected from so
// far; ok is false when target closes a loop or is one hop too many.
func (it Item) Follow(target weburl.URL, key weburl.Key) (next Item, ok bool) {
	chain := slices.Concat(it.Chain, []uint64{it.URL.Fingerprint(key)})
	if it.Hops >= MaxHops || slices.Contains(chain, target.Fingerprint(key)) {
		return Item{}, false
	}
	return Item{
		Job: it.Job, URL: target, Via: it.URL, Found: FoundRedirect, Depth: it.Depth, Hops: it.Hops + 1,
		Chain: chain, Priority: it.Priority,
	}, true
}
