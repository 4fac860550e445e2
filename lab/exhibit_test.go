package lab

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
)

// shows is the expected response of an exhibit: a status, parts of the header as "Key:
// value", and a part of the body. check is for further checks.
type shows struct {
	status int
	header []string
	body   string
	check  func(t *testing.T, l *Lab, c *http.Client, u string)
}

func page(pieces ...string) shows { return shows{status: 200, body: strings.Join(pieces, "")} }

func to(status int, location string) shows {
	return shows{status: status, header: []string{"Location: " + location}}
}

func refused(value string) shows {
	return shows{status: 429, header: []string{"Retry-After: " + value}}
}

func tag(kind, name string, follow bool, header ...string) shows {
	target := "/nf/" + kind + "/" + name
	if follow {
		target = reachedPrefix + kind + "/" + name
	}
	return shows{status: 200, header: header, body: `<a href="` + target + `">`}
}

func titleOf(text string) shows { return page("<title>" + text + "</title>") }

// exhibitShows has an entry for each exhibit.
var exhibitShows = map[string]shows{
	"/fault/503":         {status: 503, header: []string{"Retry-After: 1"}},
	"/fault/429":         {check: checkDate(0, http.TimeFormat)},
	"/fault/404":         {status: 404},
	"/fault/500":         {status: 500},
	"/fault/redirect/1":  to(302, "/fault/redirect/0"),
	"/fault/redirect/25": to(302, "/fault/redirect/24"),
	"/fault/loop/a":      to(302, "/fault/loop/b"),
	"/fault/drip":        {check: checkDrip},
	"/fault/huge":        {check: checkLength(hugeBytes)},
	"/fault/bomb":        {check: checkBomb(gunzip, 2<<20)},
	"/fault/mime":        {status: 200, header: []string{"Content-Type: text/html"}, body: "\x89PNG"},
	"/fault/charset":     {status: 200, header: []string{"charset=x-no-such"}, body: "caf\xe9"},
	"/fault/badchunk":    {check: checkBroken},
	"/fault/truncated":   {check: checkBroken},
	"/fault/badgzip":     {check: checkBroken},
	"/fault/hang":        {check: checkHang},
	"/fault/reset":       {check: checkBroken},
	"/fault/manyheaders": {status: 200, header: []string{"X-Filler-199: vvv"}},
	"/fault/badlocation": to(302, "http://[::bad"),
	"/fault/empty":       {status: 200, header: []string{"Content-Length: 0"}},
	"/fault/nul":         page("<a\x00 href"),
	"/fault/deep":        page(strings.Repeat("<div>", 200_000)),

	"/exhibit/bomb/br":          {check: checkBomb(func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil }, 32<<10)},
	"/exhibit/bomb/zstd":        {check: checkBomb(unzstd, 256<<10)},
	"/exhibit/bomb/twice":       {check: checkBomb(gunzipTwice, 8<<10)},
	"/exhibit/codings/1000":     {check: checkNested},
	"/exhibit/codings/unknown":  {status: 200, header: []string{"Content-Encoding: x-lab"}, body: "<p>plain"},
	"/exhibit/codings/lie":      {status: 200, header: []string{"Content-Encoding: gzip"}, body: "<p>plain"},
	"/exhibit/codings/identity": {status: 200, header: []string{"Content-Encoding: identity"}, body: "<p>plain"},

	"/exhibit/header/hints":   {check: checkHints},
	"/exhibit/header/cookies": {check: checkCookies},
	"/exhibit/header/endless": {check: checkEndless},
	"/exhibit/header/lengths": {check: checkBroken},
	"/exhibit/header/refresh": {status: 200, header: []string{"Refresh: 0; url=/"}},
	"/exhibit/header/goaway":  {check: checkGoaway},

	"/exhibit/retry-after/seconds":  refused("2"),
	"/exhibit/retry-after/imf":      {check: checkDate(0, http.TimeFormat)},
	"/exhibit/retry-after/rfc850":   {check: checkDate(0, "Monday, 02-Jan-06 15:04:05 GMT")},
	"/exhibit/retry-after/asctime":  {check: checkDate(0, time.ANSIC)},
	"/exhibit/retry-after/ahead":    {check: checkDate(time.Hour, http.TimeFormat)},
	"/exhibit/retry-after/behind":   {check: checkDate(-time.Hour, http.TimeFormat)},
	"/exhibit/retry-after/zero":     refused("0"),
	"/exhibit/retry-after/past":     refused("Sun, 06 Nov 1994 08:49:37 GMT"),
	"/exhibit/retry-after/fraction": refused("1.5"),
	"/exhibit/retry-after/word":     refused("soon"),
	"/exhibit/retry-after/empty":    refused("\n"),
	"/exhibit/retry-after/overflow": refused("99999999999999999999999"),
	"/exhibit/retry-after/year":     refused("31536000"),

	"/exhibit/redirect/private":   to(302, "http://10.0.0.1/"),
	"/exhibit/redirect/metadata":  to(302, "http://169.254.169.254/latest/meta-data/"),
	"/exhibit/redirect/loopback":  to(301, "http://127.0.0.1:22/"),
	"/exhibit/redirect/mapped":    to(302, "http://[::ffff:10.0.0.1]/"),
	"/exhibit/redirect/number":    to(302, "http://2130706433/"),
	"/exhibit/redirect/localhost": to(307, "http://localhost:22/"),
	"/exhibit/redirect/file":      to(302, "file:///etc/passwd"),
	"/exhibit/redirect/script":    to(302, "javascript:alert(1)"),
	"/exhibit/redirect/self":      to(308, "/exhibit/redirect/self"),
	"/exhibit/redirect/userinfo":  to(303, "http://www.example.com@10.0.0.1/"),
	"/exhibit/redirect/header":    to(302, "/%0d%0aX-Injected:%20yes"),
	"/exhibit/redirect/nowhere":   {status: 302},
	"/exhibit/redirect/meta":      page(`http-equiv=refresh content="0;url=http://10.0.0.1/"`),

	"/exhibit/x-robots/none":           tag("x-robots", "none", false, "X-Robots-Tag: none"),
	"/exhibit/x-robots/nofollow":       tag("x-robots", "nofollow", false, "X-Robots-Tag: nofollow"),
	"/exhibit/x-robots/noindex":        tag("x-robots", "noindex", true, "X-Robots-Tag: noindex"),
	"/exhibit/x-robots/upper":          tag("x-robots", "upper", false, "X-Robots-Tag: NOINDEX, NOFOLLOW"),
	"/exhibit/x-robots/spaces":         tag("x-robots", "spaces", false, "X-Robots-Tag: noindex ,\tnofollow"),
	"/exhibit/x-robots/two-headers":    tag("x-robots", "two-headers", false, "X-Robots-Tag: noindex", "X-Robots-Tag: nofollow"),
	"/exhibit/x-robots/ours":           tag("x-robots", "ours", false, "X-Robots-Tag: headway: nofollow"),
	"/exhibit/x-robots/other-bot":      tag("x-robots", "other-bot", true, "X-Robots-Tag: otherbot: nofollow"),
	"/exhibit/x-robots/other-then-all": tag("x-robots", "other-then-all", false, "X-Robots-Tag: otherbot: noindex", "X-Robots-Tag: nofollow"),
	"/exhibit/x-robots/date":           tag("x-robots", "date", true, "X-Robots-Tag: unavailable_after: 25 Jun 2010"),
	"/exhibit/x-robots/snippet":        tag("x-robots", "snippet", true, "X-Robots-Tag: max-snippet: 0"),
	"/exhibit/x-robots/garbage":        tag("x-robots", "garbage", true, "X-Robots-Tag: :,;=nofollowers"),
	"/exhibit/x-robots/all":            tag("x-robots", "all", true, "X-Robots-Tag: all"),

	"/exhibit/meta/none":       tag("meta", "none", false),
	"/exhibit/meta/nofollow":   tag("meta", "nofollow", false),
	"/exhibit/meta/noindex":    tag("meta", "noindex", true),
	"/exhibit/meta/upper":      tag("meta", "upper", false),
	"/exhibit/meta/reversed":   tag("meta", "reversed", false),
	"/exhibit/meta/twice":      tag("meta", "twice", false),
	"/exhibit/meta/ours":       tag("meta", "ours", false),
	"/exhibit/meta/other-bot":  tag("meta", "other-bot", true),
	"/exhibit/meta/in-comment": tag("meta", "in-comment", true),
	"/exhibit/meta/in-script":  tag("meta", "in-script", true),
	"/exhibit/meta/entity":     tag("meta", "entity", false),

	"/exhibit/title/markup":        titleOf("<b>bold</b><script>alert(1)</script>"),
	"/exhibit/title/entities":      titleOf("&lt;img src=x onerror=alert(1)&gt; &amp;amp; &#x22;"),
	"/exhibit/title/controls":      page("<title>a\x1b[2J"),
	"/exhibit/title/bidi":          page("invoice\u202efdp.exe"),
	"/exhibit/title/formula":       page("<title>=HYPERLINK("),
	"/exhibit/title/formula-plus":  page("<title>+1+cmd|"),
	"/exhibit/title/formula-minus": page("<title>-2+3+cmd|"),
	"/exhibit/title/formula-at":    page("<title>@SUM("),
	"/exhibit/title/formula-tab":   page("<title>\t=1+1"),
	"/exhibit/title/quotes":        page("<title>a\"b\",\"c\r\nd;e"),
	"/exhibit/title/bad-utf8":      page("<title>caf\xe9"),
	"/exhibit/title/long":          {check: checkLength(1048_575 + 76)},
	"/exhibit/title/empty":         titleOf(""),
	"/exhibit/title/none":          page("<!DOCTYPE html><p>untitled"),
	"/exhibit/title/two":           page("<title>first</title><title>second</title>"),
	"/exhibit/title/open":          page("<title>open<p>"),

	"/exhibit/waf/cloudflare-403": {status: 403, header: []string{"Cf-Mitigated: challenge", "Server: cloudflare"}, body: "<title>Just a moment...</title>"},
	"/exhibit/waf/cloudflare-503": {status: 503, body: "Checking your browser"},
	"/exhibit/waf/akamai":         {status: 403, header: []string{"Server: AkamaiGHost"}, body: "<h1>Access Denied</h1>"},
	"/exhibit/waf/imperva-200":    {status: 200, header: []string{"X-Iinfo: "}, body: "_Incapsula_Resource"},
	"/exhibit/waf/datadome":       {status: 403, header: []string{"X-Datadome: protected"}, body: "captcha-delivery.com"},
	"/exhibit/waf/anubis-200":     {status: 200, body: "Making sure you&#39;re not a bot!"},
	"/exhibit/waf/aws-202":        {status: 202, header: []string{"X-Amzn-Waf-Action: challenge"}, body: "challenge.js"},
	"/exhibit/waf/captcha-200":    {status: 200, body: "Verify you are human"},

	"/exhibit/sitemap/laughs.xml":  {status: 200, header: []string{"Content-Type: application/xml"}, body: `<!ENTITY l9 "&l8;&l8;&l8;`},
	"/exhibit/sitemap/million.xml": {check: checkMillion},
	"/exhibit/sitemap/self.xml":    page("/exhibit/sitemap/self.xml</loc>"),
	"/exhibit/sitemap/foreign.xml": page("<loc>http://10.0.0.1/</loc>"),
	"/exhibit/sitemap/broken.xml":  page("</url>\n<url><lo"),

	"/exhibit/same/0": page(`<a href="/exhibit/same/59">`),
	"/exhibit/links":  page(`<a href="/exhibit/reached/nofollow" rel="nofollow">`),

	"/exhibit/catalogue/":   page(`<a href="product/lamp.html">Desk lamp</a>`),
	"/exhibit/hidden-text/": page(`<a href="/exhibit/hidden-text/in-a-list/same-colour/with.html">`),

	KillPath: {check: checkKill},
}

