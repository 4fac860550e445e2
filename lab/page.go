package lab

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// web defines the content of every URL of the lab. It has no state: the same Config gives
// the same pages.
//
// Paths of a host:
//
//	/                    page 0
//	/sD/pN.html          page N, D = N mod sections
//	/orphan/oN.html      pages only the sitemap names
//	/private/PAGE        forbidden by robots.txt (but /private/open/ is allowed)
//	/nf/PAGE             linked only with rel=nofollow
//	/go/PAGE             redirects to PAGE
//	/gone/ …             410 or, where the path is of odd length, 404: pages that are no more
//	/calendar/ …         endless spaces, see trap.go
//	/fault/ /exhibit/    see exhibit.go
type web struct {
	seed   uint64
	filler func() *filler // created with the first page
	hosts  []vhost
	paths  []string // path per page, the same on every host
}

const (
	sections = 17
	fanout   = 8 // page N links to pages N*fanout+1 .. N*fanout+fanout
)

// pathKind is the part of a site a path belongs to.
type pathKind uint8

const (
	kindOther pathKind = iota
	kindPage
	kindOrphan
	kindPrivate
	kindOpen // below /private/open/: the Allow rule applies
	kindNofollow
	kindRedirect
	kindTrap
	kindRobots
	kindSitemap
	kindExhibit
)

func pagePath(n int) string {
	if n == 0 {
		return "/"
	}
	return fmt.Sprintf("/s%d/p%d.html", n%sections, n)
}

func orphanPath(n int) string { return "/orphan/o" + strconv.Itoa(n) + ".html" }

// classify splits a path into its kind and, for pages, its number.
func (w *web) classify(h *vhost, path string) (pathKind, int) {
	if n, ok := w.pageNumber(h, path); ok {
		return kindPage, n
	}
	first, _, _ := strings.Cut(path[min(1, len(path)):], "/")
	switch first {
	case "orphan":
		rest := strings.TrimPrefix(path, "/orphan/o")
		if n, err := strconv.Atoi(strings.TrimSuffix(rest, ".html")); err == nil && n >= 0 && n < h.site.Orphans && orphanPath(n) == path {
			return kindOrphan, n
		}
	case "private":
		if strings.HasPrefix(path, "/private/open/") {
			return kindOpen, 0
		}
		if path != "/private" {
			return kindPrivate, 0
		}
	case "nf":
		if path != "/nf" {
			return kindNofollow, 0
		}
	case "go":
		if n, ok := w.pageNumber(h, path[len("/go"):]); ok {
			return kindRedirect, n
		}
	case "fault", "exhibit":
		return kindExhibit, 0
	case "robots-hop":
		return kindRobots, 0
	}
	if path == "/robots.txt" {
		return kindRobots, 0
	}
	if strings.HasPrefix(path, "/sitemap") {
		return kindSitemap, 0
	}
	if trapOf(path) != nil {
		return kindTrap, 0
	}
	return kindOther, 0
}

// pageNumber parses the path of a linked page.
func (w *web) pageNumber(h *vhost, path string) (int, bool) {
	if path == "/" {
		return 0, true
	}
	i := strings.LastIndex(path, "/p")
	if i < 0 || !strings.HasSuffix(path, ".html") || i+2 > len(path)-len(".html") {
		return 0, false
	}
	n, err := strconv.Atoi(path[i+2 : len(path)-len(".html")])
	return n, err == nil && n > 0 && n < h.site.Pages && w.paths[n] == path
}

// version counts how often a page changed up to epoch.
func (w *web) version(h *vhost, page, epoch int) int {
	v := 0
	for e := 1; e <= epoch; e++ {
		if newRNG(w.seed, 0xc4a96e, uint64(h.index), uint64(page), uint64(e)).float() < h.site.ChangeRate {
			v++
		}
	}
	return v
}

// pageBytes draws the size of a page.
func (s *Site) pageBytes(r *rng) int {
	lo, hi := float64(s.MinKB), float64(s.MaxKB)
	return int(1024 * lo * math.Exp(r.float()*math.Log(hi/lo)))
}

// renderPage writes page n of a host.
func (w *web) renderPage(b *body, h *vhost, n, version int) {
	r := newRNG(w.seed, uint64(h.index), uint64(n))
	size := h.site.pageBytes(r)
	leaf := n*fanout+1 >= h.site.Pages
	b.text("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Page ")
	b.num(n)
	b.text(" of host ")
	b.num(h.index)
	b.text("</title>\n<link rel=\"canonical\" href=\"", h.base, w.paths[n], "\">\n<meta name=\"description\" content=\"", words[n%len(words)], " ")
	b.num(version)
	b.text("\">\n")
	switch {
	case n%10 == 7: // relative links with another base
		b.text("<base href=\"/archive/\">\n")
	case leaf && n%16 == 5:
		b.text("<meta name=\"robots\" content=\"noindex, nofollow\">\n")
	case n%16 == 9:
		b.text("<meta name=\"robots\" content=\"noindex\">\n")
	}
	b.text("</head><body>\n")

	w.writeLinks(&b.anchors, r, h, n)
	links, done := len(b.anchors.ends), 0
	want := max(1, size-b.plainLen()-len(b.anchors.buf)) // bytes of filler
	filler := w.filler()
	for left, class := want, 0; class < len(fillerSizes); {
		if left < fillerSizes[class] {
			class++
			continue
		}
		f := &filler[class][r.intn(fillerPerSize)]
		b.filler(f)
		left -= len(f.plain)
		next := links * (want - max(left, 0)) / want // keep links spread evenly
		b.bytes(b.anchors.slice(done, next))
		done = next
	}
	b.bytes(b.anchors.slice(done, links))
	b.text("</body></html>\n")
}

// renderSmall writes a short side page with the given links.
func (w *web) renderSmall(b *body, title string, hrefs ...string) {
	b.text("<!DOCTYPE html>\n<html><head><title>", title, "</title></head><body>\n")
	b.filler(w.filler().small())
	for _, h := range hrefs {
		b.text("<a href=\"", h, "\">", h, "</a>\n")
	}
	b.text("</body></html>\n")
}
