package frontier

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"headway/internal/race"
	"headway/job"
	"headway/politeness"
	"headway/visit"
	"headway/weburl"
)

// manyHosts is a frontier with many hosts, for measurements. Its store generates
// any number of URLs on demand.
type manyHosts struct {
	f     *Frontier
	now   time.Time
	ended int
}

// hostURL is the n-th URL of the i-th host, of a typical length.
func hostURL(i, n int) weburl.URL {
	return mustURL(fmt.Sprintf("https://www.host-%d.example/articles/of-some-length/%d.html", i, n))
}

func newManyHosts(cfg Config, jobs int) *manyHosts {
	c := &manyHosts{f: New(cfg, start), now: start}
	for id := range jobs {
		c.f.AddJob(plainJob(job.ID(id + 1)))
	}
	return c
}

// fill adds hosts, each with some URLs in memory, and loads them.
func (c *manyHosts) fill(hosts, items int) {
	for i := range hosts {
		c.f.Warm(c.now, hostURL(i, 0), []job.ID{1})
		list := make([]visit.Item, 0, items)
		for n := range items {
			list = append(list, visit.Item{Job: 1, URL: hostURL(i, n), Depth: 1})
		}
		c.f.Added(c.now, list)
	}
	for {
		b := c.f.Next(c.now, 0, visit.WaitWorkers)
		if len(b.Load)+len(b.Refill) == 0 {
			return
		}
		loads, wants := slices.Clone(b.Load), slices.Clone(b.Refill)
		for _, name := range loads {
			c.f.Loaded(c.now, HostState{Host: name, State: politeness.New(name), Robots: RobotsState{Known: true, Ever: true}})
		}
		c.f.Refilled(c.now, wants, nil)
	}
}

// serve answers a request at once; the page links to another page of its host.
func (c *manyHosts) serve(r Request) {
	c.f.Sent(c.now, r)
	var a Answer
	a.Status, a.Latency = http.StatusOK, 50*time.Millisecond
	c.f.Settle(c.now, r, a, &visit.Visit{Item: r.Item, Outcome: visit.Fetched})
}

// BenchmarkNext measures one step of a schedule of half a million hosts: the call of
// Next that hands out one request, and the whole step including the reported result.
// Half the hosts wait for their interval, the others for a worker.
func BenchmarkNext(b *testing.B) {
	for _, hosts := range []int{1000, 500_000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			c := newManyHosts(Config{MaxItems: 2 * hosts}, 1)
			c.fill(hosts, 1)
			step := 2 * time.Second / time.Duration(hosts)
			took := make([]time.Duration, 0, b.N)
			b.ReportAllocs()
			for b.Loop() {
				c.now = c.now.Add(step)
				began := time.Now()
				batch := c.f.Next(c.now, 1, visit.WaitWorkers)
				took = append(took, time.Since(began))
				if len(batch.Requests) == 0 {
					continue
				}
				r := batch.Requests[0]
				if len(batch.Refill) > 0 {
					c.f.Refilled(c.now, slices.Clone(batch.Refill), nil)
				}
				c.serve(r)
				r.Item.Depth++
				next := r.Item
				next.URL = mustURL(r.Host + fmt.Sprintf("/articles/%d.html", len(took)))
				c.f.Added(c.now, []visit.Item{next})
				c.f.Committed(c.now, []Request{r})
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
			b.ReportMetric(float64(took[len(took)-1].Nanoseconds()), "max-ns")
		})
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The maximum memory of a host whose URLs are in the store, of its first URL in memory,
// and of each further one; a tenth above what was measured.
const mostHost, mostFirst, mostOther = 665, 265, 140

// TestMemoryOfHosts measures the memory of a host and of a URL, everything included.
func TestMemoryOfHosts(t *testing.T) {
	const hosts = 20_000
	measure := func(items int) int {
		before := heapInUse()
		c := newManyHosts(Config{MaxItems: 100 * hosts}, 1)
		c.fill(hosts, items)
		used := int(heapInUse()) - int(before)
		runtime.KeepAlive(c)
		return used / hosts
	}
	host, one, five := measure(0), measure(1), measure(5)
	first, other := one-host, (five-one)/4
	t.Logf("%d bytes a host, %d its first URL, %d each other; 500,000 hosts and 200,000 URLs: at most %d MB", host, first, other,
		(500_000*host+200_000*first)>>20)
	if !race.Enabled && (host > mostHost || first > mostFirst || other > mostOther) {
		t.Errorf("%d bytes a host, %d its first URL, %d each other; at most %d, %d and %d", host, first, other, mostHost, mostFirst, mostOther)
	}
}

// TestManyHosts crawls far more hosts and URLs than fit in memory, in virtual time:
// each URL is requested once, and memory stays within its bounds. HEADWAY_FULL=1 runs a
// million hosts and twenty million URLs:
//
//	HEADWAY_FULL=1 go test -run TestManyHosts -timeout 60m -v ./frontier
func TestManyHosts(t *testing.T) {
	const mostResident, batches = 500 << 20, 5 << 20
	full := os.Getenv("HEADWAY_FULL") != ""
	hosts, each, looks, cfg := 20_000, 4, 20, Config{HotHosts: 5000, MaxItems: 8000, Head: 4}
	switch {
	case full:
		hosts, each, looks, cfg = 1_000_000, 20, 1000, Config{}
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(mostResident * 9 / 10))
	case race.Enabled:
		hosts, cfg.HotHosts = 4000, 1000
	}
	w := &wideWeb{manyHosts: newManyHosts(cfg, 1), hosts: hosts, each: each, left: make([]uint8, hosts), resting: make([]bool, hosts)}
	for i := range w.left {
		w.left[i] = uint8(each)
		w.resting[i] = true
	}
	began, before := time.Now(), heapInUse()
	w.warm()
	var live, resident uint64
	for turn := 0; w.ended < hosts*each; turn++ {
		w.turn(t)
		resident = max(resident, residentBytes())
		if turn%looks == looks-1 {
			live = max(live, heapInUse())
		}
		if s := w.f.Stats(); s.Hosts > w.f.cfg.HotHosts || s.Items > w.f.cfg.MaxItems+2*s.Hosts {
			t.Fatalf("%d hosts and %d URLs in memory", s.Hosts, s.Items)
		}
	}
	live -= before
	most := uint64(w.f.cfg.HotHosts*mostHost + w.f.cfg.MaxItems*mostFirst + batches)
	t.Logf("%d URLs of %d hosts in %v of virtual time, %v of real time; %d KB in use, at most %d; %d MB resident", w.ended, hosts,
		w.now.Sub(start).Round(time.Second), time.Since(began).Round(time.Second), live>>10, most>>10, resident>>20)
	if !race.Enabled && live > most {
		t.Errorf("%d KB in use, at most %d", live>>10, most>>10)
	}
	if full && resident > mostResident {
		t.Errorf("%d MB resident, at most %d", resident>>20, mostResident>>20)
	}
}

