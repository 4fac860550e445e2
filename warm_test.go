package headway_test

import (
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/internal/simweb"
	"headway/job"
	"headway/lab"
	"headway/lab/temper"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// TestWarm warms caches in front of origins with different load limits, in virtual time:
// none may exceed twice its idle response time for more than ten seconds, and uncacheable
// pages are requested once. A second run requests only what was not cached before.
func TestWarm(t *testing.T) {
	const ms, pages = time.Millisecond, 208
	for name, rules := range map[string]temper.Rules{
		"one worker":      {Queue: temper.Queue{Service: 700 * ms}},
		"one slow worker": {Queue: temper.Queue{Service: 1500 * ms}},
		"many at once":    {Latency: temper.Constant(400 * ms), Slope: 300 * ms},
		"many a second":   {Latency: temper.Constant(200 * ms), Crowd: 250 * ms},
		"varying":         {Latency: must(temper.ParseLatency("lognormal:200ms,0.4")), Queue: temper.Queue{Service: 500 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				origin := small(pages)
				origin.Site.Cache, origin.Site.CacheTTL, origin.Origin = "cloudflare", 24*time.Hour, &rules
				w, err := simweb.New(lab.Config{Address: lab.Name, Hosts: []lab.HostSpec{{Name: "shop.example", Temper: origin}}})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				st := memory.Open(memory.Config{})
				seed := mustURL("http://shop.example/")
				cfg := config{
					headway.Worker{Store: st, Fetcher: newFetcher(t, w), Owned: func(u weburl.URL) bool { return u.Host() == seed.Host() }},
					headway.Job{Seeds: []weburl.URL{seed}, Policy: preset("warm"), Sitemaps: headway.SitemapsOnly},
				}
				report, err := cfg.run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				first := w.Host("shop.example")
				t.Logf("%v, %d times pushed back, origin %+v", report.Elapsed.Round(time.Second), report.Incidents, *first.Origin)
				if report.State != job.Complete || first.UniquePages != pages {
					t.Errorf("ended %s (%s) with %d of %d pages", report.State, report.Reason, first.UniquePages, pages)
				}
				if first.Origin.OverMS > 10_000 {
					t.Errorf("the origin was over twice its idle time for %v ms", first.Origin.OverMS)
				}
				if first.Origin.MostPage != 1 || first.Origin.MostNever != 1 || first.CacheHits != 0 {
					t.Errorf("%d requests for one page, %d for one that is never kept, %d hits", first.Origin.MostPage, first.Origin.MostNever, first.CacheHits)
				}

				var cold []weburl.URL
				verdicts := map[visit.CacheVerdict]int64{}
				for _, e := range entries(t, st, report.Job) {
					c := e.Visit.Answer.Cache
					verdicts[c.Verdict]++
					if c.Verdict.Cold() && c.Barred == "" {
						cold = append(cold, e.Item.URL)
					}
					if (c.Verdict == visit.CacheBypass) != (c.Barred != "") {
						t.Errorf("%s: %+v", e.Item.URL, c)
					}
				}
				if verdicts[visit.CacheMiss] != first.CacheMisses || verdicts[visit.CacheBypass] != first.CacheBypasses || len(cold) != int(first.CacheMisses) {
					t.Errorf("recorded %v, %d to be requested again; the cache had %d misses and %d never kept", verdicts, len(cold), first.CacheMisses, first.CacheBypasses)
				}
				if _, err := st.Reopen(t.Context(), time.Now(), report.Job, cold); err != nil {
					t.Fatal(err)
				}
				if err := st.SetState(t.Context(), time.Now(), report.Job, job.Complete, job.Queued, ""); err != nil {
					t.Fatal(err)
				}
				cfg.Closed = true
				again, err := cfg.run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				second := w.Host("shop.example")
				if again.State != job.Complete || second.CacheHits != first.CacheMisses || second.Origin.Requests != first.Origin.Requests || second.SitemapFetches != first.SitemapFetches {
					t.Errorf("ended %s (%s); %d hits, %d requests of the origin, %d sitemaps in the second pass", again.State, again.Reason,
						second.CacheHits, second.Origin.Requests-first.Origin.Requests, second.SitemapFetches-first.SitemapFetches)
				}
				for _, e := range entries(t, st, report.Job) {
					if c := e.Visit.Answer.Cache; c.Verdict != visit.CacheHit && c.Verdict != visit.CacheBypass {
						t.Errorf("%s is %s after all", e.Item.URL, c.Verdict)
					}
				}
			})
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// entries lists the pages of a job.
func entries(t *testing.T, st store.Store, id job.ID) []store.Entry {
	t.Helper()
	page, err := st.List(t.Context(), store.Query{Job: id, Outcome: visit.Fetched, Max: store.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	return page.Entries
}
