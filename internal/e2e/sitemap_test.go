package e2e

import (
	"strings"
	"testing"
	"time"

	"headway/lab"
)

// TestSitemapStreams wants the first page soon though the sitemaps list a
// hundred thousand, and exactly as many pages as were asked for.
func TestSitemapStreams(t *testing.T) {
	entries, most := 20_000, int64(500)
	if full {
		entries, most = 100_000, 5000
	}
	s := site(entries)
	s.Site.Sitemap = "parts"
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, s)})
	began := time.Now()
	out := w.run(w.crawl("run", "--preset", "owned", "--max-pages", map[bool]string{false: "500", true: "5000"}[full]), 3)
	t.Log(out)
	w.clean()
	total := w.lab.Stats().Total
	if total.PageAnswers != most || total.UniquePages != most {
		t.Errorf("%d pages were fetched, %d different ones; want exactly %d", total.PageAnswers, total.UniquePages, most)
	}
	if total.SitemapFetches < 2 {
		t.Errorf("%d sitemaps were read", total.SitemapFetches)
	}
	for _, r := range w.lab.Log() {
		if r.Target == "/" {
			if after := r.Start.Sub(began); after > 2*time.Second {
				t.Errorf("the first page was asked for after %v", after)
			}
			break
		}
	}
	if !strings.Contains(out, "max_pages") || !strings.Contains(out, "pending") {
		t.Errorf("the summary does not say that the page limit stopped it with work left")
	}
}
