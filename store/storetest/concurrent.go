package storetest

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"testing"
	"time"

	"headway/store"
)

func emptyRobots(at time.Time) store.RobotsVersion {
	return store.RobotsVersion{Sum: sha256.Sum256(nil), FetchedAt: at}
}

// testConcurrent lets owners work concurrently on a graph whose pages link to each other:
// the same link is found by several at once, links lead to slots of other owners, tokens
// are scarce. At the end every page was fetched once.
func testConcurrent(t *testing.T, open Open) {
	const owners, hosts, pages = 4, 12, 20
	w := newWorld(t, open, 0)
	w.job = w.newJob(hosts * pages)
	w.check(w.store.Leave(w.ctx, w.w.id))
	workers := make([]*owner, owners)
	for i := range workers {
		workers[i] = w.newOwner(store.SlotCount / owners)
	}
	url := func(host, page int) string { return fmt.Sprintf("http://h%d.example/%d", host, page) }
	w.add(url(0, 0))

	var group sync.WaitGroup
	errs := make(chan error, owners)
	fetched := make([]int, owners)
	for i, o := range workers {
		group.Go(func() {
			n, err := o.crawl(hosts, pages, url)
			fetched[i] = n
			if err != nil {
				errs <- err
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		t.Fatal(err)
	}
	total := 0
	for _, n := range fetched {
		total += n
	}
	if total != hosts*pages {
		t.Errorf("%d pages fetched, want %d", total, hosts*pages)
	}
	w.expect(fmt.Sprintf("fetched %d", hosts*pages))
	if done, err := store.Complete(w.ctx, w.job, w.store); err != nil || !done {
		t.Errorf("complete: %v, %v", done, err)
	}
}

// crawl works until the job is complete: it reads the heads of its hosts, visits and
// commits them, with links to the next pages of all hosts.
func (o *owner) crawl(hosts, pages int, url func(host, page int) string) (fetched int, err error) {
	for {
		var wants []store.Want
		for h := range hosts {
			u := mustURL(o.t, url(h, 0))
			if _, mine := o.leases[store.SlotOf(o.store.Key(), u.Domain())]; mine {
				wants = append(wants, store.Want{Host: u.Host(), Job: o.job, Max: 2})
			}
		}
		items, err := o.store.Heads(o.ctx, o.now, wants)
		if err != nil {
			return fetched, err
		}
		if len(items) == 0 {
			done, err := store.Complete(o.ctx, o.job, o.store)
			if done || err != nil {
				return fetched, err
			}
			continue
		}
		var c store.Commit
		for _, it := range items {
			got, err := o.store.Reserve(o.ctx, o.id, o.job, 1)
			if err != nil || got == 0 {
				return fetched, fmt.Errorf("reserve: got %d: %w", got, err)
			}
			v := o.visited(it.URL.String())
			c.Visits = append(c.Visits, v)
			var page int
			if _, err := fmt.Sscanf(it.URL.Path(), "/%d", &page); err != nil {
				return fetched, err
			}
			for h := range hosts {
				c.Found = append(c.Found, o.found(url(h, page))...)
				if page+1 < pages {
					c.Found = append(c.Found, o.found(url(h, page+1), url(h, page+1))...)
				}
			}
			c.Hosts = append(c.Hosts, store.Host{Host: it.URL.Host(), Politeness: []byte("x")})
		}
		c.Hosts = lastOfEach(c.Hosts)
		o.number++
		if _, err := o.send(o.prepare(c)); err != nil {
			return fetched, err
		}
		fetched += len(items)
	}
}

// lastOfEach keeps one state per host.
func lastOfEach(hosts []store.Host) []store.Host {
	seen := map[string]bool{}
	var out []store.Host
	for _, h := range hosts {
		if !seen[h.Host] {
			seen[h.Host] = true
			out = append(out, h)
		}
	}
	return out
}
