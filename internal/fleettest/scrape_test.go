package fleettest

import (
	"strings"
	"testing"

	"headway/client"
)

// TestServiceScrape fetches single pages through the API: what they say, what robots.txt
// forbids, and what takes too long. Each is a job with a page of the quota, at the pace of
// the host.
func TestServiceScrape(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{hosts: 1, pages: 3})
	s := f.service()
	acme := s.tenant("acme")
	page := f.lab.Seeds()[0]
	if got, err := acme.Scrape(t.Context(), client.ScrapeRequest{URL: page, TimeoutSeconds: new(1.0)}); err != nil || got.Job != 1 || got.State != "queued" || got.Page != nil {
		t.Errorf("without a worker: %+v, %v", got, err)
	}
	f.run("job", "cancel", "1")
	f.start()
	f.awaitWorkers(1)
	got, err := acme.Scrape(t.Context(), client.ScrapeRequest{URL: page, As: []string{"text", "markdown", "links"}})
	if err != nil {
		t.Fatal(err)
	}
	if got.State != "complete" || got.Page == nil || got.Page.URL != page || got.Page.Outcome != "fetched" || got.Page.Status != 200 || got.Text == "" || got.Markdown == "" || len(got.Links) == 0 {
		t.Errorf("scraped %+v", got)
	}
	for range 2 {
		if _, err := acme.Scrape(t.Context(), client.ScrapeRequest{URL: page}); err != nil {
			t.Error(err)
		}
	}
	if used := acme.used(); used != 3 {
		t.Errorf("%d pages used, want 3", used)
	}
	if got, err := acme.Scrape(t.Context(), client.ScrapeRequest{URL: strings.TrimSuffix(page, "/") + "/none-such.html"}); err != nil || got.Page == nil || got.Page.Outcome != "dead" || got.Text != "" {
		t.Errorf("a missing page: %+v, %v", got, err)
	}
	f.paced()
	f.leave(s.now)
	f.leaveAll()
}
