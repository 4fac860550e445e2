package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"headway"
	"headway/answer"
	"headway/ask"
	"headway/fetch"
	"headway/fetch/guard"
	"headway/lab"
	"headway/lab/temper"
	"headway/politeness"
	"headway/store/sqlite"
	"headway/visit"
	"headway/weburl"
)

// whyHosts is one host of every profile, and some hosts for one exhibit each, so that
// the effects of one do not hide another.
func whyHosts() []lab.HostSpec {
	specs := lab.Mixed()
	for i := range specs {
		s := &specs[i].Temper.Site
		s.Pages, s.MinKB, s.MaxKB = min(s.Pages, 20), 2, 6
	}
	add := func(name string, change ...func(*lab.Temper)) {
		specs = append(specs, lab.HostSpec{Name: name + ".test", Temper: site(12, change...)})
	}
	add("patient", func(t *lab.Temper) { t.Site.CrawlDelay = 10 * time.Minute })
	add("optout")
	add("failing", func(t *lab.Temper) { t.Rules.Outages = []temper.Outage{{Action: temper.Reset}} })
	for _, name := range []string{
		"gone", "broken", "throttled", "moved", "loop", "hang", "huge", "short", "garbled", "nowhere", "links", "same", "away", "few", "near", "some", "sick", "bytes", "waits",
	} {
		add(name)
	}
	return specs
}

