package headway_test

import (
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// TestFleetDryRun fetches robots.txt and sitemaps but no page, whatever the page limit. A
// later crawl fetches the planned pages.
func TestFleetDryRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, pages, orphans = 3, 5, 15
		f := newListed(t, hosts, pages, orphans)
		f.cfg.Sitemaps = headway.SitemapsOnly
		f.open = func(j store.Job, c headway.Job) (headway.Job, error) {
			if c.DryRun = j.MaxPages > 0; c.DryRun {
				c.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Pages: j.MaxPages, PagesPerHost: 1}})
			}
			return c, nil
		}
		workers := []*worker{f.start(), f.start()}
		dry := f.submit(1)
		j, counts := f.await(dry, time.Hour)
		total := f.web.Stats().Total
		if j.State != job.Complete || total.PageRequests+total.UniqueOrphans != 0 || total.Requests != total.RobotsFetches+total.SitemapFetches || total.RobotsFetches != hosts {
			t.Errorf("%s (%s): %+v", j.State, j.Reason, total)
		}
		planned := counts.Ended[store.Ending{Outcome: visit.Deferred}]
		if planned != hosts*(pages+orphans) || planned != counts.Seen() || counts.Pages() != 0 {
			t.Errorf("planned %d of %d; %v", planned, hosts*(pages+orphans), counts.Ended)
		}
		_, counts = f.await(f.submit(0), time.Hour)
		for after := store.Cursor(""); ; {
			page, err := f.st.List(t.Context(), store.Query{Job: dry, Outcome: visit.Deferred, After: after, Max: store.MaxPage})
			if err != nil {
				t.Fatal(err)
			}
			for i := range page.Entries {
				if _, err := f.st.Lookup(t.Context(), dry+1, page.Entries[i].Item.URL); err != nil {
					t.Errorf("%s was planned and not found: %v", page.Entries[i].Item.URL, err)
				}
			}
			if after = page.Next; after == "" {
				break
			}
		}
		if counts.Seen() != planned {
			t.Errorf("found %d, planned %d", counts.Seen(), planned)
		}
		f.drain(workers)
		f.polite(time.Second)
	})
}
