package fleettest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// crowdSetup is one tenant that asks for far more than runs at once.
type crowdSetup struct {
	jobs   int
	places int
	hosts  int // that they share
	pages  int // of each job
	pace   time.Duration
	rounds int // of the other tenant, alone and beside it
}

// TestServiceTenants lets one tenant ask for many jobs, and another for one at a time:
// it gets its first page as if it were alone. In CI no job of the many ends meanwhile,
// so that nobody begins because somebody else has made room.
func TestServiceTenants(t *testing.T) {
	t.Parallel()
	crowd := crowdSetup{jobs: 60, places: 10, hosts: 20, pages: 3, pace: time.Minute, rounds: 2}
	if full {
		crowd = crowdSetup{jobs: 10_000, places: 100, hosts: 200, pages: 3, pace: pace, rounds: 15}
	}
	f := newFleet(t, setup{hosts: crowd.hosts + 2*crowd.rounds, pages: 3})
	s := f.service()
	f.start("--max-running", fmt.Sprint(crowd.places))
	f.awaitWorkers(1)
	seeds := f.lab.Seeds()
	many, one := seeds[:crowd.hosts], seeds[crowd.hosts:]
	busy, other := s.tenant("busy"), s.tenant("other")

	alone := other.firstPages(one[:crowd.rounds])
	began := time.Now()
	ids := busy.createMany(crowd, many)
	t.Logf("%d jobs were asked for in %v", len(ids), time.Since(began).Round(time.Millisecond))
	busy.awaitRunning(crowd.places - crowd.places/10)
	beside := other.firstPages(one[crowd.rounds:])
	if running := busy.running(); running < crowd.places/2 {
		t.Errorf("%d jobs of the many run at the end, which is too few to judge", running)
	}

	delay := float64(median(beside))/float64(median(alone)) - 1
	t.Logf("first page after %v alone (%v), %v beside the many (%v): %+.1f %%", median(alone), alone, median(beside), beside, 100*delay)
	if full && delay >= 0.1 {
		t.Errorf("the first page comes %.1f %% later, want less than 10 %%", 100*delay)
	}
	if !full {
		for _, e := range busy.events() {
			if e.Kind != "job.created" && e.Kind != "job.running" {
				t.Errorf("%s of job %d: somebody made room", e.Kind, e.Job)
			}
		}
	}
	f.kill(f.workers[0]) // what is left of the many is nobody's work
}

// median of some times.
func median(list []time.Duration) time.Duration {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// firstPages asks for a page of each of these hosts, one after the other, and returns
// how long after it was asked for it was sent.
func (c *tenant) firstPages(seeds []string) (took []time.Duration) {
	c.Helper()
	for _, seed := range seeds {
		asked := time.Now()
		id := c.create(c.crawl(1, seed))
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) { // a worker does it
			j, err := c.GetJob(c.Context(), id)
			if err != nil {
				c.Fatal(err)
			}
			if !j.Ended.IsZero() {
				break
			}
			if time.Since(began) > time.Minute {
				c.Fatalf("job %d waits beside the many: %+v", id, j)
			}
		}
		for _, r := range c.arrivals() {
			if r.host+"/" == seed && r.target == "/" {
				took = append(took, r.at.Sub(asked))
				break
			}
		}
	}
	if len(took) != len(seeds) {
		c.Fatalf("%d of %d pages were asked for", len(took), len(seeds))
	}
	return took
}

// maxAsking is how many requests for jobs are under way at once.
const maxAsking = 8

// createMany asks for all the jobs of a crowd.
func (c *tenant) createMany(s crowdSetup, seeds []string) (ids []int64) {
	c.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := make(chan int)
	for range maxAsking {
		wg.Go(func() {
			for i := range next {
				request := c.crawl(int64(s.pages), seeds[i%len(seeds)])
				request.Pace.DelayMS = new(s.pace.Milliseconds())
				id := c.create(request)
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
		})
	}
	for i := range s.jobs {
		next <- i
	}
	close(next)
	wg.Wait()
	return ids
}

// running is how many jobs of the tenant have a place.
func (c *tenant) running() int {
	c.Helper()
	n := 0
	for _, j := range c.list() {
		if strings.HasPrefix(j.State, "run") {
			n++
		}
	}
	return n
}

// awaitRunning waits until so many jobs have a place.
func (c *tenant) awaitRunning(n int) {
	c.Helper()
	c.until(fmt.Sprintf("%d jobs run", n), func() bool { return c.running() >= n })
}