// TestWhy queries, for every way in which a URL can end, one that ended so: `headway
// why` names exactly that, with the rule or the evidence.
func TestWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.Config{Hosts: whyHosts(), DNS: lab.DNS{Listen: "127.0.0.1:0"}})
	if n := len(w.lab.Hosts()); n < 40 {
		t.Fatalf("%d hosts, want 40 at least", n)
	}
	at := func(host, path string) string {
		for _, h := range w.lab.Hosts() {
			if name, _, _ := strings.Cut(h.Name, "."); name == host {
				return strings.TrimSuffix(h.URL, "/") + path
			}
		}
		t.Fatalf("there is no host %s", host)
		return ""
	}
	closed := closedPort(t)
	nobody := fmt.Sprintf("http://127.0.0.1:%d/", closed)
	if err := os.MkdirAll(filepath.Join(w.dir, "config", "headway"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, _, _ := strings.Cut(strings.TrimPrefix(at("optout", ""), "http://"), ":")
	if err := os.WriteFile(filepath.Join(w.dir, "config", "headway", "optout.txt"), []byte(out+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(w *world, dir string, seeds []string, args ...string) {
		w.Helper()
		var env []string
		args = slices.DeleteFunc(args, func(a string) bool {
			if strings.HasPrefix(a, "HEADWAY_") {
				env = append(env, a)
			}
			return strings.HasPrefix(a, "HEADWAY_")
		})
		words := append([]string{"crawl", "--dir", dir, "--preset", "owned", "--quiet", "--allow-private", fmt.Sprintf("127.0.0.0/8:%d,%d,%d", w.port, w.tlsPort(), closed)}, seeds...)
		cmd := w.command(append(words, args...)...)
		cmd.Env = append(cmd.Env, env...)
		w.run(cmd, 0, 3, 4, 5)
	}

	// One crawl of the URLs that are queried below, with the faults of single hosts,
	// and one of all other profiles, some of which never end.
	every := []string{
		at("gone", "/fault/404"), at("broken", "/fault/500"), at("moved", "/fault/redirect/1"), at("loop", "/fault/loop/a"),
		at("huge", "/fault/bomb"), at("short", "/fault/truncated"), at("garbled", "/fault/badgzip"), at("nowhere", "/fault/badlocation"),
		at("links", "/exhibit/links"), at("away", "/exhibit/redirect/private"),
	}
	for _, name := range []string{"plain", "waf-soft", "refusing", "forbidden", "robots-503", "patient", "optout", "expired"} {
		every = append(every, at(name, "/"))
	}
	var others []string
	for _, h := range lab.Mixed() {
		if name, _, _ := strings.Cut(h.Name, "."); !slices.Contains(every, at(name, "/")) {
			others = append(others, at(name, "/"))
		}
	}
	crawls := map[string]func(w *world, dir string){
		"every": func(w *world, dir string) {
			// A host gets three requests before it is given up as unreachable, which
			// must happen before patience ends.
			run(w, dir, every, "HEADWAY_BACKOFF_FAILING_START=100ms", "--patience", "15s", "--exclude", "/s1/**")
		},
		"others": func(w *world, dir string) { run(w, dir, others, "--max-time", "20s") },
		// Hosts that cannot be reached or may not be contacted.
		"strange": func(w *world, dir string) {
			run(w, dir, []string{"http://10.0.0.5/", nobody, "http://127.0.0.1:22/", "http://nosuchname.test/"},
				"--preset", "polite", "--contact", "me@example.test", "--resolver", w.lab.DNSAddr().String())
		},
		// Cases that need their own limit or host.
		"refused": func(w *world, dir string) { w.refused(dir, at("throttled", "/fault/429")) },
		"hang": func(w *world, dir string) {
			run(w, dir, []string{at("hang", "/fault/hang")}, "HEADWAY_BACKOFF_FAILING_START=100ms", "--timeout", "2s", "--sitemaps", "off")
		},
		"few": func(w *world, dir string) { run(w, dir, []string{at("few", "/")}, "--max-pages-per-host", "3") },
		"near": func(w *world, dir string) {
			run(w, dir, []string{at("near", "/")}, "--max-depth", "1", "--sitemaps", "off")
		},
		"some": func(w *world, dir string) { run(w, dir, []string{at("some", "/")}, "--max-pages", "3") },
		"bytes": func(w *world, dir string) {
			run(w, dir, []string{at("bytes", "/")}, "--max-bytes", "1000", "--sitemaps", "off")
		},
		"same": func(w *world, dir string) { run(w, dir, []string{at("same", "/exhibit/same/0")}) },
		"parked": func(w *world, dir string) {
			run(w, dir, []string{at("failing", "/")}, "HEADWAY_FAILURE_THRESHOLD=2", "--patience", "60s")
		},
		"one": func(w *world, dir string) {
			run(w, dir, []string{at("near", "/"), at("waits", "/")}, "HEADWAY_SAFETY_MAX_HOSTS=1", "--max-pages-per-host", "1", "--sitemaps", "off")
		},
		"waits": func(w *world, dir string) { run(w, dir, []string{at("waits", "/")}, "HEADWAY_FRONTIER_MAX_WAITING=3") },
		"sick":  func(w *world, dir string) { w.quarantine(dir, at("sick", "/fault/hang")) },
	}
	t.Run("crawls", func(t *testing.T) {
		for dir, crawl := range crawls {
			t.Run(dir, func(t *testing.T) {
				t.Parallel()
				crawl(w.in(t), dir)
			})
		}
	})

	for _, tc := range []struct {
		crawl, url string
		outcome    visit.Outcome
		reason     visit.Reason
		wait       visit.Wait
		rule       string // a regular expression
	}{
		{crawl: "every", url: at("plain", "/"), outcome: visit.Fetched, rule: `^status 200$`},
		{crawl: "every", url: at("moved", "/fault/redirect/1"), outcome: visit.Redirected, rule: `^status 302 redirects to http://.*/fault/redirect/0$`},
		{crawl: "every", url: at("gone", "/fault/404"), outcome: visit.Dead, rule: `^status 404$`},
		{crawl: "every", url: at("broken", "/fault/500"), outcome: visit.ServerError, rule: `^status 500$`},
		{crawl: "refused", url: at("throttled", "/fault/429"), outcome: visit.Throttled, rule: `^status 429 on each of 1 attempt$`},
		{crawl: "every", url: at("waf-soft", "/s0/p17.html"), outcome: visit.Blocked, rule: `^a challenge page instead of content: .*anubis.*, with status 200$`},
		{crawl: "every", url: at("refusing", "/"), outcome: visit.Deferred, rule: `^the host refuses requests and is on hold until .*; patience per host is 15s$`},
		{crawl: "one", url: at("waits", "/"), outcome: visit.Deferred, rule: `^its host is over the host limit: max_hosts 1 \(safety\)$`},
		{crawl: "waits", url: at("waits", "/s5/p5.html"), outcome: visit.Deferred, rule: `^3 URLs were already waiting \(frontier.max_waiting\)$`},
		{crawl: "some", url: at("some", "/s5/p5.html"), outcome: visit.Pending, wait: visit.WaitBudget, rule: `a higher limit`},

		{crawl: "every", url: at("forbidden", "/private/s0/p17.html"), outcome: visit.Skipped, reason: visit.RobotsDisallow, rule: `^Disallow: /private/ \(line 3, group \*\)$`},
		{crawl: "every", url: at("robots-503", "/"), outcome: visit.Skipped, reason: visit.RobotsUnreachable, rule: `^robots.txt answered 503, \d+ times? in a row since .*; patience per host is 15s$`},
		{crawl: "every", url: at("patient", "/"), outcome: visit.Skipped, reason: visit.CrawlDelayTooLong, rule: `^Crawl-delay: 600 \(line \d+, group \*\)$`},
		{crawl: "every", url: "http://10.0.0.1/", outcome: visit.Skipped, reason: visit.OutOfScope, rule: `^host is not a seed host$`},
		{crawl: "every", url: "http://elsewhere.test/page", outcome: visit.Skipped, reason: visit.OutOfScope, rule: `^host is not a seed host$`},
		{crawl: "every", url: at("plain", "/s1/p1.html"), outcome: visit.Skipped, reason: visit.Excluded, rule: `^exclude /s1/\*\*$`},
		{crawl: "same", url: at("same", "/exhibit/same/40"), outcome: visit.Skipped, reason: visit.DuplicateContent, rule: `^the last \d+ similar pages had the same text$`},
		{crawl: "near", url: at("near", "/nf/s9/p9.html"), outcome: visit.Skipped, reason: visit.Depth, rule: `^more than 1 links from a seed$`},
		{crawl: "every", url: at("links", "/exhibit/reached/a/b/a/b/a/b"), outcome: visit.Skipped, reason: visit.TrapPath, rule: `^repeats /a/b$`},
		{crawl: "every", url: at("links", "/exhibit/reached/?a=1&a=1&a=1"), outcome: visit.Skipped, reason: visit.TrapQuery, rule: `^repeats the parameter a=1 3 times or more$`},
		{crawl: "every", url: at("links", "/exhibit/reached/picture.png"), outcome: visit.Skipped, reason: visit.NonDocument, rule: `^\.png is an image; use --files to include it$`},
		{crawl: "every", url: at("links", "/exhibit/reached/nofollow"), outcome: visit.Skipped, reason: visit.Nofollow, rule: `^every link found to it has rel=nofollow`},
		{crawl: "strange", url: "http://10.0.0.5/", outcome: visit.Skipped, reason: visit.PrivateAddress, rule: `10\.0\.0\.5`},
		{crawl: "strange", url: "http://127.0.0.1:22/", outcome: visit.Skipped, reason: visit.BadPort, rule: `^port 22 `},
		{crawl: "few", url: at("few", "/s11/p11.html"), outcome: visit.Skipped, reason: visit.BudgetHost, rule: `^max_pages_per_host 3 \(job\)$`},
		{crawl: "bytes", url: at("bytes", "/"), outcome: visit.Skipped, reason: visit.BudgetBytes, rule: `larger than the crawl's byte limit: max_bytes 1000 \(job\)`},
		{crawl: "every", url: at("optout", "/"), outcome: visit.Skipped, reason: visit.OptedOut, rule: `^` + regexp.QuoteMeta(out) + ` is on the opt-out list$`},

		{crawl: "strange", url: "http://nosuchname.test/", outcome: visit.Failed, reason: visit.DNS, rule: `could not be fetched: host name does not exist`},
		{crawl: "strange", url: nobody, outcome: visit.Failed, reason: visit.Connect, rule: `could not be fetched: connection failed`},
		{crawl: "every", url: at("expired", "/"), outcome: visit.Failed, reason: visit.TLS, rule: `could not be fetched: invalid TLS certificate or handshake`},
		{crawl: "hang", url: at("hang", "/fault/hang"), outcome: visit.Failed, reason: visit.Timeout, rule: `timeout`},
		{crawl: "every", url: at("huge", "/fault/bomb"), outcome: visit.Failed, reason: visit.TooLarge, rule: `body too large`},
		{crawl: "every", url: at("short", "/fault/truncated"), outcome: visit.Failed, reason: visit.Truncated, rule: `truncated`},
		{crawl: "every", url: at("garbled", "/fault/badgzip"), outcome: visit.Failed, reason: visit.BadEncoding, rule: `bad_encoding`},
		{crawl: "every", url: at("nowhere", "/fault/badlocation"), outcome: visit.Failed, reason: visit.Protocol, rule: `status 302 with an invalid Location header`},
		{crawl: "every", url: at("loop", "/fault/loop/b"), outcome: visit.Failed, reason: visit.RedirectLoop, rule: `redirect loop or too many redirects, at .*/fault/loop/a`},
		{crawl: "parked", url: at("failing", "/"), outcome: visit.Failed, reason: visit.HostParked, rule: `^a host is given up after 2 failures in a row`},
		{crawl: "sick", url: at("sick", "/fault/hang"), outcome: visit.Failed, reason: visit.Quarantined, rule: `in flight at several crashes`},
	} {
		t.Run(strings.Join([]string{tc.crawl, string(tc.outcome), string(tc.reason)}, " "), func(t *testing.T) {
			t.Parallel()
			why := w.in(t).why(tc.crawl, tc.url)
			if why.Outcome != tc.outcome || why.Reason != tc.reason {
				t.Fatalf("%s: %s %s, want %s %s\n%s", tc.url, why.Outcome, why.Reason, tc.outcome, tc.reason, strings.Join(why.Story, "\n"))
			}
			if !regexp.MustCompile(tc.rule).MatchString(why.Rule) {
				t.Errorf("%s: rule %q, want %s", tc.url, why.Rule, tc.rule)
			}
			if tc.wait != "" && (why.Wait == nil || why.Wait.Reason != tc.wait) {
				t.Errorf("waits for %+v, want %s", why.Wait, tc.wait)
			}
			if why.Now == nil || len(why.Now.Checks) < 4 || len(why.Now.Unknown) == 0 || len(why.Story) < 2 {
				t.Errorf("not answered in full: %+v\n%s", why.Now, strings.Join(why.Story, "\n"))
			}
			if !why.Counted && (why.Found == nil || why.SeenAt.IsZero()) {
				t.Errorf("found %+v at %s", why.Found, why.SeenAt)
			}
		})
	}
}

// TestWhyWhileItRuns queries a running crawl for the state of a page.
func TestWhyWhileItRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(30, func(t *lab.Temper) { t.Site.CrawlDelay = 2 * time.Second }))})
	crawl := w.crawl("run", "--preset", "owned", "--quiet")
	if err := crawl.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := crawl.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = crawl.Wait() // it says that it was killed
	}()
	page := w.lab.Seeds()[0] + "s12/p12.html"
	var why answer.Why
	w.eventually(func() bool {
		if _, err := os.Stat(filepath.Join(w.dir, "run", "crawl.db")); err != nil {
			return false
		}
		cmd := w.command("why", page, "--dir", "run", "--json")
		text, err := cmd.Output()
		why = answer.Why{}
		return err == nil && json.Unmarshal(text, &why) == nil && why.Wait != nil && why.Wait.Live && why.Wait.Reason == visit.WaitCrawlDelay
	})
	if why.Outcome != visit.Pending || !why.Crawl.Running || why.Wait.Until.IsZero() || why.Wait.Host == nil || why.Wait.Host.CrawlDelay.Duration() != 2*time.Second {
		t.Errorf("%+v\n%+v", why, why.Wait)
	}
}