func TestExhibits(t *testing.T) {
	l, c := start(t, Config{Hosts: Uniform(1, small(nil))})
	c.Transport.(*http.Transport).DisableCompression = true
	c.Transport.(*http.Transport).MaxResponseHeaderBytes = 1 << 20
	seen := map[string]bool{}
	for _, e := range Exhibits() {
		want, ok := exhibitShows[e.Path]
		if !ok {
			t.Errorf("%s has no case", e.Path)
			continue
		}
		if seen[e.Path] {
			t.Errorf("%s is there twice", e.Path)
		}
		seen[e.Path] = true
		t.Run(strings.TrimPrefix(e.Path, "/"), func(t *testing.T) {
			u := l.web.hosts[0].base + e.Path
			if want.check != nil {
				want.check(t, l, c, u)
				return
			}
			resp, body := get(t, &http.Client{Transport: verbatim{c.Transport}}, u)
			var head strings.Builder
			resp.Header.Write(&head)
			if resp.StatusCode%redirectOffset != want.status || !strings.Contains(body, want.body) {
				t.Errorf("%s with %.200q", resp.Status, body)
			}
			for _, line := range want.header {
				line = strings.ReplaceAll(line, "\n", "\r\n")
				if !strings.Contains(head.String(), line) {
					t.Errorf("no %q in\n%s", line, &head)
				}
			}
		})
	}
	if len(seen) != len(exhibitShows) {
		t.Errorf("%d exhibits, %d cases", len(seen), len(exhibitShows))
	}
	if n := l.Stats().Total.ExhibitHits; n < int64(len(seen))-1 { // one is tested in virtual time
		t.Errorf("%d hits counted", n)
	}
}

