package fleettest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// plan is what a dry run told.
type plan struct {
	State     string `json:"state"`
	Ends      string `json:"ends"`
	StoppedBy string `json:"stopped_by"`
	Limits    []struct {
		Name  string `json:"name"`
		Layer string `json:"layer"`
		Max   int64  `json:"max"`
	} `json:"limits"`
	Hosts []struct {
		Host     string `json:"host"`
		Pages    int64  `json:"pages"`
		Pace     int64  `json:"pace_ms"`
		Takes    int64  `json:"takes_ms"`
		Sitemaps []struct {
			Entries int64 `json:"entries"`
		} `json:"sitemaps"`
		Prefixes []struct {
			URLs int64 `json:"urls"`
		} `json:"prefixes"`
		Robots struct {
			Seed     bool     `json:"seed_allowed"`
			Access   string   `json:"access"`
			Sitemaps []string `json:"sitemaps"`
		} `json:"robots"`
	} `json:"hosts"`
}

// TestDryRun asks for a plan: no page is requested, as the lab counts, and a crawl
// afterwards has the pages that were planned.
func TestDryRun(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{hosts: 2, pages: 5, pace: 200 * time.Millisecond})
	f.start()
	c := f.service().client("acme")
	request := f.crawl(3, f.lab.Seeds()...)
	request["sitemaps"], request["dry_run"] = "only", true
	id := c.create(request)
	j := f.await(id, f.long(), nil)
	saw := f.lab.Stats().Total
	if j.State != "complete" || j.Pages != 0 || j.Outcomes["deferred"] != int64(f.hosts*f.pages) {
		t.Errorf("the dry run: %+v", j)
	}
	if saw.PageRequests != 0 || saw.SitemapFetches == 0 || saw.Requests != saw.RobotsFetches+saw.SitemapFetches {
		t.Errorf("%d requests: %d for pages, %d for robots.txt, %d for sitemaps", saw.Requests, saw.PageRequests, saw.RobotsFetches, saw.SitemapFetches)
	}
	var p, told plan
	c.must("GET", fmt.Sprintf("/v1/jobs/%d/plan", id), nil, &p)
	if err := json.Unmarshal(f.run("job", "plan", "--json", fmt.Sprint(id)), &told); err != nil {
		t.Fatal(err)
	}
	planned := f.planned(&p)
	if p.State != "complete" || p.Ends != "partial" || p.StoppedBy != "max_pages" || planned != int64(f.hosts*f.pages) || f.planned(&told) != planned {
		t.Errorf("the plan: %+v, by the command %+v", p, told)
	}
	request["limits"], request["dry_run"] = map[string]any{}, false
	crawl := c.create(request)
	if j := f.await(crawl, f.long(), nil); j.State != "complete" || j.Pages != planned {
		t.Errorf("%d pages were planned; the crawl: %+v", planned, j)
	}
	if status, text, err := c.ask(t.Context(), "GET", fmt.Sprintf("/v1/jobs/%d/plan", crawl), nil); status != 409 || err != nil {
		t.Errorf("the plan of a crawl: %d %s (%v)", status, text, err)
	}
	if saw := f.lab.Stats(); saw.Complete != 1 {
		t.Errorf("%.0f %% of the lab were crawled", 100*saw.Complete)
	}
	f.paced()
}

// planned holds a plan against the lab, and counts its pages.
func (f *fleet) planned(p *plan) (pages int64) {
	f.Helper()
	if len(p.Hosts) != f.hosts {
		f.Errorf("a plan of %d hosts, want %d", len(p.Hosts), f.hosts)
	}
	limited := false
	for _, l := range p.Limits {
		limited = limited || l.Name == "max_pages" && l.Layer == "job" && l.Max == 3
	}
	if !limited {
		f.Errorf("the limit of pages is not told: %+v", p.Limits)
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
		if listed != int64(f.pages)-1 || // beside the seed
			by != h.Pages || h.Pace != f.pace.Milliseconds() || h.Takes <= 0 || !h.Robots.Seed || h.Robots.Access != "rules" || len(h.Robots.Sitemaps) != 1 {
			f.Errorf("a host of the plan: %+v", h)
		}
	}
	return pages
}
