package e2e

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"headway/lab"
	"headway/lab/temper"
)

// TestHostile crawls good hosts among hostile ones: hosts that refuse, stall, cut
// connections, lie and never end. The crawl ends within its limits, the good hosts are
// complete, and hardly later than without the others.
func TestHostile(t *testing.T) {
	t.Parallel()
	good, pages, delay := 10, 12, 300*time.Millisecond
	if full {
		good, pages, delay = 100, 40, 100*time.Millisecond
	}
	args := []string{
		"--preset", "owned", "--delay", delay.String(), "--jitter", "0", "--sitemaps", "off",
		"--patience", "4s", "--timeout", "2s", "--max-time", "60s", "--max-pages-per-host", fmt.Sprint(2 * pages),
	}
	alone := newWorld(t, lab.Config{Hosts: lab.Uniform(good, site(pages))})
	w := newWorld(t, lab.Config{Hosts: append(lab.Uniform(good, site(pages)), hostile(good)...)})
	// The short form runs both crawls at the same time, so that a busy machine slows
	// both.
	beside := alone.crawl("run", args...)
	if err := beside.Start(); err != nil {
		t.Fatal(err)
	}
	ended := sync.OnceValue(beside.Wait)
	if full {
		_ = ended() // checked below
	}
	began := time.Now()
	t.Log(w.run(w.crawl("run", args...), 0, 3))
	if took := time.Since(began); took > 90*time.Second {
		t.Errorf("took %v, its budget is 60 s", took)
	}
	if err := ended(); err != nil {
		t.Errorf("without the hostile ones: %v", err)
	}
	alone.complete()
	without := finish(alone, good)
	w.honouredRefusals("run")
	for _, h := range w.lab.Hosts()[:good] {
		if s := w.host(h); s.UniquePages != int64(pages) {
			t.Errorf("%s: %d of %d pages", h.Name, s.UniquePages, pages)
		}
	}
	with := finish(w, good)
	t.Logf("the last page of a good host came after %v, without the hostile ones %v", with, without)
	leave := without / 10
	if !full {
		leave = without // a short crawl
	}
	if with > without+leave {
		t.Errorf("the good hosts took %v, without the hostile ones %v", with, without)
	}
}

// hostile is at least n hosts of every hostile profile.
func hostile(n int) []lab.HostSpec {
	bad := []lab.Temper{
		site(20, func(t *lab.Temper) { t.Rules.ErrorRate = 0.5 }),
		site(20, func(t *lab.Temper) { t.Rules.Latency = temper.Constant(10 * time.Second) }),
		site(20, func(t *lab.Temper) { t.Site.Faults = true }),
		site(20, func(t *lab.Temper) { t.Site.Exhibits = true }),
		site(20, func(t *lab.Temper) { t.Site.Robots5xx = 1 }),
		site(20, func(t *lab.Temper) { t.Site.Traps = lab.Calendar | lab.Facets | lab.Sessions }),
		site(20, func(t *lab.Temper) { t.Site.RedirectRate = 0.9 }),
		site(20, func(t *lab.Temper) { t.Site.CrawlDelay = 400 * time.Second }),
	}
	var list []lab.HostSpec
	for i := range max(n, len(bad)) {
		list = append(list, lab.HostSpec{Name: fmt.Sprintf("bad%d", i), Temper: bad[i%len(bad)]})
	}
	return list
}

// host is the lab's counters of a host.
func (w *world) host(h lab.Host) lab.HostStats {
	for _, s := range w.lab.Stats().PerHost {
		if s.Host+"/" == h.URL {
			return s
		}
	}
	return lab.HostStats{}
}

// finish is how long after the first request the last page of the first n hosts was
// answered.
func finish(w *world, n int) time.Duration {
	good := map[string]bool{}
	for _, h := range w.lab.Hosts()[:n] {
		good[h.URL] = true
	}
	var first, last time.Time
	for _, r := range w.lab.Log() {
		if first.IsZero() || r.Start.Before(first) {
			first = r.Start
		}
		if good[r.Host+"/"] && r.Start.After(last) {
			last = r.Start
		}
	}
	return last.Sub(first)
}
