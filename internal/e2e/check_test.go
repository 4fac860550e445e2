package e2e

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"headway/internal/check"
	"headway/lab"
	"headway/lab/temper"
)

// verdicts is the output of headway check --json.
type verdicts struct {
	check.Report
	Requests int64 `json:"requests"`
	Kept     int64 `json:"verdicts_kept"`
}

// checked runs a check and reads its verdicts, whose counts must add up.
func (w *world) checked(cmd *exec.Cmd, code int) verdicts {
	w.Helper()
	var v verdicts
	if err := json.Unmarshal([]byte(w.run(cmd, code)), &v); err != nil {
		w.Fatal(err)
	}
	var sum int64
	for _, n := range v.Counts {
		sum += n
	}
	if sum != v.Seen {
		w.Errorf("%v does not add up to %d", v.Counts, v.Seen)
	}
	return v
}

// of lists the links of a verdict.
func (v *verdicts) of(which check.Verdict) []string {
	var list []string
	for _, l := range v.Links {
		if l.Verdict == which {
			list = append(list, l.URL)
		}
	}
	return list
}

// TestCheckThrottled checks a site that refuses more than 2 requests a second, with
// links to hosts that do and hosts that do not. Only links to missing pages are dead,
// according to the lab's log, and a second run requests from other hosts only what was
// not ok.
func TestCheckThrottled(t *testing.T) {
	t.Parallel()
	// Its requests come in bunches when the machine stalls: a larger burst is not
	// refused for that, which would slow the crawl down for minutes.
	pages, dead, rate, burst, redirects := 260, 20, 25.0, 8, 0.05
	if full { // about 45 minutes on an idle machine
		pages, dead, rate, burst, redirects = 4800, 100, 2, 2, 0
	}
	limited := func(t *lab.Temper) { t.Rules.Limits = []temper.Limit{{Rate: rate, Burst: burst}} }
	plain := func(t *lab.Temper) { t.Site.CrossLinks, t.Site.PrivateLinks, t.Site.NofollowLinks = 1, 0, 1 }
	w := newWorld(t, lab.Config{Hosts: []lab.HostSpec{
		{Name: "site", Temper: site(pages, limited, plain, func(t *lab.Temper) { t.Site.DeadLinks, t.Site.RedirectRate = dead, redirects })},
		{Name: "fast", Temper: site(20, plain)},
		{Name: "slow", Temper: site(20, limited, plain)},
	}})
	seed := w.lab.Seeds()[0]
	args := []string{"check", seed, "--dir", "checked", "--allow-private", fmt.Sprintf("127.0.0.0/8:%d", w.port), "--preset", "owned", "--sitemaps", "off", "--json", "--quiet"}

	first := w.checked(w.command(args...), 1)
	w.honouredRefusals("checked")
	s := w.lab.Stats()
	if s.PerHost[0].UniquePages != int64(pages) {
		t.Errorf("%d of %d pages of the site were requested", s.PerHost[0].UniquePages, pages)
	}
	log := w.lab.Log()
	gone, last := map[string]bool{}, map[string]int{}
	for _, r := range log {
		if r.Status == http.StatusNotFound || r.Status == http.StatusGone {
			gone[r.Host+r.Target] = true
		}
		last[r.Host+r.Target] = r.Status
	}
	if want := slices.Sorted(maps.Keys(gone)); !slices.Equal(first.of(check.Dead), want) || len(want) < dead*9/10 {
		t.Errorf("dead are %q\nwant the %d that the lab says are gone: %q", first.of(check.Dead), len(want), want)
	}
	for _, l := range first.Links {
		if l.Verdict == check.Dead && len(l.Pages) == 0 {
			t.Errorf("%s is dead, and it is not known where it is linked", l.URL)
		}
	}
	for _, u := range first.of(check.Dead) {
		if status := last[u]; status != http.StatusNotFound && status != http.StatusGone {
			t.Errorf("%s is called dead after an answer of %d", u, status)
		}
	}
	t.Logf("%d links in %.0f s, %d requests, %d refused by the servers: %v", first.Seen, s.SpanSeconds, s.Total.Requests, s.Total.Refusals, first.Counts)
	if s.Total.Refusals == 0 {
		t.Error("the site refused nothing: this shows nothing")
	}

	before := len(log)
	second := w.checked(w.command(args...), 1)
	want := map[string]bool{}
	for _, l := range first.Links {
		want[l.URL] = true
		if l.Verdict == check.Dead {
			for _, p := range slices.Concat(l.Pages, l.Redirects) {
				want[p] = true
			}
		}
	}
	asked := map[string]bool{}
	for _, r := range w.lab.Log()[before:] {
		if r.Target != "/robots.txt" {
			asked[r.Host+r.Target] = true
		}
	}
	for u := range asked {
		if !want[u] && !strings.HasPrefix(u, strings.TrimSuffix(seed, "/")) {
			t.Errorf("%s is on another site, was ok and is requested again", u)
		}
	}
	for _, u := range second.of(check.Dead) {
		if !asked[u] {
			t.Errorf("%s was dead and is not requested again", u)
		}
	}
	if !slices.Equal(second.of(check.Dead), first.of(check.Dead)) || second.Kept == 0 {
		t.Errorf("the second time %v, %d verdicts kept; the first time %v", second.Counts, second.Kept, first.Counts)
	}
	t.Logf("the second run requested %d URLs of %d", len(asked), first.Seen)
	w.honouredRefusals("checked")
}

