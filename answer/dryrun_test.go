package answer

import (
	"fmt"
	"strings"
	"testing"

	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
)

// readable is an in-memory store with the methods that plans need.
type readable struct {
	*memory.Store
	missing
}

// missing are the methods that are not needed.
type missing struct{ store.Reader }

// TestDryRunPlan builds a plan from pages listed in sitemaps on one host, by path, and
// another host that disallows everything.
func TestDryRunPlan(t *testing.T) {
	ctx, st := t.Context(), memory.Open(memory.Config{})
	defer st.Close()
	id, err := st.CreateJob(ctx, store.Job{State: job.Running, Layers: []limit.Layer{{Level: limit.Plan, Limits: limit.Limits{Pages: 4}}}})
	if err != nil {
		t.Fatal(err)
	}
	var found []store.Found
	add := func(u, via string, by visit.FoundBy, o visit.Outcome, r visit.Reason) {
		it := link(t, u, via, 1)
		it.Job, it.Found = id, by
		found = append(found, store.Found{Item: it, Outcome: o, Reason: r})
	}
	add("http://a.example/", "", visit.FoundSeed, "", "")
	add("http://b.example/", "", visit.FoundSeed, visit.Skipped, visit.RobotsDisallow)
	for i := range 3 {
		add(fmt.Sprintf("http://a.example/shop/%d", i), "http://a.example/sitemap.xml", visit.FoundSitemap, "", "")
		add(fmt.Sprintf("http://a.example/cart/%d", i), "http://a.example/sitemap.xml", visit.FoundSitemap, visit.Skipped, visit.RobotsDisallow)
	}
	add("http://a.example/blog/1", "http://a.example/sitemap.xml", visit.FoundSitemap, "", "")
	add("http://far.example/", "http://a.example/sitemap.xml", visit.FoundSitemap, visit.Skipped, visit.OutOfScope)
	if _, err := st.Add(ctx, whyNow, found); err != nil {
		t.Fatal(err)
	}
	j, err := st.Job(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	c := Crawl{Store: readable{Store: st}, Job: j, Spec: CrawlSpec{Scope: "host", Preset: "polite", Seeds: []string{"http://a.example/", "http://b.example/"}, SeedCount: 2}}
	p, err := c.Plan(ctx, whyNow)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Hosts) != 2 || p.Ends != job.Partial || p.StoppedBy != "max_pages" || p.Outside != 1 || len(p.Limits) != 1 || p.Limits[0].Layer != "plan" || p.Limits[0].Needs != 5 {
		t.Fatalf("the plan: %+v", p)
	}
	a, b := &p.Hosts[0], &p.Hosts[1]
	if a.Pages != 5 || a.Disallowed != 3 || a.Listed != 7 || len(a.Sitemaps) != 1 || a.Pace.Duration().Seconds() != 1 || a.Takes <= 0 {
		t.Errorf("what sitemaps list: %+v", a)
	}
	if fmt.Sprint(a.Prefixes) != "[{/shop/ 3} {/ 1} {/blog/ 1}]" {
		t.Errorf("by path: %v", a.Prefixes)
	}
	if !strings.Contains(b.Blocked, "disallows") || b.Pages != 0 {
		t.Errorf("what is forbidden: %+v", b)
	}
	if !strings.Contains(strings.Join(p.Unknown, "\n"), "a dry run does not follow links") {
		t.Errorf("unknown: %q", p.Unknown)
	}
}
