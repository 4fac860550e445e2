package fetchpool_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"headway/frontier"
	"headway/visit"
)

// sitemap returns a sitemap with n pages.
func sitemap(pages int) string {
	var b strings.Builder
	b.WriteString(`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for i := range pages {
		fmt.Fprintf(&b, "<url><loc>%s/%d</loc></url>", host, i)
	}
	b.WriteString("</urlset>")
	return b.String()
}

// TestSitemap stores entries in chunks, each before the next is read.
func TestSitemap(t *testing.T) {
	in(t, nil, func(r *rig) {
		r.replies[host+"/s.xml"] = reply{body: sitemap(4500), takes: time.Second}
		r.Start(r.work, r.task(frontier.Sitemap, "/s.xml"))
		for i, size := range []int{2000, 2000, 500} {
			r.run(time.Minute)
			if len(r.listed) != i+1 || len(r.listed[i]) != size || r.listings != 0 || r.Busy() != 1 {
				t.Fatalf("%d chunks while chunk %d is stored, %d busy", len(r.listed), i, r.Busy())
			}
			r.stored()
		}
		r.settle()
		if len(r.listed) != 3 || r.listings != 1 {
			t.Errorf("%d chunks, done %d times", len(r.listed), r.listings)
		}
		if len(r.sitemaps) != 1 || r.sitemaps[0].Answer.Status != http.StatusOK || r.sitemaps[0].Answer.Latency != 0 {
			t.Errorf("landed %+v", r.sitemaps)
		}
		if l := r.listed[2][499]; l.Item.Found != visit.FoundSitemap || l.Item.Job != 1 || l.Item.URL.Path() != "/4499" {
			t.Errorf("the last is %+v", l)
		}
	})
}

// TestSitemapInterrupted does not count as read if the work ends before it is stored.
func TestSitemapInterrupted(t *testing.T) {
	in(t, nil, func(r *rig) {
		r.replies[host+"/s.xml"] = reply{body: sitemap(2001)}
		r.Start(r.work, r.task(frontier.Sitemap, "/s.xml"))
		r.run(time.Minute)
		r.stop()
		r.settle()
		if len(r.listed) != 1 || r.listings != 0 {
			t.Errorf("%d chunks, done %d times", len(r.listed), r.listings)
		}
	})
}

// TestSitemapElsewhere follows an index and a redirect. What robots.txt disallows is not
// requested again.
func TestSitemapElsewhere(t *testing.T) {
	in(t, nil, func(r *rig) {
		r.replies[host+"/index.xml"] = reply{body: `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>` + host + `/s.xml</loc></sitemap></sitemapindex>`}
		r.replies[host+"/old.xml"] = reply{status: http.StatusMovedPermanently, header: http.Header{"Location": {"/new.xml"}}}
		r.replies[host+"/gone.xml"] = reply{status: http.StatusNotFound}
		for _, path := range []string{"/index.xml", "/old.xml", "/gone.xml"} {
			r.Start(r.work, r.task(frontier.Sitemap, path))
			r.settle()
		}
		if len(r.nested) != 1 || r.nested[0].Path() != "/s.xml" || len(r.moved) != 1 || r.moved[0].Path() != "/new.xml" || r.listings != 3 {
			t.Errorf("leads to %v and %v, done %d times", r.nested, r.moved, r.listings)
		}
		disallowed := r.task(frontier.Sitemap, "/s.xml")
		disallowed.Robots = r.file("User-agent: *\nDisallow: /s.xml")
		r.Start(r.work, disallowed)
		r.settle()
		lost := r.task(frontier.Sitemap, "/s.xml")
		lost.Robots.Sum[0]++
		r.Start(r.work, lost)
		r.settle()
		if len(r.sitemaps) != 5 || !r.sitemaps[3].Skipped || !r.sitemaps[4].Skipped || r.listings != 4 || len(r.requests) != 3 {
			t.Errorf("landed %+v, done %d times", r.sitemaps, r.listings)
		}
	})
}
