package exchange

import (
	"bytes"
	"context"

	"headway/fetch"
	"headway/parse"
	"headway/robots"
	"headway/visit"
	"headway/weburl"
)

// MaxSitemaps bounds the sitemaps of one host, and MaxNested how many indexes may lead to
// one.
const (
	MaxSitemaps = 500
	MaxNested   = 3
)

// SitemapsOf lists the sitemaps named in a robots.txt, up to MaxSitemaps.
func SitemapsOf(file *robots.File) (names []string) {
	for name := range file.Sitemaps() {
		if names = append(names, name); len(names) == MaxSitemaps {
			break
		}
	}
	return names
}

// Sitemap is the result of a sitemap request.
type Sitemap struct {
	Answer
	To    weburl.URL // redirect target
	Moved bool
	named weburl.URL // the host whose robots.txt named it
}

// Sitemap requests a sitemap.
func (a *Requester) Sitemap(ctx context.Context, h Host, at weburl.URL) *Sitemap {
	res, err := a.Fetcher.Do(ctx, fetch.Request{URL: at, Owned: h.Owned, Secrets: h.Secrets, MaxBody: parse.MaxSitemapBytes, CutBody: true})
	s := &Sitemap{Answer: Answer{Result: res, Err: err}, named: h.Home}
	if s.LocalErr = a.localErr(ctx, err); s.LocalErr != nil {
		return s
	}
	s.At = a.now()
	if outcome, _ := visit.OfStatus(res.Status); err == nil && outcome == visit.Redirected && res.Location() != "" {
		to, err := res.URL.Resolve(res.Location())
		s.To, s.Moved = to, err == nil
	}
	return s
}

// Read calls page for each page of the sitemap until it returns false, and returns the
// sitemaps of an index. Entries are reused: clone URLs to keep them.
func (s *Sitemap) Read(at weburl.URL, page func(parse.Entry) (more bool)) (nested []weburl.URL, report parse.SitemapReport, err error) {
	list := parse.NewSitemap(bytes.NewReader(s.Body), at, parse.SitemapOptions{Named: []weburl.URL{s.named}})
	for e := range list.Entries() {
		switch {
		case !e.Sitemap:
			if !page(e) {
				return nested, list.Report(), nil
			}
		case len(nested) < MaxSitemaps:
			nested = append(nested, e.URL.Clone())
		}
	}
	return nested, list.Report(), list.Err()
}
