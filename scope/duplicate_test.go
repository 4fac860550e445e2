package scope

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"headway/lab"
	"headway/parse"
)

func TestDuplicates(t *testing.T) {
	var d Duplicates
	page := func(i int) string { return fmt.Sprintf("https://a.example/item/%d?page=%d", i, i) }
	for i := range SameInARow {
		if got := d.Look(mustURL(t, page(i))); !got.In {
			t.Fatalf("page %d: %+v", i, got)
		}
		d.Observe(mustURL(t, page(i)), 0xabc, "digest")
	}
	in := 0
	for i := range 10 * ProbeEvery {
		got := d.Look(mustURL(t, page(100+i)))
		if got.In {
			in++
		} else if got != (Decision{Reason: DuplicateContent, Rule: "the last 8 similar pages had the same text"}) {
			t.Fatalf("%+v", got)
		}
	}
	if in != 10 {
		t.Errorf("%d of %d were let through to see, want 10", in, 10*ProbeEvery)
	}
	for _, other := range []string{
		"https://a.example/item/7", "https://a.example/item/7?q=7", "https://a.example/item/7/more?page=7", "https://b.example/item/7?page=7",
	} {
		if !d.Look(mustURL(t, other)).In {
			t.Errorf("%s has the same template", other)
		}
	}
	for _, same := range []string{"http://a.example/item/99999?page=x", "https://a.example/item/1?page=1&sid=0123456789abcdef"} {
		if d.Look(mustURL(t, same)).In {
			t.Errorf("%s has another template", same)
		}
	}
	d.Observe(mustURL(t, page(0)), 0xdef, "other") // the probe found new content
	if !d.Look(mustURL(t, page(1))).In {
		t.Error("the template is not looked at again")
	}
}

func TestDuplicatesNeedConsecutivePages(t *testing.T) {
	var d Duplicates
	u := mustURL(t, "https://a.example/item/1")
	for i := range 10 * SameInARow {
		simhash, digest := uint64(0xabc), "same"
		switch {
		case i%SameInARow == 0:
			simhash, digest = 0xdef, "new"
		case i%3 == 0:
			simhash = 0 // no text: ignored
		}
		d.Observe(u, simhash, digest)
		if got := d.Look(u); !got.In {
			t.Fatalf("after %d: %+v", i, got)
		}
	}
}

func TestPagesWithoutTextAreIgnored(t *testing.T) {
	var d Duplicates
	u := mustURL(t, "https://a.example/app/1")
	for range 10 * SameInARow {
		d.Observe(u, 0, "of nothing")
		if got := d.Look(u); !got.In {
			t.Fatalf("%+v", got)
		}
	}
}

func TestDuplicatesAreBounded(t *testing.T) {
	var d Duplicates
	for i := range MaxTemplates + 100 {
		d.Observe(mustURL(t, "https://a.example/"+strings.Repeat("x", i%300)+"/"+strings.Repeat("y", i/300)), 1, "")
	}
	if len(d.templates) != MaxTemplates || d.lru.Len() != MaxTemplates {
		t.Errorf("%d templates, %d in the list", len(d.templates), d.lru.Len())
	}
}

// TestArticlesAreNoDuplicates reads articles with little text of their own among much
// shared text, and pages of the lab: none is skipped.
func TestArticlesAreNoDuplicates(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields(`river market signal harbour quiet engine paper window garden silver border copper winter letter
		bridge answer island season figure object weather orange mirror valley method simple travel the of and to in a is that`)
	text := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = words[r.IntN(len(words))]
		}
		return strings.Join(list, " ")
	}
	for _, own := range []int{5, 10, 30, 100} {
		for _, shared := range []int{200, 500, 2000} {
			t.Run(fmt.Sprintf("%d own words of %d", own, own+shared), func(t *testing.T) {
				var d Duplicates
				before, after := text(shared/2), text(shared/2)
				for i := range 500 {
					u := mustURL(t, fmt.Sprintf("https://a.example/product/%d", i))
					if got := d.Look(u); !got.In {
						t.Fatalf("article %d: %+v", i, got)
					}
					page := read(t, u.String(), "<p>"+before+"<p>"+text(own)+"<p>"+after)
					d.Observe(u, uint64(page.SimHash), fmt.Sprint(page.Digest))
				}
			})
		}
	}
	t.Run("the lab", func(t *testing.T) {
		temper := lab.Plain()
		temper.Site.Pages = 300
		l, err := lab.New(lab.Config{Hosts: lab.Uniform(1, temper), Address: lab.Name})
		if err != nil {
			t.Fatal(err)
		}
		if crawl := crawlLab(t, l, l.Seeds()[0], 1000, true); crawl.refused[DuplicateContent] > 0 {
			t.Errorf("%v", crawl.refused)
		}
	})
	t.Run("a page that is always the same", func(t *testing.T) {
		var d Duplicates
		fetched := 0
		for i := range 1000 {
			u := mustURL(t, fmt.Sprintf("https://a.example/product/%d", i))
			if !d.Look(u).In {
				continue
			}
			fetched++
			page := read(t, u.String(), "<h1>We are sorry</h1><p>There is no such product.")
			d.Observe(u, uint64(page.SimHash), fmt.Sprint(page.Digest))
		}
		if want := SameInARow + 1000/ProbeEvery; fetched > want {
			t.Errorf("%d of 1000 were fetched, want at most %d", fetched, want)
		}
	})
}

func read(t *testing.T, raw, body string) parse.Page {
	t.Helper()
	page, err := parse.Read(parse.Answer{
		URL: mustURL(t, raw), Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte(body),
	}, parse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return page
}
