//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// headSize is how many URLs of a host an owner keeps in memory.
const headSize = 16

// maxKnown bounds an owner's cache of known links.
const maxKnown = 1 << 20

// crawl is one job on a store and the web it crawls: hosts whose pages link to
// 60 others each.
type crawl struct {
	t      testing.TB
	ctx    context.Context
	s      store.Store
	job    job.ID
	now    time.Time
	hosts  []string
	slots  []store.Slot
	pools  [][]weburl.URL // URLs that the pages of a host link to repeatedly
	owners []*owner

	mu   sync.Mutex
	next int // number of the next new URL
}

// owner is a worker with its hosts, their heads and its cache of known links.
type owner struct {
	*crawl
	worker store.WorkerID
	leases map[store.Slot]store.Lease
	mine   []int // hosts
	turn   int
	heads  map[string][]visit.Item
	known  map[weburl.Fingerprint128]bool
	number int64
}

// newCrawl creates a job with hosts and waiting URLs, and workers that share the slots.
func newCrawl(t testing.TB, s store.Store, hosts, urls, workers int) *crawl {
	t.Helper()
	c := &crawl{t: t, ctx: t.Context(), s: s, now: time.UnixMilli(1763200000000), pools: make([][]weburl.URL, hosts)}
	var err error
	c.job, err = s.CreateJob(c.ctx, store.Job{State: job.Running, Name: "bench"})
	c.check(err)
	for i := range hosts {
		u := c.url(i, 0)
		c.hosts = append(c.hosts, u.Host())
		c.slots = append(c.slots, store.SlotOf(s.Key(), u.Domain()))
	}
	var found []store.Found
	flush := func() {
		_, err := s.Add(c.ctx, c.now, found)
		c.check(err)
		found = found[:0]
	}
	for i := range urls {
		u := c.newURL(i % hosts)
		if pool := &c.pools[i%hosts]; len(*pool) < 19 {
			*pool = append(*pool, u)
		}
		found = append(found, c.found(u, weburl.URL{}))
		if len(found) == 50_000 {
			flush()
		}
	}
	flush()
	for range workers {
		c.join(store.SlotCount / workers)
	}
	return c
}

// join adds an owner with a number of slots.
func (c *crawl) join(slots int) {
	o := &owner{crawl: c, leases: map[store.Slot]store.Lease{}, heads: map[string][]visit.Item{}, known: map[weburl.Fingerprint128]bool{}}
	var err error
	o.worker, err = c.s.Join(c.ctx, c.now, "bench")
	c.check(err)
	leases, err := c.s.Acquire(c.ctx, c.now, o.worker, slots)
	c.check(err)
	for _, l := range leases {
		o.leases[l.Slot] = l
	}
	for i, slot := range c.slots {
		if _, ok := o.leases[slot]; !ok {
			continue
		}
		// Heads of all lengths, as after hours of crawling, so that each page costs the
		// reading of one item from the start.
		o.mine = append(o.mine, i)
		items, err := c.s.Heads(c.ctx, c.now, []store.Want{{Host: c.hosts[i], Job: c.job, Max: i%headSize + 1}})
		c.check(err)
		o.heads[c.hosts[i]] = items
		for _, u := range c.pools[i] {
			o.known[u.Fingerprint128(c.s.Key())] = true
		}
	}
	c.owners = append(c.owners, o)
}

func (c *crawl) check(err error) {
	if err != nil {
		c.t.Helper()
		c.t.Fatal(err)
	}
}

// url is a URL of 66 bytes.
func (c *crawl) url(host, n int) weburl.URL {
	u, err := weburl.Parse(fmt.Sprintf("https://www.host%06d.example/section/%07d/article-%06d.html", host, n/7, n%1_000_000))
	c.check(err)
	return u
}

func (c *crawl) newURL(host int) weburl.URL {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return c.url(host, c.next)
}

func (c *crawl) found(u, via weburl.URL) store.Found {
	return store.Found{Item: visit.Item{Job: c.job, URL: u, Via: via, Found: visit.FoundLink, Depth: 2}}
}

// page is the result of a fetch.
type page struct {
	host  int
	links []weburl.URL
}

// load generates the next pages and their links: what fetch and parse would do.
func (o *owner) load(n, foreign int) []page {
	pages := make([]page, n)
	for i := range pages {
		p := page{host: o.mine[o.turn%len(o.mine)]}
		o.turn++
		pool := o.pools[p.host]
		for k := range 57 {
			p.links = append(p.links, pool[k%len(pool)])
		}
		for range 3 - min(foreign, 2) {
			p.links = append(p.links, o.newURL(p.host))
		}
		for k := range foreign {
			p.links = append(p.links, o.newURL((p.host*31+k*7919+o.turn)%len(o.hosts)))
		}
		pages[i] = p
	}
	return pages
}

