package visit

import (
	"slices"
	"time"

	"headway/job"
	"headway/weburl"
)

// Item is a URL that waits: what is needed to decide when to fetch it, and what must be kept until then.
type Item struct {
	Job      job.ID     `json:"job"`
	URL      weburl.URL `json:"url"`
	Via      weburl.URL `json:"via,omitzero"`   // the page, sitemap or redirect with the link; zero for a seed
	Found    FoundBy    `json:"found"`          // how it was found there
	Depth    int        `json:"depth"`          // links from a seed; a redirect adds none
	Hops     int        `json:"hops"`           // redirects in a row that led here, at most MaxHops
	Chain    []uint64   `json:"chain,omitzero"` // fingerprints of those redirects, to detect a loop
	Priority int        `json:"priority"`       // higher first; a sitemap's 0.0–1.0 becomes 0–10
	Attempt  int        `json:"attempt"`        // attempts made before this one

	NotBefore  time.Time  `json:"not_before,omitzero"` // earliest time of a retry
	Validators Validators `json:"validators,omitzero"` // for a conditional request
}

// MaxHops is the maximum number of redirects in a row; the next one ends the URL as failed:
// redirect_loop.
const MaxHops = 10

// FoundBy says how a URL was found.
type FoundBy string

// How a URL can be found.
const (
	FoundSeed     FoundBy = "seed"
	FoundLink     FoundBy = "link"
	FoundSitemap  FoundBy = "sitemap"
	FoundRedirect FoundBy = "redirect"
)

// Validators let a server respond 304 instead of sending a page we already have.
type Validators struct {
	ETag         string `json:"etag,omitempty"`
	LastModified string `json:"last_modified,omitempty"` // as the server wrote it
}

// Follow returns the item for the target of a redirect: the same depth, one hop more. The chain is the
// fingerprints of all URLs redirected from so far; ok is false if target closes a loop or is one hop too
// many.
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
