package answer

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"headway/ask"
	"headway/job"
)

func TestRequestsTake(t *testing.T) {
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		n                  int64
		interval, response time.Duration
		inFlight           int
		want               time.Duration
	}{
		"none":                            {0, time.Second, 0, 2, 0},
		"one":                             {1, time.Second, 20 * ms, 2, 20 * ms},
		"an interval between each":        {101, time.Second, 20 * ms, 2, 100*time.Second + 20*ms},
		"one at a time":                   {10, 100 * ms, 500 * ms, 1, 5 * time.Second},
		"answers slower than intervals":   {100, 100 * ms, 400 * ms, 8, (400 + 400 + 400 + 92*100 + 400) * ms}, // rounds of 1, 2 and 4
		"as fast as answers":              {1023, 0, 100 * ms, 512, (9*100 + 100) * ms},                        // rounds of 1, 2 … 256, then two
		"as many as it may have at once":  {5, 0, 100 * ms, 4, (100 + 100 + 25 + 100) * ms},
		"an answer no slower than a pace": {3, 100 * ms, 100 * ms, 4, 300 * ms},
	} {
		got := requestsTake(tc.n, tc.interval, tc.response, tc.inFlight)
		if off := (got - tc.want).Abs(); off > tc.want/10 {
			t.Errorf("%s: %v, want about %v", name, got, tc.want)
		}
	}
}

// listed is a host with a sitemap.
func listed(name string, pages int64, pace ask.Seconds) PlanHost {
	return PlanHost{
		Host: "https://" + name, Domain: name, Listed: pages, Pages: pages, Pace: pace, Interval: pace, Source: "base", InFlight: 2, PageBytes: 1000,
		Response: 10 * ask.Seconds(time.Millisecond), Sent: 4,
		Sitemaps: []PlanSitemap{{Form: "urlset", Entries: int(pages)}},
	}
}

