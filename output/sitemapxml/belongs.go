package sitemapxml

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"headway/visit"
)

// maxURL is the protocol's limit for the length of a URL.
const maxURL = 2047

// documents are the media types of documents.
var documents = []string{"text/html", "application/xhtml+xml", "application/pdf"}

// Belongs reports whether a URL belongs in a sitemap: it responded 200 with a document, now
// or, if unchanged since, in an earlier crawl; it is its own canonical URL; and it is not
// noindex. The visit of an unchanged page has the facts of the earlier crawl; if there are
// none, the page is left out.
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

// lastMod is when the page last changed according to the server; a time after its own
// response is ignored.
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
