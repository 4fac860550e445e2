package headway_test

import (
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/job"
	"headway/store"
	"headway/visit"
)

// newListed is a fleet and hosts with pages that only their sitemaps list.
func newListed(t *testing.T, hosts, pages, orphans int) *fleet {
	t.Helper()
	temper := small(pages)
	temper.Site.Orphans = orphans
	return &fleet{simulated: newSimulated(t, hosts, temper)}
}

// TestFleetSitemapsAgain submits a second job on hosts that a worker has in memory: it
// reads their sitemaps for itself, and finds what only they list.
func TestFleetSitemapsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, pages, orphans = 3, 5, 15
		f := newListed(t, hosts, pages, orphans)
		f.cfg.Sitemaps = headway.SitemapsAuto
		workers := []*worker{f.start()}
		for range 2 {
			j, counts := f.await(f.submit(0), time.Hour)
			found := counts.Ended[store.Ending{Outcome: visit.Fetched}] + counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.DuplicateContent}]
			if j.State != job.Complete || found != hosts*(pages+orphans) {
				t.Errorf("%s: %d pages found, want %d; %v", j.State, found, hosts*(pages+orphans), counts.Ended)
			}
		}
		f.drain(workers)
		f.polite(time.Second)
		if total := f.web.Stats().Total; total.RobotsFetches != hosts {
			t.Errorf("robots.txt was read %d times, want %d", total.RobotsFetches, hosts)
		}
	})
}
