package sitemapxml

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"headway/visit"
)

// maxURL is how long an address in a sitemap may be, by the protocol.
const maxURL = 2047

// documents are the types of what people read.
var documents = []string{"text/html", "application/xhtml+xml", "application/pdf"}

// Belongs tells whether a URL belongs in a sitemap: it answered 200 with a
// document, now or, unchanged since, in an earlier crawl, names no other address as
// its canonical one, and asks nobody to keep it out of an index. Of what did not
// change the visit tells what the earlier crawl knew; where that is nothing, the
// page is left out.
func Belongs(v *visit.Visit) bool {
	there := v.Outcome == visit.Fetched && v.Answer.Status == http.StatusOK || v.Outcome == visit.NotModified
	if !there || len(v.Item.URL.String()) > maxURL {
		return false
	}
	if kind, _, _ := strings.Cut(v.Answer.ContentType, ";"); !slices.Contains(documents, strings.ToLower(strings.TrimSpace(kind))) {
		return false
	}
	if c := v.Page.Canonical; !c.IsZero() && c != v.Item.URL {
		return false
	}
	return !slices.ContainsFunc(v.Page.Robots, func(d string) bool {
		return strings.EqualFold(d, "noindex") || strings.EqualFold(d, "none")
	})
}

// lastMod is when the page changed last, as far as the server says and can know:
// a time after its own answer is none.
func lastMod(v *visit.Visit) (time.Time, bool) {
	said := v.Answer.Validators.LastModified
	if v.Outcome == visit.NotModified {
		said = cmp.Or(said, v.Item.Validators.LastModified)
	}
	t, err := http.ParseTime(said)
	if err != nil || t.Year() < 1970 || !v.Timing.Sent.IsZero() && t.After(v.Timing.Sent.Add(time.Minute)) {
		return time.Time{}, false
	}
	return t.UTC(), true
}
