//go:build unix

package sqlite

import (
	"context"
	"database/sql/driver"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// The cost of a page in the store, for an owner: heads read, links looked up in the cache
// of known ones, the rest committed; one page per host and commit, 60 links a page of which
// 3 are new and 1 of them leads to another host, URLs of 66 bytes. Run with
//
//	go test ./store/sqlite -run - -bench Commit -benchtime 20000x -bench-urls 1000000
//
// where -benchtime is the number of pages.
var (
	benchHosts = flag.Int("bench-hosts", 10_000, "hosts of the benchmark")
	benchURLs  = flag.Int("bench-urls", 300_000, "waiting URLs before it begins")
)

func BenchmarkCommit(b *testing.B) {
	for _, pages := range []int{500, 100, 30, 10, 4} {
		b.Run(fmt.Sprintf("pages=%d", pages), func(b *testing.B) { benchCommit(b, pages, 1, 0) })
	}
	for _, text := range []int{5 << 10, 50 << 10} {
		b.Run(fmt.Sprintf("text=%dK", text>>10), func(b *testing.B) { benchCommit(b, min(100, store.MaxTexts/2/text), 1, text) })
	}
	for _, foreign := range []int{5, 10} {
		b.Run(fmt.Sprintf("foreign=%d", foreign), func(b *testing.B) { benchCommit(b, 500, foreign, 0) })
	}
}

func benchCommit(b *testing.B, pages, foreign, text int) {
	c := newCrawl(b)
	c.text = text
	before := c.bytes()
	var used time.Duration
	done := 0
	b.ResetTimer()
	for done < b.N {
		n := min(pages, b.N-done)
		b.StopTimer()
		load := c.load(done, n, foreign)
		b.StartTimer()
		cpu := cpuTime()
		c.commit(load)
		used += cpuTime() - cpu
		done += n
	}
	b.StopTimer()
	b.ReportMetric(float64(used.Nanoseconds())/1e3/float64(done), "cpu-µs/page")
	b.ReportMetric(float64(done)/b.Elapsed().Seconds(), "pages/s")
	b.ReportMetric(float64(before)/float64(*benchURLs), "B/waiting")
	b.ReportMetric(float64(c.bytes()-before)/float64(done), "B/page")
}

// crawl is an owner with its heads and its cache of known links.
type crawl struct {
	b      *testing.B
	ctx    context.Context
	s      *Store
	job    job.ID
	worker store.WorkerID
	leases map[store.Slot]store.Lease
	heads  map[string][]visit.Item
	known  map[weburl.Fingerprint128]bool
	number int64
	next   int // number of the next new URL
	pools  [][]weburl.URL
	hosts  []string
	slots  []store.Slot
	now    time.Time
	text   int // bytes of the main text of a page, and of its Markdown; 0 for none
}

// headSize is how many URLs of a host the benchmark keeps in memory.
const headSize = 16

func newCrawl(b *testing.B) *crawl {
	b.Helper()
	s, err := Open(b.Context(), Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	c := &crawl{
		b: b, ctx: b.Context(), s: s, leases: map[store.Slot]store.Lease{}, heads: map[string][]visit.Item{},
		known: map[weburl.Fingerprint128]bool{}, pools: make([][]weburl.URL, *benchHosts), now: time.UnixMilli(1763200000000),
	}
	c.job, err = s.CreateJob(c.ctx, store.Job{State: job.Running})
	c.check(err)
	c.worker, err = s.Join(c.ctx, c.now, "bench")
	c.check(err)
	leases, err := s.Acquire(c.ctx, c.now, c.worker, store.SlotCount)
	c.check(err)
	for _, l := range leases {
		c.leases[l.Slot] = l
	}
	for i := range *benchHosts {
		u := c.url(i, 0)
		c.hosts = append(c.hosts, u.Host())
		c.slots = append(c.slots, store.SlotOf(s.Key(), u.Domain()))
	}
	// Written at once and unsynced: this is not measured.
	c.check(s.w.script(c.ctx, "pragma synchronous = off"))
	var found []store.Found
	flush := func() {
		_, err := s.Add(c.ctx, c.now, found)
		c.check(err)
		found = found[:0]
	}
	for i := range *benchURLs {
		u := c.newURL(i % *benchHosts)
		if pool := &c.pools[i%*benchHosts]; len(*pool) < 19 { // URLs that the pages of the host link to repeatedly
			*pool = append(*pool, u)
			c.known[u.Fingerprint128(s.key)] = true
		}
		found = append(found, c.found(u, weburl.URL{}))
		if len(found) == 50_000 {
			flush()
		}
	}
	flush()
	c.check(s.w.script(c.ctx, "pragma synchronous = full"))
	c.fill()
	return c
}

// fill gives each host a head of another length, as after hours of crawling, so that each
// page costs the reading of one item from the start.
func (c *crawl) fill() {
	for i, host := range c.hosts {
		items, err := c.s.Heads(c.ctx, c.now, []store.Want{{Host: host, Job: c.job, Max: i%headSize + 1}})
		c.check(err)
		c.heads[host] = items
	}
}

func (c *crawl) check(err error) {
	if err != nil {
		c.b.Helper()
		c.b.Fatal(err)
	}
}

func (c *crawl) url(host, n int) weburl.URL {
	u, err := weburl.Parse(fmt.Sprintf("https://www.host%06d.example/section/%08d/article-%010d.html", host, n/7, n))
	c.check(err)
	return u
}

func (c *crawl) newURL(host int) weburl.URL {
	c.next++
	return c.url(host, c.next)
}

func (c *crawl) found(u, via weburl.URL) store.Found {
	return store.Found{Item: visit.Item{Job: c.job, URL: u, Via: via, Found: visit.FoundLink, Depth: 2}}
}

// bytes is the size of the file after the log was moved into it.
func (c *crawl) bytes() int64 {
	c.check(c.s.w.query(c.ctx, "pragma wal_checkpoint(truncate)", nil, func([]driver.Value) error { return nil }))
	info, err := os.Stat(c.s.path)
	c.check(err)
	return info.Size()
}

// page is the result of a fetch.
type page struct {
	host    int
	links   []weburl.URL
	content *visit.Content
}

// load generates the next pages and their links: what fetch and parse would do.
func (c *crawl) load(from, n, foreign int) []page {
	pages := make([]page, n)
	for i := range pages {
		p := page{host: (from + i) % *benchHosts, content: c.content()}
		for k := range 57 {
			p.links = append(p.links, c.pools[p.host][k%len(c.pools[p.host])])
		}
		for range 3 - min(foreign, 2) {
			p.links = append(p.links, c.newURL(p.host))
		}
		for k := range foreign {
			p.links = append(p.links, c.newURL((p.host*31+k*7919+c.next)%*benchHosts))
		}
		pages[i] = p
	}
	return pages
}

// content is text of random words, which compresses like prose.
func (c *crawl) content() *visit.Content {
	if c.text == 0 {
		return nil
	}
	var text []byte
	for len(text) < c.text {
		n := rand.IntN(3000)
		text = append(text, "some words of an article that is different "[:5+n%20]...)
		text = strconv.AppendInt(append(text, ' '), int64(n), 36)
	}
	return &visit.Content{Text: string(text), Markdown: "# An article\n\n" + string(text), Words: c.text / 6, Digest: "0123456789abcdef0123456789abcdef"}
}

// commit is the work of the owner: refill heads, drop known links, commit.
func (c *crawl) commit(pages []page) {
	var wants []store.Want
	for _, p := range pages {
		if len(c.heads[c.hosts[p.host]]) == 0 {
			wants = append(wants, store.Want{Host: c.hosts[p.host], Job: c.job, Max: headSize})
		}
	}
	items, err := c.s.Heads(c.ctx, c.now, wants)
	c.check(err)
	for _, it := range items {
		c.heads[it.URL.Host()] = append(c.heads[it.URL.Host()], it)
	}
	c.number++
	commit := store.Commit{Worker: c.worker, Number: c.number, At: c.now}
	named := map[store.Slot]bool{}
	for _, p := range pages {
		host := c.hosts[p.host]
		if len(c.heads[host]) == 0 {
			continue
		}
		it := c.heads[host][0]
		c.heads[host] = c.heads[host][1:]
		commit.Visits = append(commit.Visits, visit.Visit{
			Item: it, Outcome: visit.Fetched,
			Answer: visit.Answer{Status: 200, Protocol: "HTTP/2.0", Remote: "192.0.2.1:443", ContentType: "text/html; charset=utf-8", WireBytes: 10_000, DecodedBytes: 50_000, Validators: visit.Validators{ETag: `"5f3b-1a2b3c"`}},
			Timing: visit.Timing{Sent: c.now, FirstByte: 20 * time.Millisecond, Total: 30 * time.Millisecond},
			Page:   visit.Page{Title: "An article", Content: p.content},
			Evidence: []visit.Evidence{{
				Kind: visit.RobotsAllowed, At: c.now, Rule: "Allow: /", Line: 3, Group: "*", Source: "ab12", SourceAt: c.now, Confidence: visit.High,
			}},
		})
		for _, u := range p.links {
			fp := u.Fingerprint128(c.s.key)
			if c.known[fp] {
				continue
			}
			if len(c.known) > 1<<20 {
				clear(c.known)
			}
			c.known[fp] = true
			commit.Found = append(commit.Found, c.found(u, it.URL))
		}
		commit.Hosts = append(commit.Hosts, store.Host{Host: host, Politeness: make([]byte, 120), Robots: make([]byte, 60), Pace: time.Second, LastSent: c.now})
		if slot := c.slots[p.host]; !named[slot] {
			named[slot] = true
			commit.Leases = append(commit.Leases, c.leases[slot])
		}
	}
	_, err = c.s.Commit(c.ctx, commit)
	c.check(err)
}