func TestMakePlan(t *testing.T) {
	const second = ask.Seconds(time.Second)
	limits := func(name string, most float64) []ask.Limit { return []ask.Limit{{Name: name, Layer: "job", Max: most}} }
	for name, tc := range map[string]struct {
		facts    PlanFacts
		ends     job.State
		pages    int64
		requests int64
		takes    time.Duration // approximate
		known    bool
		stopped  string
		says     string // a part of the sentence
		unknown  string // a part of one of them
	}{
		"a sitemap": {
			facts: PlanFacts{Hosts: []PlanHost{listed("a.example", 1240, second)}, Sitemaps: true},
			ends:  job.Complete, pages: 1240, requests: 1242, takes: 1241 * time.Second, known: true,
			says: "About 1,240 pages in 21 min. https://a.example takes longest, at one request every 1 s (base).", unknown: "whether it accepts one request every 1 s",
		},
		"hosts side by side": {
			facts: PlanFacts{Hosts: []PlanHost{listed("a.example", 100, second), listed("b.example", 50, second)}},
			ends:  job.Complete, pages: 150, requests: 154, takes: 101 * time.Second, known: true,
		},
		"hosts of one domain": {
			facts: PlanFacts{Hosts: func() (list []PlanHost) {
				for _, n := range []string{"a", "b", "c", "d"} {
					h := listed(n+".example", 98, second)
					h.Domain = "one.example"
					list = append(list, h)
				}
				return list
			}()},
			ends: job.Complete, pages: 392, requests: 400, takes: 200 * time.Second, known: true,
		},
		"a page limit": {
			facts: PlanFacts{Hosts: []PlanHost{listed("a.example", 1000, second)}, Limits: limits("max_pages", 100)},
			ends:  job.Partial, pages: 100, requests: 100, takes: 100 * time.Second, known: true, stopped: "max_pages", says: "max_pages 100 would stop the crawl.",
		},
		"a time limit": {
			facts: PlanFacts{Hosts: []PlanHost{listed("a.example", 1000, second)}, Limits: []ask.Limit{{Name: "max_time", Max: 60, Unit: "seconds"}, {Name: "max_pages", Max: 500}}},
			ends:  job.Partial, pages: 59, requests: 60, takes: time.Minute, known: true, stopped: "max_time", says: "max_time 60 s would stop the crawl.",
		},
		"enough of everything": {
			facts: PlanFacts{Hosts: []PlanHost{listed("a.example", 10, second)}, Limits: []ask.Limit{{Name: "max_bytes", Max: 1 << 20, Unit: "bytes"}, {Name: "max_requests", Max: 12}}},
			ends:  job.Complete, pages: 10, requests: 12, takes: 11 * time.Second, known: true,
		},
		"pages of a host": {
			facts: PlanFacts{Hosts: []PlanHost{listed("a.example", 1000, second), listed("b.example", 20, second)}, Limits: limits("max_pages_per_host", 50)},
			ends:  job.Complete, pages: 70, requests: 74, takes: 51 * time.Second, known: true,
		},
		"a host too many": {
			facts: PlanFacts{Hosts: []PlanHost{listed("a.example", 100, second), listed("b.example", 20, second), listed("c.example", 5000, second)}, Limits: limits("max_hosts", 2)},
			ends:  job.Partial, pages: 120, requests: 124, takes: 101 * time.Second, known: true, stopped: "max_hosts", says: "max_hosts 2 would stop the crawl.",
		},
		"no sitemap": {
			facts: PlanFacts{Hosts: []PlanHost{{Host: "https://a.example", Pages: 1, Links: 30, Unlisted: 29, Interval: second, Pace: second, Source: "base"}}, Sitemaps: true, Links: true},
			ends:  job.Complete, pages: 30, requests: 31, takes: 30 * time.Second,
			says: "At least 30 pages; the total is unknown until crawled.", unknown: "no sitemap gives a count, and the seed links to 30 pages in scope",
		},
		"no sitemap, but a limit": {
			facts: PlanFacts{Hosts: []PlanHost{{Host: "https://a.example", Pages: 1}}, Limits: limits("max_pages", 200)},
			ends:  job.Complete, pages: 1, requests: 2, says: "At most 200 pages (max_pages).", unknown: "sitemaps are not read",
		},
		"sitemaps that were not read": {
			facts: PlanFacts{Hosts: func() []PlanHost {
				h := listed("a.example", 2000, 0)
				h.Sitemaps = []PlanSitemap{{Form: "index", Entries: 4}, {Form: "urlset", Entries: 1000}, {Form: "urlset", Entries: 1000}}
				h.Unread = 2
				return []PlanHost{h}
			}()},
			ends: job.Complete, pages: 4000, requests: 4006, says: "At least 4,000 pages", unknown: "contents of 2 more sitemaps",
		},
		"forbidden": {
			facts: PlanFacts{Hosts: []PlanHost{{Host: "https://a.example", Blocked: "robots.txt disallows the seed, line 2: Disallow: /", Pages: 3}}},
			ends:  job.Blocked, known: true, says: "Nothing would be fetched (blocked): https://a.example: robots.txt disallows the seed",
		},
		"unreachable host": {
			facts: PlanFacts{Hosts: []PlanHost{{Host: "https://a.example", Failed: "no such host"}}},
			ends:  job.Failed, says: "Nothing would be fetched (failed): https://a.example: no such host.",
		},
		"one of two forbidden": {
			facts: PlanFacts{Hosts: []PlanHost{{Host: "https://a.example", Blocked: "robots.txt"}, listed("b.example", 10, second)}},
			ends:  job.Complete, pages: 10, requests: 12, takes: 11 * time.Second, known: true,
		},
		"more hosts than are probed": {
			facts: PlanFacts{Hosts: []PlanHost{listed("a.example", 10, second)}, NotAsked: 7},
			ends:  job.Complete, pages: 10, requests: 12, takes: 11 * time.Second, unknown: "7 more seed hosts",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := MakePlan(tc.facts)
			if p.Ends != tc.ends || p.Pages != tc.pages || p.Requests != tc.requests || p.SizeKnown != tc.known || p.StoppedBy != tc.stopped {
				t.Errorf("ends %s with %d pages, %d requests, size known %v, stopped by %q; want %s, %d, %d, %v, %q",
					p.Ends, p.Pages, p.Requests, p.SizeKnown, p.StoppedBy, tc.ends, tc.pages, tc.requests, tc.known, tc.stopped)
			}
			if off := (p.Takes.Duration() - tc.takes).Abs(); tc.takes > 0 && off > tc.takes/50 {
				t.Errorf("takes %v, want about %v", p.Takes.Duration(), tc.takes)
			}
			if !strings.Contains(p.Sentence, tc.says) {
				t.Errorf("it says %q, want %q in it", p.Sentence, tc.says)
			}
			if !strings.Contains(strings.Join(p.Unknown, "\n"), tc.unknown) {
				t.Errorf("it does not know %q, want %q among it", p.Unknown, tc.unknown)
			}
			if _, err := json.Marshal(p); err != nil {
				t.Error(err)
			}
		})
	}
}