// commit is the work of the owner: refill heads, drop known links, commit. It returns how
// many pages it could commit.
func (o *owner) commit(pages []page, filter bool) (int, error) {
	if err := o.refill(pages); err != nil {
		return 0, err
	}
	o.number++
	c := store.Commit{Worker: o.worker, Number: o.number, At: o.now}
	named := map[store.Slot]bool{}
	for _, p := range pages {
		host := o.hosts[p.host]
		if len(o.heads[host]) == 0 {
			continue
		}
		it := o.heads[host][0]
		o.heads[host] = o.heads[host][1:]
		c.Visits = append(c.Visits, o.visited(it))
		for _, u := range p.links {
			if filter && o.isKnown(u) {
				continue
			}
			c.Found = append(c.Found, o.found(u, it.URL))
		}
		c.Hosts = append(c.Hosts, store.Host{Host: host, Politeness: make([]byte, 120), Robots: make([]byte, 60), Pace: time.Second, LastSent: o.now})
		if slot := o.slots[p.host]; !named[slot] {
			named[slot] = true
			c.Leases = append(c.Leases, o.leases[slot])
		}
	}
	_, err := o.s.Commit(o.ctx, c)
	return len(c.Visits), err
}

// refill reads the heads of queues that are empty.
func (o *owner) refill(pages []page) error {
	var wants []store.Want
	for _, p := range pages {
		if len(o.heads[o.hosts[p.host]]) == 0 {
			wants = append(wants, store.Want{Host: o.hosts[p.host], Job: o.job, Max: headSize})
		}
	}
	if len(wants) == 0 {
		return nil
	}
	items, err := o.s.Heads(o.ctx, o.now, wants)
	for _, it := range items {
		o.heads[it.URL.Host()] = append(o.heads[it.URL.Host()], it)
	}
	return err
}

// isKnown looks up a link in the cache of known links, and adds it.
func (o *owner) isKnown(u weburl.URL) bool {
	fp := u.Fingerprint128(o.s.Key())
	if o.known[fp] {
		return true
	}
	if len(o.known) >= maxKnown {
		clear(o.known)
	}
	o.known[fp] = true
	return false
}

// visited is a page with about 330 bytes of facts.
func (o *owner) visited(it visit.Item) visit.Visit {
	return visit.Visit{
		Item: it, Outcome: visit.Fetched,
		Answer: visit.Answer{Status: 200, Protocol: "HTTP/2.0", Remote: "192.0.2.1:443", ContentType: "text/html; charset=utf-8", WireBytes: 10_000, DecodedBytes: 50_000, Validators: visit.Validators{ETag: `"5f3b-1a2b3c"`}},
		Timing: visit.Timing{Sent: o.now, FirstByte: 20 * time.Millisecond, Total: 30 * time.Millisecond},
		Page:   visit.Page{Title: "An article"},
		Evidence: []visit.Evidence{{
			Kind: visit.RobotsAllowed, At: o.now, Rule: "Allow: /", Line: 3, Group: "*", Source: "ab12", SourceAt: o.now, Confidence: visit.High,
		}},
	}
}

// work is one measurement: the number of pages, and pages per commit.
type work struct {
	pages, each, foreign int
	unfiltered           bool // known links are not dropped before the commit
}

// cost is the result of a measurement.
type cost struct {
	pages  int
	client time.Duration // CPU of this process in commits, including the driver
	wall   time.Duration // in commits, or in total when owners work concurrently
}

// run lets one owner do the work and measures it, without the generation of pages.
func (o *owner) run(w work) (cost, error) {
	var sum cost
	for sum.pages < w.pages {
		load := o.load(min(w.each, w.pages-sum.pages), w.foreign)
		began, cpu := time.Now(), clientCPU()
		n, err := o.commit(load, !w.unfiltered)
		if err != nil {
			return sum, err
		}
		sum.client += clientCPU() - cpu
		sum.wall += time.Since(began)
		if n == 0 {
			return sum, fmt.Errorf("nothing waits on %d hosts", len(load))
		}
		sum.pages += n
	}
	return sum, nil
}

// runAll lets all owners work concurrently, each its share, on pages generated before.
func (c *crawl) runAll(w work) (cost, error) {
	loads := make([][][]page, len(c.owners))
	for i, o := range c.owners {
		for range w.pages / len(c.owners) / w.each {
			loads[i] = append(loads[i], o.load(w.each, w.foreign))
		}
	}
	var group sync.WaitGroup
	pages, errs := make([]int, len(c.owners)), make([]error, len(c.owners))
	began := time.Now()
	for i, o := range c.owners {
		group.Go(func() {
			for _, load := range loads[i] {
				n, err := o.commit(load, !w.unfiltered)
				if err != nil {
					errs[i] = err
					return
				}
				pages[i] += n
			}
		})
	}
	group.Wait()
	sum := cost{wall: time.Since(began)}
	for _, n := range pages {
		sum.pages += n
	}
	return sum, errors.Join(errs...)
}

// clientCPU is the CPU time of this process.
func clientCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
