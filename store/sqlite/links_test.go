package sqlite

import (
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// linkBound is the maximum size of a link on disk, and inlinkBound the maximum time to read
// the links to a URL among a million.
const (
	linkBound   = 120
	inlinkBound = 100 * time.Millisecond
)

// TestLinkSize measures the bytes a link takes on disk, and the time to find the links to
// pages, also to one that all pages link to. HEADWAY_FULL=1 stores a million links and checks
// the time.
func TestLinkSize(t *testing.T) {
	edges := 30_000
	full := os.Getenv("HEADWAY_FULL") != ""
	if full {
		edges = 1_000_000
	}
	for _, perPage := range []int{10, 60} {
		t.Run(fmt.Sprintf("%d a page", perPage), func(t *testing.T) {
			pages := edges / perPage
			without, _ := storeLinks(t, pages, perPage, false)
			with, o := storeLinks(t, pages, perPage, true)
			size := float64(with-without) / float64(edges)
			t.Logf("%.1f bytes a link", size)
			if size > linkBound {
				t.Errorf("%.1f bytes a link, at most %d", size, linkBound)
			}
			r := rand.New(rand.NewPCG(1, 2))
			slowest := time.Duration(0)
			for range 50 {
				begin := time.Now()
				page, err := o.s.Inlinks(t.Context(), store.InlinkQuery{Job: o.job, URL: sitePage(t, r.IntN(pages)), Max: 50})
				o.check(err)
				slowest = max(slowest, time.Since(begin))
				if len(page.Links) == 0 {
					t.Error("a page without links to it")
				}
			}
			begin := time.Now()
			page, err := o.s.Inlinks(t.Context(), store.InlinkQuery{Job: o.job, URL: sitePage(t, 0), Max: 400})
			o.check(err)
			hub := time.Since(begin)
			if len(page.Links) != 400 || page.Next == "" {
				t.Errorf("%d links to the page that all link to, next %q", len(page.Links), page.Next)
			}
			t.Logf("links to a page: %s, 400 of the links to a hub: %s", slowest.Round(100*time.Microsecond), hub.Round(100*time.Microsecond))
			if full && max(slowest, hub) > inlinkBound {
				t.Errorf("the links to a page took %s, to a hub %s, at most %s", slowest, hub, inlinkBound)
			}
		})
	}
}

// storeLinks stores pages that link to each other, and returns the size of the file.
func storeLinks(t *testing.T, pages, perPage int, keep bool) (int64, *owner) {
	t.Helper()
	const batch = 100
	s := openTest(t, t.TempDir(), nil)
	o := newOwner(t, s, 0)
	o.check(s.w.script(t.Context(), "pragma synchronous = off"))
	r := rand.New(rand.NewPCG(1, 2))
	for from := 0; from < pages; from += batch {
		var found []store.Found
		var c store.Commit
		for i := from; i < min(from+batch, pages); i++ {
			u := sitePage(t, i)
			found = append(found, store.Found{Item: visit.Item{Job: o.job, URL: u, Found: visit.FoundSeed}})
			v := visit.Visit{
				Item: visit.Item{Job: o.job, URL: u}, Outcome: visit.Fetched, Answer: visit.Answer{Status: 200, ContentType: "text/html"},
				Timing: visit.Timing{Sent: o.now, Total: 30 * time.Millisecond}, Page: visit.Page{Title: "A page"},
			}
			if keep {
				v.Links = siteLinks(t, r, i, pages, perPage)
				v.Page.Links = visit.Keep(v.Links, false)
			}
			c.Visits = append(c.Visits, v)
		}
		_, err := s.Add(t.Context(), o.now, found)
		o.check(err)
		_, err = o.commit(c)
		o.check(err)
	}
	o.check(s.w.query(t.Context(), "pragma wal_checkpoint(truncate)", nil, func([]driver.Value) error { return nil }))
	info, err := os.Stat(s.path)
	o.check(err)
	return info.Size(), o
}

// siteLinks are the links of a page: to the hub and the pages around it, and to any pages.
func siteLinks(t *testing.T, r *rand.Rand, page, pages, n int) []visit.Link {
	t.Helper()
	links := make([]visit.Link, n)
	for i := range links {
		to := r.IntN(pages)
		switch {
		case i == 0:
			to = 0
		case i < n/3:
			to = i
		case i == n-1:
			to = (page + 1) % pages
		}
		links[i] = visit.Link{URL: sitePage(t, to), Kind: "a", Anchor: randomWords(uint64(to), 2+r.IntN(5), " ")}
		if i%10 == 9 {
			links[i].Rel = "noopener nofollow"
			links[i].Nofollow = true
		}
	}
	return links
}

// sitePage is the URL of a page, about 70 bytes long.
func sitePage(t *testing.T, n int) weburl.URL {
	t.Helper()
	return mustURL(t, fmt.Sprintf("https://www.site-%02d.example/%s/%s-%d", n%40, randomWords(uint64(n%200), 1, ""), randomWords(uint64(n), 5, "-"), n))
}

// randomWords are words that depend on a number, and compress about as badly as names.
func randomWords(seed uint64, n int, between string) string {
	r := rand.New(rand.NewPCG(seed, 7))
	var words []string
	for range n {
		var w strings.Builder
		for range 2 + r.IntN(3) {
			w.WriteByte("bcdfghklmnprstvw"[r.IntN(16)])
			w.WriteByte("aeiou"[r.IntN(5)])
		}
		words = append(words, w.String())
	}
	return strings.Join(words, between)
}
