package lab

import (
	"fmt"
	"strconv"
	"strings"
)

// Sitemap layout: /sitemap.xml is an index, /sitemap-N.xml are the even parts and
// /sitemap-N.xml.gz the odd ones.
const (
	sitemapPart    = 1000      // URLs in a part
	sitemapMillion = 1_000_000 // parts of the kind "million", each with one URL
)

const (
	sitemapHead = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	sitemapNS   = " xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n"
)

// SitemapKinds lists the values of [Site.Sitemap].
func SitemapKinds() []Choice {
	return []Choice{
		{"none", "no sitemap, and robots.txt lists none"},
		{"parts", "an index of plain and gzipped sitemaps with a thousand URLs each"},
		{"million", "an index of a million sitemaps with one URL each, streamed"},
		{"laughs", "entities that expand to a billion words"},
	}
}

// sitemapExhibits are sitemaps that no robots.txt lists.
var sitemapExhibits = []Exhibit{
	{Path: "/exhibit/sitemap/laughs.xml", About: "a sitemap of entities that expand to a billion words", serve: func(x *exchange) {
		x.page200("application/xml", billionLaughs(x.host.base+"/"))
	}},
	{Path: "/exhibit/sitemap/million.xml", About: "a sitemap index of a million entries", serve: func(x *exchange) { x.streamIndex(sitemapMillion) }},
	{Path: "/exhibit/sitemap/self.xml", About: "a sitemap index that lists itself", serve: func(x *exchange) {
		x.page200("application/xml", sitemapHead+"<sitemapindex"+sitemapNS+"<sitemap><loc>"+x.host.base+"/exhibit/sitemap/self.xml</loc></sitemap>\n</sitemapindex>\n")
	}},
	{Path: "/exhibit/sitemap/foreign.xml", About: "a sitemap that lists pages of another site and of a private address", serve: func(x *exchange) {
		x.page200("application/xml", sitemapHead+"<urlset"+sitemapNS+"<url><loc>https://www.example.com/</loc></url>\n<url><loc>http://10.0.0.1/</loc></url>\n</urlset>\n")
	}},
	{Path: "/exhibit/sitemap/broken.xml", About: "a sitemap cut off in the middle of a tag", serve: func(x *exchange) {
		x.page200("application/xml", sitemapHead+"<urlset"+sitemapNS+"<url><loc>"+x.host.base+"/</loc></url>\n<url><lo")
	}},
}

// sitemapParts is the number of parts in the index of a site.
func (s *Site) sitemapParts() int {
	if s.Sitemap == "million" {
		return sitemapMillion
	}
	return (s.Pages + s.Orphans + sitemapPart - 1) / sitemapPart
}

func sitemapName(part int) string {
	if part%2 == 1 {
		return fmt.Sprintf("/sitemap-%d.xml.gz", part)
	}
	return fmt.Sprintf("/sitemap-%d.xml", part)
}

// sitemapNumber parses the path of a part.
func (s *Site) sitemapNumber(path string) (int, bool) {
	digits, _, _ := strings.Cut(strings.TrimPrefix(path, "/sitemap-"), ".")
	n, err := strconv.Atoi(digits)
	return n, err == nil && n >= 0 && n < s.sitemapParts() && sitemapName(n) == path
}

// sitemap serves the index and its parts.
func (x *exchange) sitemap() {
	site := x.host.site
	part, isPart := site.sitemapNumber(x.path)
	switch {
	case site.Sitemap == "none", !isPart && x.path != "/sitemap.xml":
		x.notFound()
	case isPart && part%2 == 1:
		x.body.reset(true) // the file itself is gzip, not the transfer
		x.lab.web.renderSitemap(&x.body, x.host, part)
		x.Header().Set("Content-Type", "application/gzip")
		x.put(x.body.finish())
	case isPart:
		x.lab.web.renderSitemap(&x.body, x.host, part)
		x.send("application/xml")
	case site.Sitemap == "million":
		x.streamIndex(sitemapMillion)
	case site.Sitemap == "laughs":
		x.body.text(billionLaughs(x.host.base + "/"))
		x.send("application/xml")
	default:
		x.lab.web.renderSitemapIndex(&x.body, x.host)
		x.send("application/xml")
	}
}

func (w *web) renderSitemapIndex(b *body, h *vhost) {
	b.text(sitemapHead, "<sitemapindex", sitemapNS)
	for p := range h.site.sitemapParts() {
		b.text("<sitemap><loc>", h.base, sitemapName(p), "</loc></sitemap>\n")
	}
	b.text("</sitemapindex>\n")
}

func (w *web) renderSitemap(b *body, h *vhost, part int) {
	b.text(sitemapHead, "<urlset", sitemapNS)
	first, end := part*sitemapPart, min((part+1)*sitemapPart, h.site.Pages+h.site.Orphans)
	if h.site.Sitemap == "million" {
		first = part % h.site.Pages
		end = first + 1
	}
	for n := first; n < end; n++ {
		path := orphanPath(n - h.site.Pages)
		if n < h.site.Pages {
			path = w.paths[n]
		}
		b.text("<url><loc>", h.base, path, "</loc><lastmod>2026-01-02</lastmod></url>\n")
	}
	b.text("</urlset>\n")
}

// streamChunk is how much of an endless response is generated at a time.
const streamChunk = 64 << 10

// streamIndex writes an index of n parts in chunks.
func (x *exchange) streamIndex(n int) {
	x.Header().Set("Content-Type", "application/xml")
	buf := make([]byte, 0, streamChunk+1024)
	buf = append(buf, sitemapHead+"<sitemapindex"+sitemapNS...)
	for p := range n {
		buf = append(buf, "<sitemap><loc>"...)
		buf = append(buf, x.host.base...)
		buf = append(buf, "/sitemap-"...)
		buf = strconv.AppendInt(buf, int64(p), 10)
		buf = append(buf, ".xml"...)
		if p%2 == 1 {
			buf = append(buf, ".gz"...)
		}
		buf = append(buf, "</loc></sitemap>\n"...)
		if len(buf) >= streamChunk {
			if _, err := x.Write(buf); err != nil {
				return // the client disconnected
			}
			buf = buf[:0]
		}
	}
	x.put(append(buf, "</sitemapindex>\n"...))
}

// billionLaughs is a sitemap whose one URL expands through nine levels of
// entities to a billion words.
func billionLaughs(loc string) string {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?>\n<!DOCTYPE urlset [\n<!ENTITY l0 \"lol\">\n")
	for level := 1; level <= 9; level++ {
		fmt.Fprintf(&b, "<!ENTITY l%d \"%s\">\n", level, strings.Repeat(fmt.Sprintf("&l%d;", level-1), 10))
	}
	b.WriteString("]>\n<urlset" + sitemapNS + "<url><loc>" + loc + "?q=&l9;</loc></url>\n</urlset>\n")
	return b.String()
}
