package fleettest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// manyJobs is a tenant that creates far more jobs than can run at once.
type manyJobs struct {
	jobs   int
	places int
	hosts  int // that they share
	pages  int // of each job
	pace   time.Duration
	rounds int // of the other tenant, alone and at the same time
}

// TestServiceTenants: one tenant creates many jobs, and another one at a time: it gets
// its first page as fast as if it were alone. In CI none of the many jobs ends
// meanwhile, so that no job starts because another has ended.
func TestServiceTenants(t *testing.T) {
	t.Parallel()
	size := manyJobs{jobs: 60, places: 10, hosts: 20, pages: 3, pace: time.Minute, rounds: 2}
	if full {
		size = manyJobs{jobs: 10_000, places: 100, hosts: 200, pages: 3, pace: pace, rounds: 15}
	}
	f := newFleet(t, setup{hosts: size.hosts + 2*size.rounds, pages: 3, safety: []string{"--max-pages", "0", "--max-concurrent", fmt.Sprint(size.places), "--max-time", "0s"}})
	s := f.service()
	f.start()
	f.awaitWorkers(1)
	seeds := f.lab.Seeds()
	many, one := seeds[:size.hosts], seeds[size.hosts:]
	busy, other := s.tenant("busy"), s.tenant("other")

	alone := other.firstPages(one[:size.rounds])
	began := time.Now()
	ids := busy.createMany(size, many)
	t.Logf("%d jobs were requested in %v", len(ids), time.Since(began).Round(time.Millisecond))
	busy.awaitRunning(size.places - size.places/10)
	beside := other.firstPages(one[size.rounds:])
	if running := busy.running(); running < size.places/2 {
		t.Errorf("%d jobs of the many run at the end, which is too few to judge", running)
	}

	delay := float64(median(beside))/float64(median(alone)) - 1
	t.Logf("first page after %v alone (%v), %v with many jobs (%v): %+.1f %%", median(alone), alone, median(beside), beside, 100*delay)
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
	f.kill(f.workers[0]) // the rest of the many jobs is not needed
}

// relations counts everything that users have in a database, in all schemas: tables and
// partitions, indexes, sequences, and TOAST tables with their indexes. The server's own have
// lower numbers.
const relations = "select count(*) from pg_class where relkind in ('r', 'p', 'i', 'I', 'S', 't') and oid >= 16384"

// TestServiceManyJobs: many jobs without a page limit are created and admitted fast, and
// share tables.
func TestServiceManyJobs(t *testing.T) {
	t.Parallel()
	const most, rate = 300, 20
	size := manyJobs{jobs: 200, hosts: 20, pace: time.Minute}
	f := newFleet(t, setup{hosts: size.hosts, pages: 3})
	s := f.service()
	f.start()
	f.awaitWorkers(1)
	count := func() (n int) {
		f.sql(func(conn *pgx.Conn) error { return conn.QueryRow(t.Context(), relations).Scan(&n) })
		return n
	}
	before := count()
	c := s.tenant("acme")
	cpu := f.cpu()
	c.createMany(size, f.lab.Seeds())
	var admitted, ms int64
	f.until("all jobs are admitted", func() bool {
		f.sql(func(conn *pgx.Conn) error {
			return conn.QueryRow(t.Context(), "select count(started_at), coalesce(max(started_at) - min(created_at), 0) from job").Scan(&admitted, &ms)
		})
		return admitted == int64(size.jobs)
	})
	took := time.Duration(ms) * time.Millisecond
	perSecond := float64(size.jobs) / took.Seconds()
	t.Logf("%d jobs were created and admitted in %v: %.0f a second; %d relations before, %d after", size.jobs, took, perSecond, before, count())
	// Beside other tests the machine sets the rate, so it is also measured in processor time.
	if each := (f.cpu() - cpu) / time.Duration(size.jobs); each > time.Second/rate {
		t.Errorf("a job costs PostgreSQL %v, want at most %v", each, time.Second/rate)
	}
	if full && perSecond < rate {
		t.Errorf("%.1f jobs were admitted a second, want at least %d", perSecond, rate)
	}
	if n := count(); n > most || n != before {
		t.Errorf("%d relations before, %d after, want at most %d and none for a job", before, n, most)
	}
	f.kill(f.workers[0]) // the jobs are not needed any more
}

// median of some times.
func median(list []time.Duration) time.Duration {
	list = slices.Sorted(slices.Values(list))
	return list[len(list)/2]
}

// firstPages crawls a page of each of these hosts, one after the other, and returns
// how long after the request for the job each was sent.
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
			if !j.EndedAt.IsZero() {
				break
			}
			if time.Since(began) > time.Minute {
				c.Fatalf("job %d waits with many jobs: %+v", id, j)
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
		c.Fatalf("%d of %d pages were requested", len(took), len(seeds))
	}
	return took
}

// maxAsking is how many requests for jobs are in flight at once.
const maxAsking = 8

// createMany creates all the jobs.
func (c *tenant) createMany(s manyJobs, seeds []string) (ids []int64) {
	c.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := make(chan int)
	for range maxAsking {
		wg.Go(func() {
			for i := range next {
				request := c.crawl(int64(s.pages), seeds[i%len(seeds)])
				request.Pace.DelaySeconds = new(s.pace.Seconds())
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

// running is how many jobs of the tenant are running.
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

// awaitRunning waits until a number of jobs are running.
func (c *tenant) awaitRunning(n int) {
	c.Helper()
	c.until(fmt.Sprintf("%d jobs run", n), func() bool { return c.running() >= n })
}