// mutable is a small site whose responses a test changes.
type mutable struct {
	mu    sync.Mutex
	pages map[string]string
	hits  map[string]int
}

func (m *mutable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hits[r.URL.Path]++
	text, ok := m.pages[r.URL.Path]
	switch kind, rest, _ := strings.Cut(text, " "); {
	case !ok:
		http.NotFound(w, r)
	case kind == "to":
		http.Redirect(w, r, rest, http.StatusFound)
	case kind == "status":
		var code int
		fmt.Sscan(rest, &code)
		w.WriteHeader(code)
	case r.URL.Path == "/robots.txt":
		fmt.Fprint(w, text)
	default:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<title>x</title>", text)
	}
}

// set changes the response of a path.
func (m *mutable) set(path, text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pages[path] = text
	clear(m.hits)
}

// asked lists the requests since the last change.
func (m *mutable) asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.hits, "/robots.txt")
	return slices.Sorted(maps.Keys(m.hits))
}

// TestCheckVerdicts checks every verdict, and a link that is repaired.
func TestCheckVerdicts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(1)), DNS: lab.DNS{Listen: "127.0.0.1:0"}}) // for its name server
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := "http://" + free.Addr().String() + "/"
	free.Close()
	link := func(urls ...string) string {
		text := ""
		for _, u := range urls {
			text += `<a href="` + u + `">x</a>`
		}
		return text
	}
	m := &mutable{hits: map[string]int{}, pages: map[string]string{
		"/robots.txt": "User-agent: *\nDisallow: /private/",
		"/": link("/a", "/b", "/gone", "/moved", "/loop/a", "/login", "/sick", "/private/x", refused, "http://no-such-host.invalid/", "mailto:a@b.example", "tel:123", "#top", "/file.zip") +
			`<a rel=nofollow href="/nofollow">x</a>`,
		"/a":      link("/", "/gone"),
		"/b":      link("/"),
		"/moved":  "to /also-gone",
		"/loop/a": "to /loop/b", "/loop/b": "to /loop/a",
		"/login": "status 403", "/sick": "status 500", "/file.zip": "PK",
	}}
	srv := httptest.NewServer(m)
	defer srv.Close()
	ports := fmt.Sprintf("127.0.0.0/8:%d,%d", srv.Listener.Addr().(*net.TCPAddr).Port, free.Addr().(*net.TCPAddr).Port)
	junit := filepath.Join(w.dir, "links.xml")
	args := []string{
		"check", srv.URL + "/", "--dir", "checked", "--allow-private", ports, "--preset", "owned", "--contact", "ops@example.com", "--sitemaps", "off",
		"--resolver", w.lab.DNSAddr().String(), "--patience", "15s",
		"--json", "--quiet", "--junit", junit,
	}
	// A short patience: the host fails on purpose.
	command := func(more ...string) *exec.Cmd {
		cmd := w.command(slices.Concat(args, more)...)
		cmd.Env = append(cmd.Env, "HEADWAY_BACKOFF_FAILING_START=100ms")
		return cmd
	}
	first := w.checked(command(), 1)
	is := func(v verdicts, which check.Verdict, want ...string) {
		t.Helper()
		got := v.of(which)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], srv.URL)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", which, got, want)
		}
	}
	is(first, check.Dead, "/also-gone", "/gone", "http://no-such-host.invalid/")
	is(first, check.Broken, "/loop/b")
	is(first, check.Blocked, "/login")
	if n := first.Counts[check.NotAsked]; n != 1 {
		t.Errorf("%d not asked, want the nofollow link: %v", n, first.Counts)
	}
	is(first, check.Unknown, slices.Sorted(slices.Values([]string{"/private/x", "/sick", refused}))...)
	for _, l := range first.Links {
		switch strings.TrimPrefix(l.URL, srv.URL) {
		case "/gone":
			if want := []string{srv.URL + "/", srv.URL + "/a"}; !slices.Equal(l.Pages, want) || l.Status != 404 {
				t.Errorf("gone: %+v", l)
			}
		case "/also-gone":
			if !slices.Equal(l.Pages, []string{srv.URL + "/"}) || !slices.Equal(l.Redirects, []string{srv.URL + "/moved"}) {
				t.Errorf("also gone: %+v", l)
			}
		}
	}
	w.junit(junit, 3)

	// One page with the link is repaired. All pages of the site are requested again.
	m.set("/a", link("/"))
	second := w.checked(command(), 1)
	is(second, check.Dead, "/also-gone", "/gone", "http://no-such-host.invalid/")
	if got := m.asked(); !slices.Contains(got, "/b") || !slices.Contains(got, "/file.zip") || !slices.Contains(got, "/a") || !slices.Contains(got, "/gone") {
		t.Errorf("requested again: %q", got)
	}
	m.set("/moved", "to /b")
	m.set("/loop/b", "here after all")
	m.set("/", link("/a", "/b", "/moved", "/loop/a"))
	third := w.checked(command(), 0)
	is(third, check.Dead)
	is(third, check.Broken)
	if third.Counts[check.Unlinked] == 0 {
		t.Errorf("links that are no longer there: %v", third.Counts)
	}
	w.junit(junit, 0)

	// A page of the site that is gone is found at once.
	m.set("/b", "status 410")
	is(w.checked(command(), 1), check.Dead, "/b")
	w.checked(command("--fail-on", "none"), 0)
	text := w.run(command("--json=false"), 1)
	if !strings.Contains(text, "dead 1\n  410  "+srv.URL+"/b\n    on "+srv.URL+"/") {
		t.Errorf("it says:\n%s", text)
	}
}