// wideWeb is a manyHosts whose hosts move between memory and store.
type wideWeb struct {
	*manyHosts
	hosts, each int
	left        []uint8 // waiting URLs of each host
	resting     []bool  // hosts that are only in the store
	next        int     // where reading the store continues
}

// number is the index of the host with a name.
func (w *wideWeb) number(host string) int {
	n, err := strconv.Atoi(host[len("https://www.host-") : len(host)-len(".example")])
	if err != nil {
		panic(err)
	}
	return n
}

// warm reads hosts with work from the store while there is room.
func (w *wideWeb) warm() {
	for range w.hosts {
		i := w.next
		w.next = (w.next + 1) % w.hosts
		if w.left[i] == 0 || !w.resting[i] {
			continue
		}
		w.resting[i] = false
		if !w.f.Warm(w.now, hostURL(i, 0), []job.ID{1}) {
			if _, ok := w.f.View(hostURL(i, 0).Host()); !ok {
				w.resting[i] = true
			}
			return
		}
	}
	w.f.Warmed()
}

// turn serves what may be requested and advances the clock.
func (w *wideWeb) turn(t *testing.T) {
	b := w.f.Next(w.now, 2000, visit.WaitWorkers)
	requests, wants, loads, rest, cold, wake := slices.Clone(b.Requests), slices.Clone(b.Refill), slices.Clone(b.Load), slices.Clone(b.Rest), b.Cold, b.Wake
	for _, r := range rest {
		w.resting[w.number(r.Host)] = true
	}
	for _, name := range loads {
		w.f.Loaded(w.now, HostState{Host: name, State: politeness.New(name), Robots: RobotsState{Known: true, Ever: true}})
	}
	var items []visit.Item
	for _, q := range wants {
		i := w.number(q.Host)
		for n := range min(q.Max, int(w.left[i])) {
			items = append(items, visit.Item{Job: 1, URL: hostURL(i, w.each-int(w.left[i])+n), Depth: 1})
		}
	}
	w.f.Refilled(w.now, wants, items)
	for _, r := range requests {
		i := w.number(r.Host)
		if want := hostURL(i, w.each-int(w.left[i])); r.Item.URL != want {
			t.Fatalf("%s asked for, want %s", r.Item.URL, want)
		}
		w.serve(r)
		w.left[i]--
		w.ended++
	}
	w.f.Committed(w.now, requests)
	if cold {
		w.warm()
	}
	if len(requests)+len(wants)+len(loads) == 0 {
		if wake.IsZero() {
			t.Fatalf("%d URLs left and nothing to wait for", w.hosts*w.each-w.ended)
		}
		w.now = later(w.now, wake)
	}
}

// residentBytes is the resident memory of the process, if it can be read.
func residentBytes() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident uint64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0
	}
	return resident * uint64(os.Getpagesize())
}
