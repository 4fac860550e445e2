package lab

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"headway/lab/temper"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a site that is quick to crawl.
func small(change func(*Temper)) Temper {
	t := Plain()
	t.Site.Pages = 40
	if change != nil {
		change(&t)
	}
	return t
}

// start serves a lab on free ports until the test ends.
func start(t testing.TB, cfg Config) (*Lab, *http.Client) {
	t.Helper()
	if cfg.Listen == "" {
		cfg.Listen = "0.0.0.0:0"
	}
	if cfg.ListenTLS == "" {
		cfg.ListenTLS = "0.0.0.0:0"
	}
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Listen(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return l, &http.Client{
		Timeout:       20 * time.Second,
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// get fetches a URL with headers given as key, value pairs.
func get(t testing.TB, c *http.Client, u string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, u, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// ask calls the handler without a transport.
func ask(l *Lab, target string, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodGet, target, nil)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, req)
	return w
}

func mustNew(t testing.TB, cfg Config) *Lab {
	t.Helper()
	l, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

var (
	hrefRE = regexp.MustCompile(`<a href="([^"]*)"([^>]*)>`)
	baseRE = regexp.MustCompile(`<base href="([^"]*)"`)
)

// follow lists the absolute links of a page that a polite crawler may follow.
func follow(t testing.TB, page, text string) []string {
	t.Helper()
	base, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	if m := baseRE.FindStringSubmatch(text); m != nil {
		if base, err = base.Parse(m[1]); err != nil {
			t.Fatal(err)
		}
	}
	var out []string
	for _, m := range hrefRE.FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[2], "nofollow") {
			continue
		}
		abs, err := base.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
		if err != nil {
			t.Fatal(err)
		}
		abs.Fragment = ""
		out = append(out, abs.String())
	}
	return out
}

// TestCrawlReachesEverything follows links as a polite crawler does.
func TestCrawlReachesEverything(t *testing.T) {
	l := mustNew(t, Config{Hosts: Uniform(3, small(func(t *Temper) {
		t.Site.RedirectRate = 0.2
		t.Site.QueryLinks = 3
	}))})
	seen := map[string]bool{}
	first := l.Seeds()[0]
	queue := []string{first + "robots.txt", first}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		w := ask(l, u)
		found := follow(t, u, w.Body.String())
		if loc := w.Header().Get("Location"); loc != "" {
			to, err := url.Parse(u)
			if err == nil {
				to, err = to.Parse(loc)
			}
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, to.String())
		}
		for _, next := range found {
			p, err := url.Parse(next)
			if err != nil {
				t.Fatal(err)
			}
			if !seen[next] && !l.web.hosts[0].robots.disallows(p.Path) {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	st := l.Stats()
	if st.Complete != 1 || st.HostsTouched != 3 || st.HostsIncomplete != 0 {
		t.Fatalf("complete %v, hosts %d, incomplete %d", st.Complete, st.HostsTouched, st.HostsIncomplete)
	}
	total := st.Total
	if total.RobotsViolations != 0 || total.NofollowHits != 0 || total.NotFound != 0 || total.MaxConcurrent != 1 {
		t.Fatalf("an obedient crawl was counted as %+v", total)
	}
	if total.RedirectHits == 0 || total.QueryRequests == 0 || st.PerHost[0].BeforeRobots != 0 || st.PerHost[1].BeforeRobots == 0 {
		t.Fatalf("redirects, queries or robots order not counted: %+v", total)
	}
}

// TestSameConfigSameBytes compares two labs of one Config URL by URL.
func TestSameConfigSameBytes(t *testing.T) { synctest.Test(t, testSameConfigSameBytes) }

func testSameConfigSameBytes(t *testing.T) {
	cfg := Config{Seed: 11, Hosts: append(Uniform(2, small(func(t *Temper) {
		t.Site.Traps = Calendar | Facets | Sessions | Maze
		t.Site.Orphans = 5
	})), Mixed()...)}
	a, b := mustNew(t, cfg), mustNew(t, cfg)
	for range 2 {
		compared := 0
		for i := range a.web.hosts {
			base := a.web.hosts[i].base
			paths := []string{"/sitemap-0.xml", "/sitemap-1.xml.gz", "/orphan/o3.html", "/catalogue/?size=a", "/account/item-3?sid=5", "/nf/maze/7"}
			switch a.web.hosts[i].robots.Name {
			case "drip", "truncated", "reset": // need a connection
			default:
				paths = append(paths, "/robots.txt")
			}
			for n := range min(10, a.web.hosts[i].site.Pages) {
				paths = append(paths, a.web.paths[n])
			}
			for _, path := range paths {
				// Compare rendering only: refusals do not affect the bytes.
				x, y := render(a, i, path), render(b, i, path)
				if x != y {
					t.Fatalf("%s%s differs between two labs of one Config", base, path)
				}
				compared++
			}
		}
		if compared < 500 {
			t.Fatalf("only %d URLs compared", compared)
		}
		if a.NextEpoch() != b.NextEpoch() {
			t.Fatal("epochs differ")
		}
	}
}

// render renders a path of host i, ignoring its profile.
func render(l *Lab, i int, target string) string {
	if l.web.hosts[i].site.Sitemap == "million" && target == "/sitemap.xml" {
		return "" // tested separately
	}
	w := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, target, nil)
	x := &exchange{}
	x.begin(l, w, req, &l.web.hosts[i])
	x.verdict = temper.Verdict{}
	defer x.end()
	x.answer()
	return fmt.Sprint(w.Code, w.Header()["Content-Type"], w.Header()["Etag"], w.Body)
}

func TestConditionalAndEpoch(t *testing.T) {
	l := mustNew(t, Config{Hosts: Uniform(2, small(func(t *Temper) { t.Site.ChangeRate = 1 }))})
	u := l.Seeds()[1] + "s3/p3.html"
	w := ask(l, u)
	etag, modified := w.Header().Get("Etag"), w.Header().Get("Last-Modified")
	if w := ask(l, u, "If-None-Match", etag); w.Code != http.StatusNotModified || w.Body.Len() != 0 {
		t.Fatal("ETag:", w.Code)
	}
	if w := ask(l, u, "If-Modified-Since", modified); w.Code != http.StatusNotModified {
		t.Fatal("date:", w.Code)
	}
	if got := ask(l, l.Seeds()[0]+"__lab/epoch").Body.String(); got != "1\n" || l.Epoch() != 1 {
		t.Fatal("epoch:", got)
	}
	if w := ask(l, u, "If-None-Match", etag); w.Code != http.StatusOK {
		t.Fatal("after the epoch:", w.Code)
	}
	if st := l.Stats(); st.Total.NotModified != 2 || st.Total.PageAnswers != 4 || st.Total.UniquePages != 1 {
		t.Fatalf("%+v", st.Total)
	}
}

func TestControl(t *testing.T) {
	l, c := start(t, Config{Hosts: Uniform(3, small(nil))})
	base := "http://" + l.Addr().String() // an unknown Host header works
	base = strings.Replace(base, "0.0.0.0", "127.0.0.1", 1)
	if _, text := get(t, c, base+"/__lab/seeds"); text != strings.Join(l.Seeds(), "\n")+"\n" {
		t.Errorf("seeds: %q", text)
	}
	get(t, c, l.Seeds()[2])
	if _, text := get(t, c, base+"/__lab/stats"); !strings.Contains(text, `"requests": 1`) || !strings.Contains(text, "per_host") {
		t.Errorf("stats: %s", text)
	}
	if _, text := get(t, c, base+"/__lab/stats?summary=1"); !strings.Contains(text, `"requests": 1`) || strings.Contains(text, "per_host") {
		t.Errorf("summary: %s", text)
	}
	if _, text := get(t, c, base+"/__lab/log"); !strings.Contains(text, `"target": "/"`) {
		t.Errorf("log: %s", text)
	}
	if _, text := get(t, c, base+"/__lab/hosts"); strings.Count(text, `"url"`) != 3 {
		t.Errorf("hosts: %s", text)
	}
	if _, text := get(t, c, base+"/__lab/ca.pem"); !strings.Contains(text, "BEGIN CERTIFICATE") {
		t.Errorf("ca.pem: %s", text)
	}
	if resp, _ := get(t, c, base+"/__lab/nothing"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("unknown control path: %s", resp.Status)
	}
	if resp, _ := get(t, c, base+"/"); resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("unknown host: %s", resp.Status)
	}
	get(t, c, base+"/__lab/reset")
	if st := l.Stats(); st.Total.Requests != 0 || len(st.PerHost) != 0 || len(l.Log()) != 0 {
		t.Errorf("after reset: %+v", st)
	}
}