// TestCheckRefused checks a site that links to a host which always refuses, and to
// nothing dead: the check passes.
func TestCheckRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.Config{Hosts: []lab.HostSpec{
		{Name: "site", Temper: site(2, func(t *lab.Temper) {
			t.Site.Links, t.Site.CrossLinks, t.Site.PrivateLinks, t.Site.NofollowLinks = 2, 0, 0, 0
		})},
		{Name: "refusing", Temper: site(1, func(t *lab.Temper) {
			t.Rules.Outages = []temper.Outage{{Status: http.StatusTooManyRequests, Form: temper.None}}
		})},
	}})
	args := []string{"check", w.lab.Seeds()[0], "--dir", "checked", "--allow-private", fmt.Sprintf("127.0.0.0/8:%d", w.port), "--preset", "owned", "--sitemaps", "off", "--patience", "10s", "--json", "--quiet"}
	v := w.checked(w.command(args...), 0)
	if v.Counts[check.Dead] != 0 || v.Counts[check.Throttled] != 1 || v.Counts[check.OK] != 2 {
		t.Errorf("verdicts %v: %+v", v.Counts, v.Links)
	}
}

// junit reads a JUnit file and checks the number of failures.
func (w *world) junit(path string, failures int) {
	w.Helper()
	var suites struct {
		Suite struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Cases    []struct {
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	data, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	if err := xml.Unmarshal(data, &suites); err != nil {
		w.Fatalf("%v\n%s", err, data)
	}
	failed := 0
	for _, c := range suites.Suite.Cases {
		if c.Failure != nil {
			failed++
		}
	}
	if failed != failures || suites.Suite.Failures != failures || suites.Suite.Tests != len(suites.Suite.Cases) {
		w.Errorf("%d failures, want %d:\n%s", failed, failures, data)
	}
}
