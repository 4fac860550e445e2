package engine

import (
	"time"

	"headway/frontier"
	"headway/internal/committer"
	"headway/internal/discovery"
	"headway/internal/exchange"
	"headway/internal/fetchpool"
	"headway/limit"
	"headway/store"
	"headway/weburl"
)

// task returns a request with what a worker needs to know about its host and job.
func (c *crawler) task(r frontier.Request) fetchpool.Task {
	s, run := c.sites[r.Host], c.jobs.runs[r.Job]
	t := fetchpool.Task{
		Request: r, Apart: r.Apart(), Lease: c.lease.ForRequest(),
		Host: exchange.Host{Home: s.home, Owned: s.owned, Secrets: s.secrets}, Gate: &s.gate, Departures: &s.departures, Promise: s.promise,
		Robots: s.robots, IgnoreRobots: s.ignored,
	}
	if run != nil {
		t.Job, t.JudgeOnly = run.fetchJob(), run.probing
	}
	switch r.Kind {
	case frontier.Robots:
		if payer := c.jobs.runs[r.Payer()]; payer != nil && payer.requests != nil {
			t.Follow = payer.requests.reserver.reserveHop
		}
	case frontier.Page:
		t.First = run.wantsSitemaps(s)
	case frontier.Sitemap:
		errand := store.Errand{Job: r.Job, URL: r.URL, Nested: s.sitemaps[r.Job][r.URL].nested}
		t.Listing = &listing{base: c.base, hosts: c.hosts, run: run, host: r.Host, errand: errand}
	}
	return t
}

// fetchJob returns the job as a worker needs it.
func (r *run) fetchJob() fetchpool.Job {
	j := fetchpool.Job{Rules: r.rules, Known: r.Stored, DryRun: r.cfg.DryRun, Leaves: r.cfg.Scope.Leaves, Content: r.cfg.Content, Extract: r.cfg.Extract, Links: r.cfg.Links, Raw: r.cfg.Raw}
	if most := r.cfg.Limits.Of(limit.Bytes); most.Limited() {
		j.MaxBytes = max(most.Max, 1) // a larger body can never be fetched under this limit
	}
	return j
}

// listing receives the entries of a sitemap for the job that reads it. It belongs to the
// loop.
type listing struct {
	*base
	hosts  *hosts
	run    *run
	host   string       // whose sitemap it is
	errand store.Errand // the sitemap's errand
}

// Store implements [fetchpool.Listing].
func (l *listing) Store(now time.Time, links []discovery.Link, stored func()) {
	l.enqueue(committer.Entry{Found: l.run.filterLinks(now, links), Stored: stored})
}

// Moved requests the sitemap at its new location. Each URL is requested once, so that a
// redirect loop ends.
func (l *listing) Moved(to weburl.URL) {
	if s := l.sites[l.host]; s != nil {
		l.run.requestSitemap(s, to, l.errand.Nested)
	}
}

// Nested requests the sitemaps that a sitemap index lists.
func (l *listing) Nested(urls []weburl.URL) {
	s, nested := l.sites[l.host], l.errand.Nested+1
	if s == nil || nested >= exchange.MaxNested {
		return
	}
	for _, u := range urls {
		l.run.requestSitemap(s, u.Clone(), nested)
	}
}

// Done records that the errand was completed.
func (l *listing) Done() {
	if l.owns(store.SlotOf(l.key, l.errand.URL.Domain())) { // otherwise its next owner reads it again
		l.hosts.enqueueErrandDone(l.errand)
	}
}
