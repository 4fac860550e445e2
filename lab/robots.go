package lab

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"headway/lab/temper"
)

// robotsMeans is the meaning of a robots.txt response under RFC 9309, which defines the
// violations on its host.
type robotsMeans uint8

const (
	meansRules       robotsMeans = iota // the rules apply
	meansOpen                           // everything may be fetched
	meansDeny                           // nothing may be fetched
	meansUnreachable                    // nothing may be fetched until it responds
)

// robotsKind is one kind of robots.txt response.
type robotsKind struct {
	Choice
	means robotsMeans
	serve func(x *exchange)
}

var robotsKinds = []robotsKind{
	{Choice{"rules", "/private/ except /private/open/, and *.cgi, are disallowed"}, meansRules, (*exchange).robotsText},
	{Choice{"open", "an empty Disallow"}, meansOpen, (*exchange).robotsText},
	{Choice{"deny", "everything is disallowed"}, meansDeny, (*exchange).robotsText},
	{Choice{"missing", "404"}, meansOpen, (*exchange).notFound},
	{Choice{"forbidden", "403: counts as missing"}, meansOpen, func(x *exchange) { x.WriteHeader(http.StatusForbidden) }},
	{Choice{"html", "200 with an HTML page instead of rules"}, meansOpen, func(x *exchange) { x.small("not a robots.txt") }},
	{Choice{"429", "429 with Retry-After: nothing may be fetched"}, meansUnreachable, func(x *exchange) {
		x.refuse(http.StatusTooManyRequests, temper.Seconds, 2*time.Second)
	}},
	{Choice{"500", "500: nothing may be fetched"}, meansUnreachable, func(x *exchange) {
		x.WriteHeader(http.StatusInternalServerError)
	}},
	{Choice{"503", "503 with Retry-After: nothing may be fetched"}, meansUnreachable, (*exchange).fail503},
	{Choice{"redirect-5", "rules after five redirects"}, meansRules, robotsHop(5)},
	{Choice{"redirect-6", "rules after six redirects: one too many, counts as missing"}, meansOpen, robotsHop(6)},
	{Choice{"redirect-loop", "redirects to itself: counts as missing"}, meansOpen, func(x *exchange) {
		http.Redirect(x, x.req, "/robots.txt", http.StatusFound)
	}},
	{Choice{"redirect-private", "redirects to 10.0.0.1: nothing may be fetched"}, meansUnreachable, func(x *exchange) {
		http.Redirect(x, x.req, "http://10.0.0.1/robots.txt", http.StatusFound)
	}},
	{Choice{"redirect-host", "redirects to rules on another host; they apply to this one"}, meansRules, func(x *exchange) {
		next := &x.lab.web.hosts[(x.host.index+1)%len(x.lab.web.hosts)]
		http.Redirect(x, x.req, next.base+"/robots-hop/0", http.StatusFound)
	}},
	{Choice{"big-head", "600 KiB, with the rules at the start"}, meansRules, func(x *exchange) { x.robotsBig(robotsRules, "") }},
	{Choice{"big-tail", "600 KiB, with the only rule after byte 512,000"}, meansOpen, func(x *exchange) {
		x.robotsBig("", "User-agent: *\nDisallow: /\n")
	}},
	{Choice{"bomb", "rules, then a gigabyte of spaces, gzipped to one megabyte"}, meansRules, func(x *exchange) {
		x.encoded("text/plain; charset=utf-8", "gzip", robotsBomb())
	}},
	{Choice{"drip", "one byte per second for ten minutes: nothing may be fetched"}, meansUnreachable, func(x *exchange) { x.drip("text/plain") }},
	{Choice{"truncated", "ends before its Content-Length: nothing may be fetched"}, meansUnreachable, func(x *exchange) {
		x.raw(http.StatusOK, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5000\r\n\r\n"+robotsRules)
	}},
	{Choice{"reset", "resets the connection: nothing may be fetched"}, meansUnreachable, (*exchange).reset},
}

// robotsRules are the rules of robots.txt.
const robotsRules = "User-agent: *\nDisallow: /private/\nAllow: /private/open/\nDisallow: /*.cgi$\n"

// RobotsKinds lists the values of [Site.Robots].
func RobotsKinds() []Choice {
	list := make([]Choice, len(robotsKinds))
	for i := range robotsKinds {
		list[i] = robotsKinds[i].Choice
	}
	return list
}

// findRobots returns a kind by name, or nil.
func findRobots(name string) *robotsKind {
	for i := range robotsKinds {
		if robotsKinds[i].Name == name {
			return &robotsKinds[i]
		}
	}
	return nil
}

// disallows reports whether the host's robots.txt, under RFC 9309, disallows a path.
func (k *robotsKind) disallows(path string) bool {
	switch k.means {
	case meansDeny:
		return path != "/robots.txt"
	case meansRules:
		return strings.HasPrefix(path, "/private/") && !strings.HasPrefix(path, "/private/open/") ||
			strings.HasSuffix(path, ".cgi")
	default:
		return false
	}
}

// robots serves robots.txt and the redirects that some kinds put before it.
func (x *exchange) robots() {
	hop, isHop := strings.CutPrefix(x.path, "/robots-hop/")
	if !isHop {
		x.host.robots.serve(x)
		return
	}
	n, err := strconv.Atoi(hop)
	switch {
	case err != nil || n < 0:
		x.notFound()
	case n == 0:
		x.robotsText()
	default:
		robotsHop(n)(x)
	}
}

// robotsHop redirects to rules that are n hops away.
func robotsHop(n int) func(*exchange) {
	return func(x *exchange) {
		http.Redirect(x, x.req, "/robots-hop/"+strconv.Itoa(n-1), http.StatusFound)
	}
}

// robotsText writes the rules of a host.
func (x *exchange) robotsText() {
	h, b := x.host, &x.body
	b.text("# robots of host ")
	b.num(h.index)
	b.text("\n")
	switch h.robots.Name {
	case "deny":
		b.text("User-agent: *\nDisallow: /\n")
	case "open":
		b.text("User-agent: *\nDisallow:\n")
	default:
		b.text(robotsRules)
	}
	if h.site.CrawlDelay > 0 {
		b.text("Crawl-delay: ", strconv.FormatFloat(h.site.CrawlDelay.Seconds(), 'g', -1, 64), "\n")
	}
	if h.site.Sitemap != "none" {
		b.text("Sitemap: ", h.base, "/sitemap.xml\n")
	}
	x.send("text/plain; charset=utf-8")
}

const robotsBigBytes = 600 << 10

// robotsBig writes a robots.txt padded with comments in the middle.
func (x *exchange) robotsBig(head, tail string) {
	x.body.text(head)
	for x.body.plainLen() < robotsBigBytes-len(tail) {
		x.body.text("# ", words[x.body.plainLen()%len(words)], " is not a rule\n")
	}
	x.body.text(tail)
	x.send("text/plain; charset=utf-8")
}
