package fleettest

import (
	"testing"
	"time"

	"headway/internal/pgtest"
)

// TestPaced crawls many hosts at a pace with fleets of different sizes. It logs the rate,
// compared with one page of each host in every interval, and bounds what a page costs
// PostgreSQL at that rate.
func TestPaced(t *testing.T) {
	t.Parallel()
	web, fleets, most := setup{hosts: 40, pages: 6, pace: pace / 2}, []int{2}, 4*time.Millisecond
	if full {
		web, fleets, most = setup{hosts: 1000, pages: 30}, []int{1, 2, 4}, time.Millisecond
	}
	// Autovacuum would be charged to whichever fleet runs.
	web.db = pgtest.Config{Settings: []string{"autovacuum=off"}}
	for _, workers := range fleets {
		f := newFleet(t, web)
		for range workers {
			f.start()
		}
		f.awaitWorkers(workers)
		before, commits := f.cpu(), f.commits()
		j := f.await(f.submit("--sitemaps", "off"), f.long(), nil)
		cpu, commits := f.cpu()-before, f.commits()-commits
		f.judge(j)
		each := cpu / time.Duration(j.Pages)
		rate, ideal := f.pageRate(), float64(f.hosts)/f.pace.Seconds()
		t.Logf("%d workers: %.0f pages/s, %.2f of the ideal; PostgreSQL used %v a page at %.1f pages a transaction", workers, rate, rate/ideal, each, float64(j.Pages)/float64(commits))
		if each > most {
			t.Errorf("%d workers: a page costs PostgreSQL %v, at most %v", workers, each, most)
		}
		f.leaveAll()
	}
}

// pageRate is how many pages per second the lab served, from the first to the last.
func (f *fleet) pageRate() float64 {
	var first, last time.Time
	for _, r := range f.arrivals() {
		if r.forRobots() {
			continue
		}
		if first.IsZero() || r.at.Before(first) {
			first = r.at
		}
		if r.at.After(last) {
			last = r.at
		}
	}
	// In the time between, each host gets all its pages but one.
	return float64(f.hosts*(f.pages-1)) / last.Sub(first).Seconds()
}
