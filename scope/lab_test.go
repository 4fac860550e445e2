package scope

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"headway/lab"
	"headway/parse"
	"headway/robots"
	"headway/weburl"
)

// realPage matches the lab's pages outside its traps.
var realPage = regexp.MustCompile(`^/(s\d+/p\d+\.html)?$`)

// labCrawl is the result of crawling one lab host.
type labCrawl struct {
	fetched, real int
	refused       map[Reason]int
	refusedReal   []string
}

func (c labCrawl) share() float64 { return float64(c.real) / float64(c.fetched) }

// crawlLab crawls a host of the lab breadth first in memory, as a polite crawler with a
// page limit would.
func crawlLab(t *testing.T, l *lab.Lab, seed string, budget int, brakes bool) labCrawl {
	t.Helper()
	start := mustURL(t, seed)
	rules, err := New(Config{Seeds: []weburl.URL{start}})
	if err != nil {
		t.Fatal(err)
	}
	allowed := robots.Parse(get(l, mustURL(t, start.Host()+"/robots.txt")).Body.Bytes()).For("headway")
	traps, same := NewTraps(TrapConfig{}), &Duplicates{}
	crawl := labCrawl{refused: map[Reason]int{}}
	refuse := func(u weburl.URL, r Reason) {
		crawl.refused[r]++
		if realPage.MatchString(u.PathQuery()) {
			crawl.refusedReal = append(crawl.refusedReal, u.String())
		}
	}
	seen := map[weburl.URL]bool{start: true}
	for queue := []weburl.URL{start}; len(queue) > 0 && crawl.fetched < budget; queue = queue[1:] {
		u := queue[0]
		if d := same.Look(u); brakes && !d.In {
			refuse(u, d.Reason)
			continue
		}
		answer := get(l, u)
		page, err := parse.Read(parse.Answer{URL: u, Status: answer.Code, Header: answer.Header(), Body: answer.Body.Bytes()}, parse.Options{})
		if err != nil {
			t.Fatal(err)
		}
		crawl.fetched++
		if realPage.MatchString(u.PathQuery()) {
			crawl.real++
		}
		same.Observe(u, uint64(page.SimHash), fmt.Sprint(page.Digest))
		for _, link := range page.Links {
			if seen[link.URL] || link.Rel.Has(parse.RelNofollow) || !rules.Decide(link.URL, 1).In || !allowed.Decide(link.URL).Allowed {
				continue
			}
			seen[link.URL] = true
			if d := traps.Look(link.URL, today); brakes && !d.In {
				refuse(link.URL, d.Reason)
				continue
			}
			queue = append(queue, link.URL)
		}
	}
	return crawl
}

func get(l *lab.Lab, u weburl.URL) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	l.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, u.String(), nil))
	return w
}

// TestLabTraps tests Traps and Duplicates against every trap of the lab: with a limit of
// 200 pages at least half of the fetched pages are real, and no real page is refused.
func TestLabTraps(t *testing.T) {
	const budget = 200
	kinds := map[string]lab.Traps{}
	var all lab.Traps
	for _, choice := range lab.TrapChoices() {
		set, err := lab.ParseTraps(choice.Name)
		if err != nil {
			t.Fatal(err)
		}
		kinds[choice.Name] = set
		all |= set
	}
	kinds["all at once"] = all
	for name, set := range kinds {
		for _, pages := range []int{60, 120, 1000} {
			t.Run(fmt.Sprintf("%s/%d", name, pages), func(t *testing.T) {
				temper := lab.Plain()
				temper.Site.Pages, temper.Site.Traps, temper.Site.MinKB, temper.Site.MaxKB = pages, set, 1, 8
				l, err := lab.New(lab.Config{Hosts: lab.Uniform(1, temper), Address: lab.Name})
				if err != nil {
					t.Fatal(err)
				}
				crawl := crawlLab(t, l, l.Seeds()[0], budget, true)
				t.Logf("real pages: %d of %d (%.0f %%); refused %v", crawl.real, crawl.fetched, 100*crawl.share(), crawl.refused)
				// On larger sites the limit ends the crawl before the traps matter, and a
				// polite crawler does not enter the maze.
				if pages < budget/2 && set != lab.Maze {
					if bare := crawlLab(t, l, l.Seeds()[0], budget, false); bare.share() >= 0.5 {
						t.Errorf("without trap detection %d of %d pages are real: this is not a trap", bare.real, bare.fetched)
					}
				}
				if len(crawl.refusedReal) > 0 {
					t.Errorf("real pages were refused: %v", crawl.refusedReal)
				}
				if pages < budget/2 && set == all {
					return // three traps on a site of 60 pages: nothing real is lost, but most pages are traps
				}
				if crawl.share() < 0.5 {
					t.Errorf("%.0f %% of the pages fetched are real, want half", 100*crawl.share())
				}
				if pages < budget/2 && crawl.real != pages {
					t.Errorf("%d of %d real pages were fetched", crawl.real, pages)
				}
			})
		}
	}
}

// TestLabIsOrdinary crawls hosts without traps: nothing is refused.
func TestLabIsOrdinary(t *testing.T) {
	temper := lab.Plain()
	temper.Site.Pages, temper.Site.MinKB, temper.Site.MaxKB = 400, 1, 8
	l, err := lab.New(lab.Config{Hosts: lab.Uniform(1, temper), Address: lab.Name})
	if err != nil {
		t.Fatal(err)
	}
	crawl := crawlLab(t, l, l.Seeds()[0], 10_000, true)
	if len(crawl.refused) > 0 || crawl.real < 400 {
		t.Errorf("refused %v, fetched %d real pages", crawl.refused, crawl.real)
	}
}