func TestConfigNamesEveryProblem(t *testing.T) {
	bad := Plain()
	bad.Site = Site{Pages: -1, Orphans: -1, MinKB: 2, MaxKB: 1, Links: -1, CrawlDelay: -1, CacheTTL: -1, RedirectRate: 2, Robots: "x", Sitemap: "x", Cache: "x", Challenge: "x"}
	bad.Rules.ErrorRate = -1
	bad.Cert = "x"
	cfg := Config{
		Hosts:  []HostSpec{{Name: "same"}, {Name: "SAME"}, {Name: "a b", Temper: bad}},
		Listen: "nowhere", PublicPort: 70000, Address: "post",
		DNS:     DNS{Listen: "127.0.0.1:x", TTL: -1, Names: map[string]Script{"a..b": {}}},
		Clients: make([]netip.Prefix, 1),
	}
	err := cfg.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"Hosts[1]", "is not a host name", "Rules: ErrorRate", "Cert", "Pages", "Orphans", "MinKB", "Links", "CrawlDelay",
		"RedirectRate", "CacheTTL", "Robots", "Sitemap", "Cache", "Challenge", "Listen:", "PublicPort", "Address", "DNS.Listen", "TTL", "empty list of answers", "Clients[0]",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not named in:\n%v", want, err)
		}
	}
	if err := (Config{}).Validate(); err != nil {
		t.Error("the zero Config:", err)
	}
	if err := (Config{Hosts: Uniform(MaxHosts+1, Plain())}).Validate(); err == nil {
		t.Error("too many hosts were accepted")
	}
}

// TestRunStops stops a lab while a client hangs.
func TestRunStops(t *testing.T) {
	l := mustNew(t, Config{Listen: "127.0.0.1:0", Hosts: Uniform(1, small(nil))})
	if err := l.Listen(context.Background()); err != nil {
		t.Fatal(err)
	}
	if l.Listen(t.Context()) == nil {
		t.Error("listening twice succeeded")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	client := make(chan error, 1)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	go func() {
		req, _ := http.NewRequest(http.MethodGet, "http://"+l.Addr().String()+"/fault/hang", nil)
		req.Host = "127.1.0.1"
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err == nil {
			resp.Body.Close()
		}
		client <- err
	}()
	for l.Stats().Total.InFlight == 0 {
		time.Sleep(time.Millisecond) // a hanging request is seen only in the statistics
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	<-client
	other := mustNew(t, Config{Listen: "256.0.0.1:80", Hosts: Uniform(1, small(nil))})
	if other.Run(t.Context()) == nil {
		t.Error("listening on a nonexistent address succeeded")
	}
}

func contextWithTimeout(t testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}
