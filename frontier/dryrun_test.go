package frontier

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"headway/job"
	"headway/politeness"
)

// TestDryRunSlowsNobody runs a dry run with a long delay and many sitemaps beside a crawl of
// the same host: the crawl keeps its pace and gives up one turn in eleven, until it has
// ended. A sitemap of the crawl itself still takes every other turn.
func TestDryRunSlowsNobody(t *testing.T) {
	const pace = 200 * time.Millisecond
	crawl, dry := plainJob(1), plainJob(2)
	crawl.Policy = policyWith(func(p *politeness.Policy) { p.Base = pace })
	dry.Policy = policyWith(func(p *politeness.Policy) { p.Base = 5 * time.Second })
	dry.DryRun = true
	r := newRig(t, Config{}, crawl, dry)
	r.add(1, pages("a.example", 44)...)
	for i := range 8 {
		r.f.Run(r.now, Errand{URL: mustURL(fmt.Sprintf("https://a.example/dry%d.xml", i)), Job: 2})
	}
	r.f.Run(r.now, Errand{URL: mustURL("https://a.example/sitemap.xml"), Job: 1})
	var order []Kind
	var jobs []job.ID
	serve := func(until int) {
		t.Helper()
		for range 10 * until {
			list := r.next()
			if len(list) == 0 && !r.batch.Wake.IsZero() {
				r.now = r.batch.Wake
			}
			for _, req := range list {
				order, jobs = append(order, req.Kind), append(jobs, req.Job)
				r.ok(req)
			}
			if len(order) >= until {
				return
			}
		}
		t.Fatalf("%d of %d requests%s", len(order), until, r.describe())
	}
	serve(44 + 1 + 4)
	if took, want := r.now.Sub(start), time.Duration(len(order))*pace; took > want {
		t.Errorf("%d requests took %v, want at most %v", len(order), took, want)
	}
	if order[1] != Sitemap || jobs[1] != 1 {
		t.Errorf("the crawl's own sitemap is not the second request: %v of jobs %v", order[:4], jobs[:4])
	}
	since := 0
	for i := range order {
		if jobs[i] != 2 {
			since++
			continue
		}
		if since < dryRunTurn {
			t.Errorf("request %d is the dry run's, %d after its last one", i, since)
		}
		since = 0
	}
	before, n := r.now, len(order)
	serve(n + 4)
	if took := r.now.Sub(before); took < 15*time.Second || slices.Contains(jobs[n:], 1) {
		t.Errorf("four sitemaps of the dry run alone took %v, of jobs %v", took, jobs[n:])
	}
}
