package lab

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"headway/lab/temper"
)

// Exhibit is a path that misbehaves in one way, on any host.
type Exhibit struct {
	Path   string
	About  string
	Hidden bool // not linked

	serve func(x *exchange)
}

// hidden returns the exhibit as one that no page links to.
func (e Exhibit) hidden() Exhibit {
	e.Hidden = true
	return e
}

// Exhibits lists the exhibits in the order of their links on a front page.
func Exhibits() []Exhibit { return append([]Exhibit(nil), exhibits...) }

// exhibits are all exhibits: those below /fault/ first.
var exhibits = concat(faults, bombExhibits, headerExhibits, retryExhibits, redirectExhibits, tagExhibits, titleExhibits, wafExhibits, sitemapExhibits, spaceExhibits, catalogueExhibits, hiddenTextExhibits, killExhibits)

func concat(lists ...[]Exhibit) (all []Exhibit) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// faults are the exhibits that [Site.Faults] links to. Their order determines the bytes
// of front pages.
var faults = []Exhibit{
	{Path: "/fault/503", About: "503 with Retry-After: 1", serve: (*exchange).fail503},
	{Path: "/fault/429", About: "429 with Retry-After as a date two seconds ahead", serve: func(x *exchange) {
		x.refuse(http.StatusTooManyRequests, temper.IMFDate, 2*time.Second)
	}},
	{Path: "/fault/404", About: "404 without a body", serve: (*exchange).notFound},
	{Path: "/fault/500", About: "500 without a body", serve: func(x *exchange) { x.WriteHeader(http.StatusInternalServerError) }},
	{Path: "/fault/redirect/1", About: "a redirect to a redirect to the front page; the number is the length of the chain", serve: (*exchange).countdown},
	{Path: "/fault/redirect/25", About: "a chain of 26 redirects", serve: (*exchange).countdown},
	{Path: "/fault/loop/a", About: "a 302 to /fault/loop/b, which answers 301 back", serve: func(x *exchange) {
		http.Redirect(x, x.req, "/fault/loop/b", http.StatusFound)
	}},
	{Path: "/fault/drip", About: "one byte per second for ten minutes", serve: func(x *exchange) { x.drip(htmlType) }},
	{Path: "/fault/huge", About: "256 MiB of zero bytes", serve: (*exchange).huge},
	{Path: "/fault/bomb", About: "one megabyte of gzip that decompresses to one gigabyte", serve: func(x *exchange) {
		x.encoded(htmlType, "gzip", pageBomb())
	}},
	{Path: "/fault/mime", About: "an image labelled as HTML", serve: func(x *exchange) {
		x.page200(htmlType, "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x01<a href=\"/private/from-png\">")
	}},
	{Path: "/fault/charset", About: "Latin-1 and invalid UTF-8 with a wrong charset label", serve: func(x *exchange) {
		x.page200("text/html; charset=x-no-such", "<meta charset=shift_jis><p>caf\xe9 \xff\xfe \xe3\x81<a href=\"/private/open/\xe9.html\">\xe9</a>")
	}},
	{Path: "/fault/badchunk", About: "a chunk with an invalid size", serve: func(x *exchange) {
		x.raw(http.StatusOK, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n<p>")
	}},
	{Path: "/fault/truncated", About: "announces 5,000 bytes and sends 8", serve: func(x *exchange) {
		x.raw(http.StatusOK, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n<p>short")
	}},
	{Path: "/fault/badgzip", About: "a gzip header followed by invalid data", serve: func(x *exchange) {
		x.encoded(htmlType, "gzip", []byte("\x1f\x8b\x08\x00 this is not deflate"))
	}},
	{Path: "/fault/hang", About: "no response for ten minutes", serve: func(x *exchange) {
		if !x.pause(hangFor) {
			x.WriteHeader(http.StatusOK)
		}
	}},
	{Path: "/fault/reset", About: "resets the connection", serve: (*exchange).reset},
	{Path: "/fault/manyheaders", About: "200 headers of 1,000 bytes", serve: func(x *exchange) {
		for i := range 200 {
			x.Header().Set("X-Filler-"+strconv.Itoa(i), strings.Repeat("v", 1000))
		}
		x.WriteHeader(http.StatusOK)
	}},
	{Path: "/fault/badlocation", About: "a redirect to an invalid URL", serve: func(x *exchange) {
		x.redirect(http.StatusFound, "http://[::bad")
	}},
	{Path: "/fault/empty", About: "200 without a body", serve: func(x *exchange) { x.page200(htmlType, "") }},
	{Path: "/fault/nul", About: "NUL bytes inside tags", serve: func(x *exchange) {
		x.page200(htmlType, "<p>\x00<a\x00 href=\"/private/open/nul\">x</a><a href='/private/open/nul2'>y</a>")
	}},
	{Path: "/fault/deep", About: "200,000 nested elements", serve: func(x *exchange) { x.page200(htmlType, strings.Repeat("<div>", 200_000)) }},
}

// KillPath is the path of the exhibit that kills the process which requests it.
const KillPath = "/exhibit/kill"

var killExhibits = []Exhibit{
	Exhibit{Path: KillPath, About: "kills the process that requests it and never responds, in tests that set `Config.Kill`; otherwise an ordinary page; not linked", serve: (*exchange).kill}.hidden(),
}

// addExhibits adds links to the exhibits of the site to a front page.
func addExhibits(a *anchors, s *Site) {
	switch {
	case s.Exhibits:
		for i := range exhibits {
			if !exhibits[i].Hidden {
				a.add(strings.TrimPrefix(exhibits[i].Path, "/"), "", exhibits[i].Path)
			}
		}
	case s.HiddenText:
		a.add("hidden text", "", hiddenTextPrefix)
	case s.Faults:
		for i := range faults {
			a.add(strings.TrimPrefix(faults[i].Path, "/fault/"), "", faults[i].Path)
		}
	}
}

// exhibit serves the exhibit at the path.
func (x *exchange) exhibit() {
	for i := range exhibits {
		if exhibits[i].Path == x.path {
			exhibits[i].serve(x)
			return
		}
	}
	switch {
	case strings.HasPrefix(x.path, "/fault/redirect/"):
		x.countdown()
	case x.path == "/fault/loop/b":
		http.Redirect(x, x.req, "/fault/loop/a", http.StatusMovedPermanently)
	case strings.HasPrefix(x.path, samePrefix):
		x.same()
	case strings.HasPrefix(x.path, cataloguePrefix):
		x.catalogue()
	case strings.HasPrefix(x.path, hiddenTextPrefix):
		x.hiddenText()
	case strings.HasPrefix(x.path, reachedPrefix):
		x.small(x.path)
	default:
		x.notFound()
	}
}

const (
	hugeBytes = 256 << 20
	hangFor   = 10 * time.Minute
	dripEvery = time.Second
)

var zeros = make([]byte, 1<<16)

// page200 sends a body unchanged.
func (x *exchange) page200(contentType, body string) {
	x.Header().Set("Content-Type", contentType)
	x.put([]byte(body))
}

// encoded sends bytes labelled with a content encoding.
func (x *exchange) encoded(contentType, encoding string, bytes []byte) {
	x.Header().Set("Content-Type", contentType)
	x.Header().Set("Content-Encoding", encoding)
	x.put(bytes)
}

// redirect sends a Location unchanged, valid or not.
func (x *exchange) redirect(status int, location string) {
	x.Header()["Location"] = []string{location}
	x.WriteHeader(status)
}

// countdown is a redirect chain that ends at the front page.
func (x *exchange) countdown() {
	next := "/"
	if n, err := strconv.Atoi(strings.TrimPrefix(x.path, "/fault/redirect/")); err == nil && n > 0 {
		next = "/fault/redirect/" + strconv.Itoa(n-1)
	}
	http.Redirect(x, x.req, next, http.StatusFound)
}

// drip sends a byte per second until the client disconnects or the lab stops.
func (x *exchange) drip(contentType string) {
	x.Header().Set("Content-Type", contentType)
	for range int(hangFor / dripEvery) {
		if _, err := x.Write([]byte("x")); err != nil {
			return
		}
		if http.NewResponseController(x).Flush() != nil || x.pause(dripEvery) {
			return
		}
	}
}

// kill lets the program that runs the lab kill the client.
func (x *exchange) kill() {
	if x.lab.cfg.Kill == nil {
		x.small(x.path)
		return
	}
	x.lab.cfg.Kill(x.req)
	<-x.req.Context().Done() // its connections end with it
}

func (x *exchange) huge() {
	x.Header().Set("Content-Type", htmlType)
	for sent := 0; sent < hugeBytes; sent += len(zeros) {
		if _, err := x.Write(zeros); err != nil {
			return
		}
	}
}