// why is the answer of `headway why --json`.
func (w *world) why(dir, url string) answer.Why {
	w.Helper()
	var why answer.Why
	if err := json.Unmarshal([]byte(w.run(w.command("why", url, "--dir", dir, "--json"), 0)), &why); err != nil {
		w.Fatal(err)
	}
	return why
}

// quarantine crawls a page that crashes the crawler each time it is in flight.
func (w *world) quarantine(dir, url string) {
	w.Helper()
	words := []string{"crawl", url, "--dir", dir, "--preset", "owned", "--quiet", "--sitemaps", "off", "--allow-private", fmt.Sprintf("127.0.0.0/8:%d", w.port)}
	for range 3 {
		cmd := w.command(words...)
		if err := cmd.Start(); err != nil {
			w.Fatal(err)
		}
		w.eventually(func() bool {
			// A question may go to the killed crawl, which never answers.
			ctx, cancel := context.WithTimeout(w.Context(), time.Second)
			defer cancel()
			a, err := ask.NewMailbox(filepath.Join(w.dir, dir)).Ask(ctx, ask.Question{Kind: ask.KindURL, URL: url})
			return err == nil && a.URL != nil && a.URL.Where == ask.PlaceInFlight && a.URL.InFlight > 0
		})
		if err := cmd.Process.Kill(); err != nil {
			w.Fatal(err)
		}
		_ = cmd.Wait() // it says that it was killed
	}
	w.run(w.command(words...), 0, 3, 5)
}

