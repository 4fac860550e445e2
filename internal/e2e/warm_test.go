package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"headway/lab"
	"headway/lab/temper"
	"headway/visit"
)

// warmed is a site behind a cache that keeps pages for a day. Its origin serves one
// page at a time.
func warmed(pages int, service time.Duration) lab.Temper {
	return site(pages, func(t *lab.Temper) {
		t.Site.Cache, t.Site.CacheTTL = "cloudflare", 24*time.Hour
		t.Origin = &temper.Rules{Queue: temper.Queue{Service: service}}
	})
}

// warmReport is the part of headway warm --json that tests read.
type warmReport struct {
	State  string `json:"state"`
	Seen   int64  `json:"seen"`
	Links  bool   `json:"followed_links"`
	Before warmReading
	After  warmReading
	Slowed []struct {
		Why string `json:"why"`
	} `json:"slowed"`
}

type warmReading struct {
	Pages int64 `json:"pages"`
	Rows  []struct {
		Verdict string `json:"verdict"`
		Pages   int64  `json:"pages"`
		Median  int64  `json:"median_ms"`
	} `json:"rows"`
	Barred []struct {
		Header string `json:"header"`
		Pages  int64  `json:"pages"`
	} `json:"barred"`
}

// pages counts the pages of a verdict.
func (r warmReading) pages(verdict string) int64 {
	for _, row := range r.Rows {
		if row.Verdict == verdict {
			return row.Pages
		}
	}
	return 0
}

// warm runs headway warm on the first host of the lab.
func (w *world) warm(args ...string) []string {
	return append([]string{"warm", w.lab.Seeds()[0], "--allow-private", fmt.Sprintf("127.0.0.0/8:%d", w.port), "--dir", "warm", "--json"}, args...)
}

func (w *world) readWarm(out string) warmReport {
	w.Helper()
	var r warmReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		w.Fatalf("%v in\n%s", err, out)
	}
	return r
}

// TestWarmSparesTheOrigin warms a cache in front of an origin that cannot keep up with
// the pace. Measured at the origin, the 95th percentile is above twice its idle value
// for at most ten seconds, and uncacheable pages are requested once.
func TestWarmSparesTheOrigin(t *testing.T) {
	t.Parallel()
	pages, service, pace := int64(32), 250*time.Millisecond, []string{"--delay", "100ms"}
	if full {
		pages, service, pace = 600, 700*time.Millisecond, nil
	}
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, warmed(int(pages), service))})
	out := w.run(w.command(w.warm(pace...)...), 0)
	w.clean()
	w.complete()
	host := w.lab.Stats().PerHost[0]
	t.Logf("origin %+v", *host.Origin)
	if host.Origin.OverMS > 10_000 {
		t.Errorf("the origin was over twice its idle time for %v ms", host.Origin.OverMS)
	}
	if host.Origin.MostNever != 1 || host.Origin.MostPage != 1 || host.Origin.Requests != pages {
		t.Errorf("the origin made one page %d times, one that is never kept %d times, and %d of %d in all", host.Origin.MostPage, host.Origin.MostNever, host.Origin.Requests, pages)
	}
	r := w.readWarm(out)
	never := pages / 16
	if r.State != "complete" || r.Seen != pages || r.Links {
		t.Errorf("ended %s with %d URLs, links followed: %v", r.State, r.Seen, r.Links)
	}
	if b := r.Before; b.Pages != pages || b.pages("miss") != pages-never || b.pages("bypass") != never {
		t.Errorf("before: %+v, want %d misses and %d never kept", b, pages-never, never)
	}
	if a := r.After; a.Pages != pages || a.pages("hit") != pages-never || a.pages("bypass") != never || a.pages("hit") != host.CacheHits {
		t.Errorf("after: %+v, want %d hits; the cache had %d", a, pages-never, host.CacheHits)
	}
	var barred int64
	for _, b := range r.Before.Barred {
		barred += b.Pages
	}
	if barred != never || len(r.Before.Barred) != 2 {
		t.Errorf("never kept: %+v, want %d pages by two headers", r.Before.Barred, never)
	}
	if len(r.Slowed) == 0 || !strings.Contains(r.Slowed[0].Why, "response times increased") {
		t.Errorf("slowed %v, want once at least, by response times", r.Slowed)
	}
}

// TestWarmWithoutSitemap follows links if there is no sitemap, and says so.
func TestWarmWithoutSitemap(t *testing.T) {
	t.Parallel()
	const pages = 20
	s := warmed(pages, time.Millisecond)
	s.Site.Sitemap = "none"
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, s)})
	cmd := w.command(w.warm("--delay", "20ms")...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &errs)
	}
	r := w.readWarm(out.String())
	w.clean()
	w.complete()
	if !r.Links || r.Before.Pages < pages || !strings.Contains(errs.String(), "following links instead") {
		t.Errorf("links followed: %v, %d pages; it says\n%s", r.Links, r.Before.Pages, &errs)
	}
	if host := w.lab.Stats().PerHost[0]; host.Origin.MostPage != 1 {
		t.Errorf("the origin made one page %d times", host.Origin.MostPage)
	}
}

// TestWarmKilled kills the second pass. The same command resumes it, with the results
// of the first pass.
func TestWarmKilled(t *testing.T) {
	t.Parallel()
	const pages = 32
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, warmed(pages, time.Millisecond))})
	args := w.warm("--delay", "100ms")
	cmd := w.command(args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() bool { return w.lab.Stats().Total.CacheHits >= 5 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("it ended before it was killed")
	}
	// Responses that were not recorded are requested once more.
	w.eventually(func() bool { return w.lab.Stats().Total.InFlight == 0 })
	again, recorded := w.lab.Stats().Total.CacheHits, map[string][]*visit.Visit{}
	w.attempts("warm", recorded)
	for _, list := range recorded {
		for _, v := range list {
			if v.Answer.Cache.Verdict == visit.CacheHit {
				again--
			}
		}
	}
	r := w.readWarm(w.run(w.command(args...), 0))
	w.clean()
	host := w.lab.Stats().PerHost[0]
	if host.Origin.MostNever != 1 || host.Origin.Requests != pages {
		t.Errorf("the origin made %d pages, one that is never kept %d times", host.Origin.Requests, host.Origin.MostNever)
	}
	// One may have been in flight when all were counted.
	if kept := int64(pages - pages/16); host.CacheHits < kept+again || host.CacheHits > kept+again+1 {
		t.Errorf("%d pages came from the cache, want each of %d once, and %d once more", host.CacheHits, kept, again)
	}
	t.Logf("%d pages were requested once more", again)
	if r.State != "complete" || r.Before.pages("miss") != pages-pages/16 || r.After.pages("hit") != pages-pages/16 {
		t.Errorf("%+v", r)
	}
}
