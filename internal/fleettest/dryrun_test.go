package fleettest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"headway/client"
)

// TestDryRun requests a plan: no page is requested, by the lab's counters, and a crawl
// afterwards has the planned pages.
func TestDryRun(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{hosts: 2, pages: 5, pace: 200 * time.Millisecond})
	f.start()
	c := f.service().tenant("acme")
	request := f.crawl(3, f.lab.Seeds()...)
	request.Sitemaps, request.DryRun = new("only"), new(true)
	id := c.create(request)
	j := f.await(id, f.long(), nil)
	saw := f.lab.Stats().Total
	if j.State != "complete" || j.Pages != 0 || j.Outcomes["deferred"] != int64(f.hosts*f.pages) {
		t.Errorf("the dry run: %+v", j)
	}
	if saw.PageRequests != 0 || saw.SitemapFetches == 0 || saw.Requests != saw.RobotsFetches+saw.SitemapFetches {
		t.Errorf("%d requests: %d for pages, %d for robots.txt, %d for sitemaps", saw.Requests, saw.PageRequests, saw.RobotsFetches, saw.SitemapFetches)
	}
	p, err := c.GetJobPlan(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var told client.PlanView
	if err := json.Unmarshal(f.run("job", "plan", "--json", fmt.Sprint(id)), &told); err != nil {
		t.Fatal(err)
	}
	planned := f.planned(p)
	if p.State != "complete" || p.Ends != "partial" || p.StoppedBy != "max_pages" || planned != int64(f.hosts*f.pages) || f.planned(&told) != planned {
		t.Errorf("the plan: %+v, by the command %+v", p, told)
	}
	request.Limits, request.DryRun = nil, nil
	crawl := c.create(request)
	if j := f.await(crawl, f.long(), nil); j.State != "complete" || j.Pages != planned {
		t.Errorf("%d pages were planned; the crawl: %+v", planned, j)
	}
	if p, ok := errors.AsType[*client.Problem](second(c.GetJobPlan(t.Context(), crawl))); !ok || p.Status != http.StatusConflict {
		t.Errorf("the plan of a crawl: %v", p)
	}
	if saw := f.lab.Stats(); saw.Complete != 1 {
		t.Errorf("%.0f %% of the lab were crawled", 100*saw.Complete)
	}
	f.paced()
}

// planned compares a plan with the lab, and counts its pages.
func (f *fleet) planned(p *client.PlanView) (pages int64) {
	f.Helper()
	if len(p.Hosts) != f.hosts {
		f.Errorf("a plan of %d hosts, want %d", len(p.Hosts), f.hosts)
	}
	limited := false
	for _, l := range p.Ceilings {
		limited = limited || l.Limit == "max_pages" && l.Layer == "job" && l.Max == 3
	}
	if !limited {
		f.Errorf("the limit of pages is not reported: %+v", p.Ceilings)
	}
	for _, h := range p.Hosts {
		pages += h.Pages
		var listed, by int64
		for _, s := range h.Sitemaps {
			listed += s.Entries
		}
		for _, x := range h.Prefixes {
			by += x.URLs
		}
		if listed != int64(f.pages)-1 || // in addition to the seed
			by != h.Pages || h.PaceSeconds != f.pace.Seconds() || h.TakesSeconds <= 0 || !h.Robots.SeedAllowed || h.Robots.Access != "rules" || len(h.Robots.Sitemaps) != 1 {
			f.Errorf("a host of the plan: %+v", h)
		}
	}
	return pages
}
