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

// MaxSitemaps bounds the sitemaps of one host, and MaxNested how many indexes may lead
// to one.
const (
	MaxSitemaps = 500
	MaxNested   = 3
)

// SitemapsOf lists the sitemaps a robots.txt names, as many as are read.
func SitemapsOf(file *robots.File) (names []string) {
	for name := range file.Sitemaps() {
		if names = append(names, name); len(names) == MaxSitemaps {
			break
		}
	}
	return names
}

// Sitemap is what came of asking for a sitemap.
type Sitemap struct {
	Answer
	To    weburl.URL // where it has moved to
	Moved bool
	named weburl.URL // the host that it was asked for
}

// Sitemap asks for a sitemap.
func (a *Asker) Sitemap(ctx context.Context, h Host, at weburl.URL) *Sitemap {
	res, err := a.Fetcher.Do(ctx, fetch.Request{URL: at, Owned: h.Owned, Secrets: h.Secrets, MaxBody: parse.MaxSitemapBytes, CutBody: true})
	s := &Sitemap{Answer: Answer{Result: res, Err: err}, named: h.Home}
	if s.Own = a.own(ctx, err); s.Own != nil {
		return s
	}
	s.At = a.now()
	if outcome, _ := visit.OfStatus(res.Status); err == nil && outcome == visit.Redirected && res.Location() != "" {
		to, err := res.URL.Resolve(res.Location())
		s.To, s.Moved = to, err == nil
	}
	return s
}

// Read gives each page that the sitemap lists, as long as it is wanted, and returns the
// sitemaps that an index leads to. What it gives belongs to it: who keeps a URL clones it.
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