// verbatim hides redirects from the client, which would parse their Location.
type verbatim struct{ http.RoundTripper }

func (v verbatim) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := v.RoundTripper.RoundTrip(r)
	if err == nil && resp.StatusCode/100 == 3 {
		resp.StatusCode += redirectOffset
	}
	return resp, err
}

const redirectOffset = 600 // turns a 3xx into a status that clients do not act on

// TestMuseum follows the links of the front page of the museum.
func TestMuseum(t *testing.T) {
	l := only(t, "museum")
	linked := map[string]bool{}
	for _, u := range follow(t, l.Seeds()[0], ask(l, l.Seeds()[0]).Body.String()) {
		linked[strings.TrimPrefix(u, l.web.hosts[0].base)] = true
	}
	for _, e := range Exhibits() {
		if linked[e.Path] == e.Hidden {
			t.Errorf("%s: linked %v", e.Path, linked[e.Path])
		}
	}
	if w := ask(l, l.Seeds()[0]+"exhibit/reached/x"); w.Code != http.StatusOK {
		t.Error("the end of an allowed link:", w.Code)
	}
	if w := ask(l, l.Seeds()[0]+"exhibit/nothing"); w.Code != http.StatusNotFound {
		t.Error("an unknown exhibit:", w.Code)
	}
	if w := ask(l, l.Seeds()[0]+"fault/loop/b"); w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != "/fault/loop/a" {
		t.Error("the way back of the loop:", w.Code)
	}
}
