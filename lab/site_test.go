package lab

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var locRE = regexp.MustCompile(`<loc>([^<]*)</loc>`)

// TestDeadLinks follows the links to missing pages.
func TestDeadLinks(t *testing.T) {
	s := DefaultSite()
	s.Pages, s.DeadLinks, s.CrossLinks = 30, 20, 0
	l := mustNew(t, Config{Hosts: Uniform(3, Temper{Site: s})})
	status := map[int]int{}
	foreign := 0
	for n := range 20 {
		u := l.web.deadLink(&l.web.hosts[0], n)
		host := l.web.hosts[0].base
		if strings.HasPrefix(u, "http") {
			foreign++
		} else {
			u = host + u
		}
		if strings.HasPrefix(u, host) != (n%2 == 0) {
			t.Errorf("page %d links to %s", n, u)
		}
		status[ask(l, u).Code]++
	}
	if foreign != 10 || status[404] == 0 || status[410] == 0 || status[404]+status[410] != 20 {
		t.Errorf("%d on other hosts, answers %v", foreign, status)
	}
}

func TestSitemapParts(t *testing.T) {
	l := mustNew(t, Config{Hosts: Uniform(1, small(func(t *Temper) { t.Site.Pages, t.Site.Orphans = 1500, 10 }))})
	base := l.web.hosts[0].base
	if robots := ask(l, base+"/robots.txt").Body.String(); !strings.Contains(robots, "Sitemap: "+base+"/sitemap.xml") {
		t.Fatal(robots)
	}
	urls := map[string]bool{}
	for _, m := range locRE.FindAllStringSubmatch(ask(l, base+"/sitemap.xml").Body.String(), -1) {
		text := ask(l, m[1]).Body.String()
		if strings.HasSuffix(m[1], ".gz") {
			zr, err := gzip.NewReader(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			plain, err := io.ReadAll(zr)
			if err != nil {
				t.Fatal(err)
			}
			text = string(plain)
		}
		for _, u := range locRE.FindAllStringSubmatch(text, -1) {
			urls[u[1]] = true
		}
	}
	if len(urls) != 1510 {
		t.Fatal("URLs in sitemaps:", len(urls))
	}
	ask(l, base+"/orphan/o9.html")
	if st := l.Stats().Total; st.UniqueOrphans != 1 || st.SitemapFetches != 3 || st.BeforeRobots != 0 {
		t.Errorf("%+v", st)
	}
	for _, path := range []string{"/sitemap-0.xml.gz", "/sitemap-1.xml", "/sitemap-2.xml", "/sitemap-00.xml", "/sitemap--1.xml", "/sitemap", "/sitemaps/x"} {
		if w := ask(l, base+path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

func TestSitemapKinds(t *testing.T) {
	for _, kind := range SitemapKinds() {
		l := mustNew(t, Config{Hosts: Uniform(1, small(func(t *Temper) { t.Site.Sitemap = kind.Name }))})
		base := l.web.hosts[0].base
		named := strings.Contains(ask(l, base+"/robots.txt").Body.String(), "Sitemap:")
		if kind.Name == "none" {
			if w := ask(l, base+"/sitemap.xml"); named || w.Code != http.StatusNotFound {
				t.Errorf("none: named %v, %d", named, w.Code)
			}
			continue
		}
		if !named {
			t.Errorf("%s: robots.txt does not name it", kind.Name)
		}
		w := &full{ResponseRecorder: httptest.NewRecorder(), most: 1 << 20}
		l.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, base+"/sitemap.xml", nil))
		switch text := w.Body.String(); kind.Name {
		case "parts":
			if strings.Count(text, "<sitemap>") != 1 {
				t.Errorf("parts: %s", text)
			}
		case "million":
			// An exhibit test counts all of them; here the client stops early.
			if n := strings.Count(text, "<sitemap>"); n < 10_000 || n > 30_000 {
				t.Errorf("million: %d entries before the lab gave up", n)
			}
			if part := ask(l, base+"/sitemap-777776.xml").Body.String(); strings.Count(part, "<url>") != 1 || !strings.Contains(part, l.web.paths[777776%40]) {
				t.Errorf("part of a million: %s", part)
			}
		case "laughs":
			if !strings.Contains(text, "&l9;") || strings.Count(text, "&l8;") != 10 {
				t.Errorf("laughs: %s", text)
			}
		default:
			t.Errorf("%s has no case", kind.Name)
		}
	}
}

// full is a client that disconnects after most bytes.
type full struct {
	*httptest.ResponseRecorder
	most int
}

func (w *full) Write(p []byte) (int, error) {
	if w.Body.Len() > w.most {
		return 0, io.ErrShortWrite
	}
	return w.ResponseRecorder.Write(p)
}

// TestRobotsKinds fetches the robots.txt of each host as a polite crawler would, and
// compares the result with what counts as a violation.
func TestRobotsKinds(t *testing.T) {
	const rules, open, deny, unreachable = meansRules, meansOpen, meansDeny, meansUnreachable
	want := map[string]struct {
		means robotsMeans
		codes string // of each hop
		text  string // in the last response
	}{
		"rules":            {rules, "200", "Disallow: /private/\nAllow: /private/open/\n"},
		"open":             {open, "200", "Disallow:\n"},
		"deny":             {deny, "200", "Disallow: /\n"},
		"missing":          {open, "404", ""},
		"forbidden":        {open, "403", ""},
		"html":             {open, "200", "<!DOCTYPE html>"},
		"429":              {unreachable, "429", ""},
		"500":              {unreachable, "500", ""},
		"503":              {unreachable, "503", ""},
		"redirect-5":       {rules, "302 302 302 302 302 200", "Disallow: /private/"},
		"redirect-6":       {open, "302 302 302 302 302 302 200", "Disallow: /private/"},
		"redirect-loop":    {open, "302 302 302 302 302 302 302 302 302 302", ""},
		"redirect-private": {unreachable, "302", ""},
		"redirect-host":    {rules, "302 200", "Disallow: /private/"},
		"big-head":         {rules, "200", "Disallow: /private/"},
		"big-tail":         {open, "200", "\nUser-agent: *\nDisallow: /\n"},
		"bomb":             {rules, "200", ""},
		"drip":             {unreachable, "200", "xxx"},
		"truncated":        {unreachable, "", ""},
		"reset":            {unreachable, "", ""},
	}
	for _, kind := range RobotsKinds() {
		test, ok := want[kind.Name]
		if !ok {
			t.Errorf("%s has no case", kind.Name)
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			temper := small(func(t *Temper) { t.Site.Robots = kind.Name })
			if test.codes == "" {
				l, c := start(t, Config{Hosts: Uniform(2, temper)})
				resp, err := c.Get(l.Seeds()[0] + "robots.txt")
				if err == nil {
					defer resp.Body.Close()
					_, err = io.ReadAll(resp.Body)
				}
				if err == nil {
					t.Error("it could be read")
				}
				return
			}
			synctest.Test(t, func(t *testing.T) {
				l := mustNew(t, Config{Hosts: Uniform(2, temper)})
				checkRobots(t, l, test.codes, test.text)
				before := l.Stats().Total
				ask(l, l.Seeds()[0])
				ask(l, l.Seeds()[0]+"private/x")
				ask(l, l.Seeds()[0]+"private/open/x")
				after := l.Stats().Total
				violations, ignored := after.RobotsViolations-before.RobotsViolations, after.Robots5xxIgnored-before.Robots5xxIgnored
				wantViolations := map[robotsMeans]int64{rules: 1, deny: 3}[test.means]
				wantIgnored := map[robotsMeans]int64{unreachable: 3}[test.means]
				if violations != wantViolations || ignored != wantIgnored || after.BeforeRobots != 0 {
					t.Errorf("%d violations, %d ignored: %+v", violations, ignored, after)
				}
			})
		})
	}
}

// checkRobots follows redirects inside the lab and compares.
func checkRobots(t *testing.T, l *Lab, codes, text string) {
	t.Helper()
	u, err := url.Parse(l.Seeds()[0] + "robots.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 10 {
		w := ask(l, u.String())
		got = append(got, http.StatusText(w.Code))
		if loc := w.Header().Get("Location"); loc != "" {
			if u, err = u.Parse(loc); err != nil {
				t.Fatal(err)
			}
		}
		if w.Code != http.StatusFound || u.Host == "10.0.0.1" {
			if body := w.Body.String(); !strings.Contains(body, text) {
				t.Errorf("no %q in %.300q", text, body)
			} else if strings.HasPrefix(l.web.hosts[0].robots.Name, "big-") {
				at := strings.Index(body, "Disallow")
				if len(body) < 600<<10 || (at > 512_000) != (l.web.hosts[0].robots.Name == "big-tail") {
					t.Errorf("%d bytes, the rule at %d", len(body), at)
				}
			}
			break
		}
	}
	want := strings.Fields(codes)
	for i, code := range want {
		want[i] = http.StatusText(map[string]int{"200": 200, "302": 302, "403": 403, "404": 404, "429": 429, "500": 500, "503": 503}[code])
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRobotsCrawlDelayAndShare(t *testing.T) {
	l := mustNew(t, Config{Seed: 3, Hosts: Uniform(200, small(func(t *Temper) {
		t.Site.CrawlDelay = 100 * time.Millisecond
		t.Site.Robots5xx = 0.25
	}))})
	broken := 0
	for i := range l.web.hosts {
		w := ask(l, l.web.hosts[i].base+"/robots.txt")
		switch {
		case w.Code == http.StatusServiceUnavailable:
			broken++
		case !strings.Contains(w.Body.String(), "\nCrawl-delay: 0.1\n"):
			t.Fatal(w.Body)
		}
	}
	if broken < 30 || broken > 70 {
		t.Errorf("%d of 200 hosts are broken", broken)
	}
}

// TestTraps enters each trap and compares with the server's counts.
func TestTraps(t *testing.T) {
	all := Calendar | Facets | Sessions | Maze
	l := mustNew(t, Config{Hosts: Uniform(1, small(func(t *Temper) { t.Site.Traps = all }))})
	base := l.web.hosts[0].base
	front := ask(l, base+"/").Body.String()
	links := follow(t, base+"/", front)
	for _, trap := range traps {
		entered := false
		for _, u := range links {
			entered = entered || u == base+trap.entry
		}
		if entered != (trap.bit != Maze) {
			t.Errorf("%s: a link that may be followed leads in: %v", trap.name, entered)
		}
		if !strings.Contains(front, `<a href="`+trap.entry+`"`) {
			t.Errorf("%s: no link leads in", trap.name)
		}
		// Every step finds new URLs, however deep.
		seen := map[string]bool{}
		at := base + trap.entry
		for step := range 12 {
			text := ask(l, at).Body.String()
			if text != ask(l, at).Body.String() {
				t.Errorf("%s: the same URL gives two pages", trap.name)
			}
			fresh := ""
			for _, u := range follow(t, at, text) {
				if !seen[u] {
					fresh = u
				}
				seen[u] = true
			}
			if fresh == "" {
				if trap.bit == Facets && step >= len(facetKeys) {
					break // all filters are set; other orders remain
				}
				t.Fatalf("%s: nothing new at step %d", trap.name, step)
			}
			at = fresh
		}
	}
	st := l.Stats().Total
	if st.FacetHits == 0 || st.SessionHits != 24 || st.NofollowHits != 24 || st.TrapHits != 24+st.FacetHits+st.SessionHits {
		t.Errorf("calendar, facets, sessions, maze: %+v", st)
	}
	if st.PageRequests != 1 {
		t.Errorf("trap pages count as pages: %d", st.PageRequests)
	}
}

func TestParseTraps(t *testing.T) {
	var set Traps
	if err := set.Set("facets, maze"); err != nil || set != Facets|Maze || set.String() != "facets,maze" {
		t.Errorf("%v %v", set, err)
	}
	if err := set.Set(""); err != nil || set != 0 {
		t.Errorf("%v %v", set, err)
	}
	if err := set.Set("calendar,pit"); err == nil || set != 0 {
		t.Error("an unknown trap was accepted")
	}
}

func TestForbiddenAndRedirects(t *testing.T) {
	l := only(t, "forbidden")
	base := l.web.hosts[0].base
	private := strings.Count(ask(l, base+"/").Body.String(), `<a href="/private/`)
	if private != 57 {
		t.Errorf("%d forbidden links", private)
	}
	l = only(t, "redirects")
	base = l.web.hosts[0].base
	if n := strings.Count(ask(l, base+"/").Body.String(), `<a href="/go/`); n < 8 {
		t.Errorf("%d redirecting links", n)
	}
	if w := ask(l, base+"/go/s3/p3.html"); w.Code != http.StatusMovedPermanently || w.Header().Get("Location") != "/s3/p3.html" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

func TestChallengeIsNotCountedAsPage(t *testing.T) {
	l := only(t, "waf-soft")
	for n := range 10 {
		ask(l, l.web.hosts[0].base+l.web.paths[n])
	}
	if st := l.Stats().Total; st.PageAnswers != 5 || st.UniquePages != 5 || st.Challenges != 5 {
		t.Errorf("%+v", st)
	}
}
