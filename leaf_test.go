package headway_test

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/internal/simweb"
	"headway/job"
	"headway/lab"
	"headway/scope"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// TestLeaves crawls one of three hosts, with links to the others as leaves: each is
// requested once, after robots.txt, and its links are not followed. Finished leaves can be
// requested again, and only those are.
func TestLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := lab.DefaultSite()
		s.Pages, s.DeadLinks, s.CrossLinks, s.MinKB, s.MaxKB = 20, 10, 2, 100, 200
		const dead = 9 // one page is nofollow
		w, err := simweb.New(lab.Config{Address: lab.Name, Hosts: []lab.HostSpec{
			{Name: "site.example", Temper: lab.Temper{Site: s}}, {Name: "one.example", Temper: lab.Temper{Site: s}}, {Name: "two.example", Temper: lab.Temper{Site: s}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		st := memory.Open(memory.Config{})
		cfg := config{
			headway.Worker{Store: st, Fetcher: newFetcher(t, w)},
			headway.Job{Seeds: []weburl.URL{mustURL("http://site.example/")}, Scope: scope.Config{Leaves: true}},
		}
		run := func() headway.Report {
			t.Helper()
			r, err := cfg.run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if r.State != job.Complete {
				t.Errorf("ended %s (%s)", r.State, r.Reason)
			}
			return r
		}
		report := run()
		if n := report.Counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.OutOfScope}]; n != 0 {
			t.Errorf("%d links were put aside", n)
		}
		if n := report.Counts.Ended[store.Ending{Outcome: visit.Dead}]; n != dead {
			t.Errorf("%d dead links, want %d", n, dead)
		}
		site := w.Host("site.example")
		if site.UniquePages != 20 || site.SitemapFetches == 0 {
			t.Errorf("%d pages and %d sitemaps of the site itself", site.UniquePages, site.SitemapFetches)
		}
		leaves := leavesOf(t, st, report.Job)
		for _, host := range []string{"one.example", "two.example"} {
			got := w.Host(host)
			// Home pages, the cross links of 20 pages, and 5 dead links: none twice, and
			// none of the dead links on the leaves.
			if want := leaves["http://"+host]; got.Requests-got.RobotsFetches != want || got.RobotsFetches != 1 || got.SitemapFetches != 0 || got.BeforeRobots != 0 {
				t.Errorf("%s: %d requests for %d leaves: %+v", host, got.Requests, want, got)
			}
			if got.BytesOut > leaves["http://"+host]*(100<<10) {
				t.Errorf("%s: %d bytes were sent for %d leaves", host, got.BytesOut, leaves["http://"+host])
			}
		}

		// Dead links again.
		page, err := st.List(t.Context(), store.Query{Job: report.Job, Outcome: visit.Dead, Max: store.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		var urls []weburl.URL
		for _, e := range page.Entries {
			urls = append(urls, e.Item.URL)
		}
		before := w.Host("site.example").Requests + w.Host("one.example").Requests + w.Host("two.example").Requests
		if n, err := st.Reopen(t.Context(), time.Now(), report.Job, urls); err != nil || n != dead {
			t.Fatalf("%d reopened: %v", n, err)
		}
		if err := st.SetState(t.Context(), time.Now(), report.Job, job.Complete, job.Queued, ""); err != nil {
			t.Fatal(err)
		}
		cfg.ResetUsage = true
		again := run()
		if !maps.Equal(again.Counts.Ended, report.Counts.Ended) {
			t.Errorf("ended %v, and %v before", again.Counts.Ended, report.Counts.Ended)
		}
		after := w.Host("site.example").Requests + w.Host("one.example").Requests + w.Host("two.example").Requests
		sitemaps := w.Host("site.example").SitemapFetches - site.SitemapFetches
		if n := after - before - sitemaps; n != dead {
			t.Errorf("%d requests for %d links", n, dead)
		}
	})
}

// leavesOf counts the URLs of a job by host.
func leavesOf(t *testing.T, st store.Store, id job.ID) map[string]int64 {
	t.Helper()
	hosts := map[string]int64{}
	page, err := st.List(t.Context(), store.Query{Job: id, Max: store.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Entries {
		if e.Outcome != visit.Skipped {
			hosts[e.Item.URL.Host()]++
		}
	}
	return hosts
}
