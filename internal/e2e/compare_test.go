package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"headway/answer"
	"headway/lab"
)

// TestSinceAndCompare crawls a site twice, the second time incrementally, and expects
// exactly the changes in between.
func TestSinceAndCompare(t *testing.T) {
	const hosts, pages = 2, 60
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(pages, func(t *lab.Temper) { t.Site.ChangeRate = 0.2 }))})
	args := []string{"--preset", "owned", "--sitemaps", "off", "--format", allFormats}
	w.run(w.crawl("monday", args...), 0)
	first := w.lab.Stats().Total.PageAnswers
	w.run(w.crawl("same", append(args, "--since", "monday")...), 0)
	same := w.compare("monday", "same")
	if same.Same != hosts*pages || !same.Certain {
		t.Errorf("nothing changed, and it says %+v", same)
	}
	// Unchanged pages stay unchanged, also for a crawl based on one that got 304s.
	w.run(w.crawl("again", append(args, "--since", "same")...), 0)
	for _, dir := range []string{"same", "again"} {
		if a, b := w.sitemaps("monday"), w.sitemaps(dir); len(a) == 0 || !slices.Equal(a, b) {
			t.Errorf("%d URLs in the sitemaps of monday, %d in those of %s", len(a), len(b), dir)
		}
	}
	w.lab.NextEpoch()
	w.run(w.crawl("tuesday", append(args, "--since", "monday")...), 0)
	w.complete()
	w.clean()
	c := w.compare("monday", "tuesday")
	var changed int64
	for _, ch := range c.Changes {
		switch ch.Kind {
		case answer.PageChanged:
			changed = ch.Total
		case answer.PageSlower: // depends on the machine
		default:
			if ch.Total > 0 {
				t.Errorf("%d pages are %s", ch.Total, ch.Kind)
			}
		}
	}
	if changed < hosts*pages/20 || c.Same+changed != hosts*pages {
		t.Errorf("%d pages changed and %d did not", changed, c.Same)
	}
	if n := w.lab.Stats().Total.PageAnswers; first == 0 || n > 4*first {
		t.Errorf("%d pages were answered in four crawls of %d", n, first)
	}
	if out := w.run(w.command("compare", "monday", "tuesday"), 0); !strings.Contains(out, "changed") {
		t.Errorf("it says:\n%s", out)
	}
	w.run(w.crawl("monday", append(args, "--since", "monday")...), 2) // itself

	w.run(w.command("report", "--dir", "tuesday", "--since", "monday"), 0)
	b, err := os.ReadFile(filepath.Join(w.dir, "tuesday", "report.html"))
	if err != nil || !strings.Contains(string(b), "not_modified") || !strings.Contains(string(b), fmt.Sprintf("changed: %d · ", changed)) {
		t.Errorf("the report: %d bytes, %v", len(b), err)
	}
}

// compare runs headway compare.
func (w *world) compare(before, after string) answer.Comparison {
	w.Helper()
	var c answer.Comparison
	if err := json.Unmarshal([]byte(w.run(w.command("compare", before, after, "--json"), 0)), &c); err != nil {
		w.Fatal(err)
	}
	return c
}
