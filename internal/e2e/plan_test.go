package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"headway/answer"
	"headway/lab"
	labtemper "headway/lab/temper"
)

// plan is the output of headway plan for a crawl of all hosts of the lab.
func (w *world) plan(code int, args ...string) answer.Plan {
	w.Helper()
	args = append([]string{"plan", "--seeds", w.seeds, "--json", "--allow-private", fmt.Sprintf("127.0.0.0/8:%d", w.port)}, args...)
	var p answer.Plan
	if err := json.Unmarshal([]byte(w.run(w.command(args...), code)), &p); err != nil {
		w.Fatal(err)
	}
	return p
}

// planTolerance is how far a plan may be off.
const planTolerance = 0.3

// near checks that an estimate is within the tolerance.
func (w *world) near(what string, guess, came float64) {
	w.Helper()
	if off := math.Abs(guess-came) / came; off > planTolerance {
		w.Errorf("%s: planned %.2f, came to %.2f: %.0f %% off", what, guess, came, 100*off)
	}
}

// lasted is the time from the first request to the last response, by the servers'
// clock: the start of a process is not part of the plan.
func lasted(log []lab.Request) time.Duration {
	first, last := log[0].Start, log[0].Answer
	for _, r := range log {
		if r.Start.Before(first) {
			first = r.Start
		}
		if r.Answer.After(last) {
			last = r.Answer
		}
	}
	return last.Sub(first)
}

// TestPlan plans the crawl of ten sites with sitemaps, then crawls them, and compares.
func TestPlan(t *testing.T) {
	t.Parallel()
	latency := func(l time.Duration) func(*lab.Temper) {
		return func(t *lab.Temper) { t.Rules.Latency = labtemper.Constant(l) }
	}
	for _, tc := range []struct {
		name  string
		hosts []lab.HostSpec
		args  []string
		first bool // crawled once before, so that host state is known
		codes []int
	}{
		{name: "one pace", hosts: lab.Uniform(1, site(60)), args: []string{"--preset", "owned", "--delay", "100ms"}},
		{name: "a slower pace", hosts: lab.Uniform(1, site(25)), args: []string{"--preset", "owned", "--delay", "300ms"}},
		{name: "Crawl-delay", hosts: lab.Uniform(1, site(20, func(t *lab.Temper) { t.Site.CrawlDelay = 300 * time.Millisecond })), args: []string{"--preset", "owned"}},
		{name: "the preset for any site", hosts: lab.Uniform(1, site(7))},
		{name: "several hosts", hosts: lab.Uniform(4, site(30)), args: []string{"--preset", "owned", "--delay", "150ms"}},
		{name: "hosts of several sizes", hosts: []lab.HostSpec{{Name: "a.test", Temper: site(10)}, {Name: "b.test", Temper: site(45)}}, args: []string{"--preset", "owned", "--delay", "120ms"}},
		{name: "answers slower than the pace", hosts: lab.Uniform(1, site(40, latency(600*time.Millisecond))), args: []string{"--preset", "owned", "--delay", "50ms", "--in-flight", "4"}},
		{name: "answers that set the pace", hosts: lab.Uniform(1, site(60, latency(400*time.Millisecond))), args: []string{"--preset", "owned", "--in-flight", "4"}},
		{name: "a page limit", hosts: lab.Uniform(1, site(200)), args: []string{"--preset", "owned", "--delay", "100ms", "--max-pages", "50"}, codes: []int{3}},
		{name: "a pace that was learned", hosts: lab.Uniform(1, site(40, func(t *lab.Temper) {
			t.Rules.Limits = []labtemper.Limit{{Rate: 4, Burst: 2}}
		})), args: []string{"--preset", "owned", "--delay", "50ms"}, first: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if tc.codes == nil {
				tc.codes = []int{0}
			}
			w := newWorld(t, lab.Config{Hosts: tc.hosts})
			if tc.first {
				w.run(w.crawl("first", tc.args...), tc.codes...)
				w.honouredRefusals("first")
				w.lab.Reset()
			}
			p := w.plan(0, tc.args...)
			if sent := w.lab.Stats().Total.Requests; int64(p.Sent) != sent || sent > int64(9*len(tc.hosts)) {
				t.Errorf("it sent %d requests by the servers' count, %d by its own", sent, p.Sent)
			}
			w.clean()
			w.lab.Reset()
			w.run(w.crawl("run", tc.args...), tc.codes...)
			took, pages := lasted(w.lab.Log()), w.lab.Stats().Total.PageAnswers
			t.Logf("%s planned %d pages and %s, came to %d and %s", p.Sentence, p.Pages, p.Takes.Duration(), pages, took)
			w.near("pages", float64(p.Pages), float64(pages))
			if full { // a busy machine takes longer; package cli checks it in virtual time
				w.near("seconds", p.Takes.Duration().Seconds(), took.Seconds())
			}
			if !p.SizeKnown {
				t.Error("it does not know how many pages there are")
			}
			if want := map[bool]string{true: "max_pages"}[tc.codes[0] == 3]; p.StoppedBy != want {
				t.Errorf("it would be stopped by %q, want %q", p.StoppedBy, want)
			}
			if known := p.Hosts[0].Remembered; known != tc.first || tc.first && p.Hosts[0].Source != "learned" {
				t.Errorf("known before: %v, the pace set by %s", known, p.Hosts[0].Source)
			}
			w.honouredRefusals("run")
		})
	}
}

