//go:build linux

package bench

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// long reports whether the long tests were requested.
var long = os.Getenv("HEADWAY_FULL") != ""

// steadyTime is the duration of the steady load; HEADWAY_STEADY sets another, such as 10m.
func steadyTime(t *testing.T) time.Duration {
	if text := os.Getenv("HEADWAY_STEADY"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if long {
		return 30 * time.Minute
	}
	return 3 * time.Second
}

// TestSteady commits at a steady rate for a long time: a page must not cost more at the end
// than at the beginning, and the tables must not fill up with dead rows.
func TestSteady(t *testing.T) {
	const each, windows = 100, 30
	const every = 100 * time.Millisecond // 1,000 pages a second
	p := startServer(t)
	hosts, urls := 10_000, 200_000
	if !long {
		hosts, urls = 1000, 10_000
	}
	c := newCrawl(t, p.s, hosts, urls, 1)
	p.exec("vacuum analyze")
	p.exec("checkpoint")
	if _, err := c.owners[0].run(work{pages: 20 * each, each: each, foreign: 1}); err != nil {
		t.Fatal(err)
	}
	began := p.number(sizeQuery("url", "queue")) / p.rows("url")
	window := steadyTime(t) / windows
	costs := make([]float64, windows)
	tick := time.NewTicker(every) // the steady rate that is measured
	defer tick.Stop()
	for i := range costs {
		cpu, pages := p.cpu(), 0
		for end := time.Now().Add(window); time.Now().Before(end); <-tick.C {
			r, err := c.owners[0].run(work{pages: each, each: each, foreign: 1})
			if err != nil {
				t.Fatal(err)
			}
			pages += r.pages
		}
		costs[i] = float64((p.cpu() - cpu).Microseconds()) / float64(pages)
		if i%5 == 4 {
			t.Logf("after %s: %.0f µs CPU a page, %.0f dead rows in queues of %.0f", time.Duration(i+1)*window, costs[i], p.dead("queue"), p.live("queue"))
		}
	}
	first, last := mean(costs[:5]), mean(costs[windows-5:])
	ended := p.number(sizeQuery("url", "queue")) / p.rows("url")
	t.Logf("%.0f µs CPU a page in the first sixth, %.0f in the last: %.2f; %.0f and %.0f bytes per URL; dead: %.0f of %.0f rows in queues, %.0f of %.0f hosts",
		first, last, last/first, began, ended, p.dead("queue"), p.live("queue"), p.dead("host"), p.live("host"))
	p.exact(c)
	if !long {
		return // too short to judge
	}
	if last > 1.2*first {
		t.Errorf("a page costs %.2f times as much as at the beginning", last/first)
	}
	if ended > 1.2*began {
		t.Errorf("a URL takes %.0f bytes, %.0f at the beginning", ended, began)
	}
	if dead := p.dead("queue"); dead > 0.2*p.live("queue")+100_000 {
		t.Errorf("%.0f dead rows in the queues", dead)
	}
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}

// dead and live are rows of the tables with a name, as the server estimates.
func (p *server) dead(table string) float64 {
	return p.number("select coalesce(sum(n_dead_tup), 0) from pg_stat_user_tables where relname ~ '^" + table + "(_|$)'")
}

func (p *server) live(table string) float64 {
	return p.number("select coalesce(sum(n_live_tup), 0) from pg_stat_user_tables where relname ~ '^" + table + "(_|$)'")
}

// TestScale fills a store with a million hosts and 20 million URLs and lets one worker take
// over a quarter of it from another that died. HEADWAY_SCALE_URLS sets another number; there
// are 20 URLs per host.
func TestScale(t *testing.T) {
	const perHost, goal = 20, 5 * time.Second
	urls := 20_000
	if long {
		urls = 20_000_000
	}
	if text := os.Getenv("HEADWAY_SCALE_URLS"); text != "" {
		var err error
		if urls, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	hosts := urls / perHost
	p := startServer(t)
	c := &crawl{t: t, ctx: t.Context(), s: p.s, now: time.UnixMilli(1763200000000)}
	var err error
	c.job, err = p.s.CreateJob(c.ctx, store.Job{State: job.Running})
	c.check(err)
	began := time.Now()
	c.fill(hosts, perHost)
	t.Logf("%d hosts and %d URLs in %s; %.0f bytes per waiting URL, all tables %.1f GB; this process holds %d MB", hosts, urls, time.Since(began).Round(time.Second),
		p.number(sizeQuery("url", "queue"))/float64(urls), p.number("select pg_database_size('postgres')")/1e9, held()>>20)

	first, err := p.s.Join(c.ctx, c.now, "first")
	c.check(err)
	_, err = p.s.Acquire(c.ctx, c.now, first, store.SlotCount/4)
	c.check(err)
	next, err := p.s.Join(c.ctx, c.now, "next")
	c.check(err)
	_, err = p.s.Acquire(c.ctx, c.now, next, 0) // sees the first worker's heartbeat for the first time
	c.check(err)
	began = time.Now()
	leases, err := p.s.Acquire(c.ctx, c.now.Add(store.DefaultTerms.TakeOver+10*time.Second), next, store.SlotCount/4) // plus ten for reading heartbeats
	c.check(err)
	if len(leases) != store.SlotCount/4 || leases[0].Clean {
		t.Fatalf("took over %d slots, the first cleanly: %v", len(leases), leases[0].Clean)
	}
	q := store.HostQuery{Max: 1000}
	for _, l := range leases {
		q.Slots = append(q.Slots, l.Slot)
	}
	page, err := p.s.Hosts(c.ctx, q)
	c.check(err)
	var wants []store.Want
	for _, h := range page.Hosts {
		wants = append(wants, store.Want{Host: h.Host.Host, Job: c.job, Max: headSize})
	}
	items, err := p.s.Heads(c.ctx, c.now, wants)
	c.check(err)
	took := time.Since(began)
	n := len(page.Hosts)
	for q.Max = store.MaxPage; page.Next != ""; n += len(page.Hosts) {
		q.After = page.Next
		page, err = p.s.Hosts(c.ctx, q)
		c.check(err)
	}
	t.Logf("a quarter of the slots taken over: %d URLs of %d hosts in hand after %s, all %d hosts read after %s; this process holds %d MB",
		len(items), len(wants), took.Round(time.Millisecond), n, time.Since(began).Round(time.Millisecond), held()>>20)
	if len(items) != len(wants)*min(headSize, perHost) {
		t.Errorf("%d URLs of %d hosts", len(items), len(wants))
	}
	if took > goal {
		t.Errorf("taking over took %s, at most %s", took, goal)
	}
}

// fill adds URLs, perHost to each host, from several goroutines.
func (c *crawl) fill(hosts, perHost int) {
	const batch = 2000 // hosts
	next := make(chan int)
	var group sync.WaitGroup
	errs := make(chan error, 2)
	for range 2 {
		group.Go(func() {
			for from := range next {
				var found []store.Found
				for host := from; host < min(from+batch, hosts); host++ {
					for n := range perHost {
						found = append(found, store.Found{Item: visit.Item{Job: c.job, URL: c.url(host, host*perHost+n), Via: weburl.URL{}, Found: visit.FoundLink, Depth: 2}})
					}
				}
				if _, err := c.s.Add(c.ctx, c.now, found); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	for from := 0; from < hosts; from += batch {
		select {
		case next <- from:
		case err := <-errs:
			c.t.Fatal(err)
		}
	}
	close(next)
	group.Wait()
	select {
	case err := <-errs:
		c.t.Fatal(err)
	default:
	}
}

// held is the memory this process has from the operating system.
func held() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys - m.HeapReleased
}
