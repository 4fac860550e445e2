package e2e

import (
	"testing"
	"time"

	"headway/lab"
)

// TestTwoTerminals runs two crawls of the same hosts at once. The hosts see one
// pace.
func TestTwoTerminals(t *testing.T) {
	const hosts, pages, delay = 4, 12, 300 * time.Millisecond
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(hosts, site(pages, func(t *lab.Temper) { t.Site.CrawlDelay = delay }))})
	args := []string{"--preset", "owned", "--jitter", "0", "--sitemaps", "off"}
	first := w.crawl("one", args...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	w.run(w.crawl("two", args...), 0)
	if err := first.Wait(); err != nil {
		t.Fatal(err)
	}
	w.complete()
	w.clean()
	s := w.lab.Stats()
	if want := int64(2 * hosts * pages); s.Total.PageAnswers != want {
		t.Errorf("%d pages were answered, want %d: each crawl has its own", s.Total.PageAnswers, want)
	}
	if s.Total.MaxConcurrent > 1 {
		t.Errorf("%d requests at once", s.Total.MaxConcurrent)
	}
	w.atLeast("the smallest gap", s.Total.MinGapMS, delay, serverShare)
}