// TestPlanWithoutSitemap lists what is unknown, and minimums.
func TestPlanWithoutSitemap(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(100, func(t *lab.Temper) { t.Site.Sitemap = "none" }))})
	p := w.plan(0, "--preset", "owned", "--delay", "10ms")
	if p.SizeKnown || p.Pages < 2 || p.Pages > 100 || p.Hosts[0].Links == 0 {
		t.Errorf("size known: %v, pages %d, links %d", p.SizeKnown, p.Pages, p.Hosts[0].Links)
	}
	if !strings.Contains(p.Sentence, "the total is unknown until crawled") || len(p.Unknown) == 0 || !strings.Contains(p.Unknown[0], "no sitemap gives a count") {
		t.Errorf("it says %q, and does not know %q", p.Sentence, p.Unknown)
	}
	if p := w.plan(0, "--preset", "owned", "--delay", "10ms", "--max-pages", "2"); p.StoppedBy != "max_pages" || p.Ends != "partial" || p.Pages != 2 {
		t.Errorf("with a page limit: %+v", p)
	}
	w.clean()
}

// TestPlanStopped says what would prevent a crawl from fetching anything, and requests
// no page that it may not.
func TestPlanStopped(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		temper lab.Temper
		want   string // part of the reason
		ends   string
		code   int
	}{
		"forbidden":  {site(10, func(t *lab.Temper) { t.Site.Robots = "deny" }), "robots.txt disallows the seed, line ", "blocked", 4},
		"unreadable": {site(10, func(t *lab.Temper) { t.Site.Robots = "500" }), "robots.txt is unreachable", "blocked", 4},
		"too slow":   {site(10, func(t *lab.Temper) { t.Site.CrawlDelay = 10 * time.Minute }), "above the maximum of 5m0s", "blocked", 4},
		"a firewall": {site(10, func(t *lab.Temper) {
			t.Site.Challenge = "cloudflare-403"
			t.Rules.Outages = []labtemper.Outage{{AfterRequests: 1, Action: labtemper.Challenge}}
		}), "challenge page", "blocked", 4},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, tc.temper)})
			p := w.plan(tc.code, "--preset", "owned")
			if string(p.Ends) != tc.ends || !strings.Contains(p.Sentence, tc.want) || p.Pages != 0 {
				t.Errorf("ends %s with %d pages: %q", p.Ends, p.Pages, p.Sentence)
			}
			w.clean()
		})
	}
}

// TestPlanKeepsNothing leaves no folder behind, and no crawl to resume.
func TestPlanKeepsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(5))})
	w.plan(0, "--preset", "owned")
	left, err := filepath.Glob(filepath.Join(w.dir, "headway-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if temp, err := filepath.Glob(filepath.Join(os.TempDir(), "headway-plan-*")); err != nil || len(temp) > 0 {
		t.Logf("folders of plans, perhaps of others: %v, %v", temp, err)
	}
	w.clean()
}