// refused crawls a refused page without retries: by default a crawl retries it as long
// as other pages of its host are served.
func (w *world) refused(dir, url string) {
	w.Helper()
	seed, err := weburl.Parse(url)
	if err != nil {
		w.Fatal(err)
	}
	ranges, err := guard.ParseRange(fmt.Sprintf("127.0.0.0/8:%d", w.port))
	if err != nil {
		w.Fatal(err)
	}
	dialer, err := guard.New(guard.Config{AllowPrivate: []guard.Range{ranges}})
	if err != nil {
		w.Fatal(err)
	}
	client, err := fetch.New(fetch.Config{Dialer: dialer, Identity: fetch.Identity{Product: "headway", Version: "test"}})
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	st, err := sqlite.Open(w.Context(), sqlite.Config{Dir: filepath.Join(w.dir, dir)})
	if err != nil {
		w.Fatal(err)
	}
	defer st.Close()
	policy, _ := politeness.Preset("owned")
	policy.RefusalRetries = 0
	crawl, err := headway.New(headway.Worker{Store: st, Fetcher: client, Owned: func(weburl.URL) bool { return true }},
		headway.Job{Name: "crawl", Seeds: []weburl.URL{seed}, Policy: policy, Sitemaps: headway.SitemapsOff})
	if err != nil {
		w.Fatal(err)
	}
	if _, err := crawl.Run(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// tlsPort is the port of hosts with their own certificate.
func (w *world) tlsPort() int {
	for _, h := range w.lab.Hosts() {
		if rest, ok := strings.CutPrefix(h.URL, "https://"); ok {
			_, port, err := net.SplitHostPort(strings.TrimSuffix(rest, "/"))
			if err != nil {
				w.Fatal(err)
			}
			var n int
			if _, err := fmt.Sscan(port, &n); err != nil {
				w.Fatal(err)
			}
			return n
		}
	}
	return w.port
}

// closedPort is a port that nobody listens on.
func closedPort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
