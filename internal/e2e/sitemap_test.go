package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"headway/lab"
)

// TestSitemapStreams: the first page comes soon though the sitemaps list a hundred
// thousand, and exactly as many pages as requested are fetched.
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
	// A busy machine may be late, but not always.
	took := []time.Duration{w.firstPage(began)}
	for try := 2; took[len(took)-1] > 2*time.Second; try++ {
		if try > 5 {
			t.Errorf("the first page was requested after %v", took)
			break
		}
		began := time.Now()
		w.run(w.crawl(fmt.Sprintf("run%d", try), "--preset", "owned", "--max-pages", "1"), 3)
		took = append(took, w.firstPage(began))
	}
	t.Logf("the first page was requested after %v", took)
	if !strings.Contains(out, "max_pages") || !strings.Contains(out, "pending") {
		t.Errorf("the summary does not say that the page limit stopped it with work left")
	}
}

// firstPage is how long after a time the home page was requested.
func (w *world) firstPage(began time.Time) time.Duration {
	w.Helper()
	for _, r := range w.lab.Log() {
		if r.Target == "/" && r.Start.After(began) {
			return r.Start.Sub(began)
		}
	}
	w.Fatal("the home page was not requested")
	return 0
}

// TestSitemapMoved follows redirects of a sitemap, and detects redirect loops.
func TestSitemapMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, lab.Config{Hosts: lab.Uniform(1, site(1))})
	mux := http.NewServeMux()
	moved := func(to string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusMovedPermanently) }
	}
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "Sitemap: /sitemap.xml\nSitemap: /circle.xml\n")
	})
	mux.HandleFunc("/sitemap.xml", moved("/all/sitemap.xml"))
	mux.HandleFunc("/circle.xml", moved("/back.xml"))
	mux.HandleFunc("/back.xml", moved("/circle.xml"))
	mux.HandleFunc("/all/sitemap.xml", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://%s/only.html</loc></url></urlset>`, r.Host)
	})
	mux.HandleFunc("/{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/only.html", func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(mux)
	defer server.Close()
	out := w.run(w.command("crawl", server.URL, "--dir", "moved", "--preset", "owned", "--allow-private", strings.TrimPrefix(server.URL, "http://")), 0)
	if !strings.Contains(out, "seen 2 = 2 fetched") || !strings.Contains(out, "7 requests") {
		t.Errorf("want two pages after robots.txt and four sitemaps:\n%s", out)
	}
}
