package headway

import (
	"time"

	"headway/frontier"
	"headway/internal/committer"
	"headway/internal/exchange"
	"headway/job"
	"headway/parse"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// link is a URL that was found, judged as far as that needs no memory.
type link struct {
	found store.Found
	mark  weburl.Fingerprint128
	leaf  bool // asked for once, and not followed
}

// Marks of a URL in the cache of what is known to be stored. A URL that waits or
// has ended for good is known by its fingerprint alone; one skipped for the link
// that led there, and one out of scope, by a mark of their own, because another
// link may still admit them.
const (
	markStored      byte = 0
	markProvisional byte = 0x55
	markAside       byte = 0xaa
	markSitemaps    byte = 0x33 // of a host's home page: its sitemaps were sent for
)

// mark is what stands for a found URL in the cache. One out of scope counts once
// for each slot it was found in.
func (r *run) mark(f *store.Found, finder store.Slot) weburl.Fingerprint128 {
	m := frontier.Mark(f.Item.Job, f.Item.URL.Fingerprint128(r.c.key))
	switch {
	case f.Aside():
		m[15] ^= markAside
		m[14] ^= byte(finder)
		m[13] ^= byte(finder >> 8)
	case f.Outcome == visit.Skipped && f.Reason.Provisional():
		m[15] ^= markProvisional
	}
	return m
}

// judgeLinks turns the links of a page into URLs to be stored, each once.
func (r *run) judgeLinks(v *visit.Visit) []link {
	if len(v.Links) == 0 {
		return nil
	}
	finder := store.SlotOf(r.c.key, v.Item.URL.Domain())
	if v.Outcome == visit.Redirected {
		item, ok := v.Item.Follow(v.Answer.Location, r.c.key)
		if !ok {
			return nil
		}
		return []link{r.judgeRedirect(item, finder)}
	}
	if r.cfg.Sitemaps == SitemapsOnly || r.cfg.Closed {
		return nil
	}
	links := make([]link, 0, len(v.Links))
	known := make(map[weburl.URL]int, len(v.Links))
	for i := range v.Links {
		l := &v.Links[i]
		if at, ok := known[l.URL]; ok {
			// Of two links to a page the one that passes counts.
			if f := &links[at].found; !l.Nofollow && f.Reason == visit.Nofollow {
				links[at] = r.judge(f.Item, false, finder)
			}
			continue
		}
		known[l.URL] = len(links)
		item := visit.Item{Job: v.Item.Job, URL: l.URL, Via: v.Item.URL, Found: visit.FoundLink, Depth: v.Item.Depth + 1}
		links = append(links, r.judge(item, l.Nofollow, finder))
	}
	return links
}

// judge decides whether a found URL waits or is skipped.
func (r *run) judge(item visit.Item, nofollow bool, finder store.Slot) link {
	f := store.Found{Item: item}
	d := r.scope.Decide(item.URL, item.Depth)
	switch {
	case !d.In:
		f.Outcome, f.Reason = visit.Skipped, visit.Reason(d.Reason)
	case r.cfg.OptedOut(item.URL):
		f.Outcome, f.Reason = visit.Skipped, visit.OptedOut
	case nofollow:
		f.Outcome, f.Reason = visit.Skipped, visit.Nofollow
	}
	return link{found: f, mark: r.mark(&f, finder), leaf: d.Leaf}
}

// judgeRedirect decides about the target of a redirect. What a seed redirects to
// within its domain belongs to the crawl.
func (r *run) judgeRedirect(item visit.Item, finder store.Slot) link {
	if item.Depth > 0 {
		return r.judge(item, false, finder)
	}
	r.scope.Widen(item.Via, item.URL)
	f := store.Found{Item: item}
	switch d := r.scope.DecideSeed(item.URL); {
	case !d.In:
		f.Outcome, f.Reason = visit.Skipped, visit.Reason(d.Reason)
	case r.cfg.OptedOut(item.URL):
		f.Outcome, f.Reason = visit.Skipped, visit.OptedOut
	}
	return link{found: f, mark: r.mark(&f, finder)}
}

// stillInScope decides again about a URL that an earlier run let in: what belongs
// to the crawl may have been narrowed since.
func (r *run) stillInScope(item visit.Item) scope.Decision {
	if item.Depth == 0 {
		return r.scope.DecideSeed(item.URL)
	}
	return r.scope.Decide(item.URL, item.Depth)
}

// priorityScale turns a sitemap's priority into ours.
const priorityScale = 10

// judgeEntry decides about an entry of a sitemap, which is one link away from a
// seed.
func (r *run) judgeEntry(from weburl.URL, e parse.Entry, finder store.Slot) link {
	return r.judge(visit.Item{
		Job: r.job, URL: e.URL.Clone(), Via: from, Found: visit.FoundSitemap, Depth: 1, Priority: int(e.Priority * priorityScale),
	}, false, finder)
}

// fresh leaves out the links that are known to be stored, and holds the others
// against the brakes on endless spaces.
func (r *run) fresh(now time.Time, links []link) []committer.Found {
	kept := make([]committer.Found, 0, len(links))
	for i := range links {
		l := &links[i]
		if r.c.seen.Has(l.mark) {
			continue
		}
		// A leaf leads nowhere, so it is no part of an endless space.
		if l.found.Outcome == "" && l.found.Item.Found == visit.FoundLink && !l.leaf {
			if d := r.traps.Look(l.found.Item.URL, now); !d.In {
				l.found.Outcome, l.found.Reason = visit.Skipped, visit.Reason(d.Reason)
			}
		}
		if l.found.Outcome == "" && r.enough && l.found.Item.Found != visit.FoundRedirect {
			l.found.Outcome = visit.Deferred
		}
		if l.found.Outcome == "" && r.hosts.out(l.found.Item.URL.Host()) {
			l.found.Outcome = visit.Deferred
		}
		if l.found.Outcome == "" && r.cfg.MaxWaiting > 0 && r.counts.Waiting+int64(len(kept)) >= r.cfg.MaxWaiting {
			l.found.Outcome = visit.Deferred // extending the job admits it
		}
		kept = append(kept, committer.Found{Found: l.found, Mark: l.mark})
	}
	return kept
}

// findSitemaps sends for the sitemaps of a host, for all who have a part in it.
func (c *crawler) findSitemaps(s *site, names []string) {
	for _, r := range c.runsOf(s.home.Host()) {
		r.findSitemaps(s, names)
	}
}

// findSitemaps sends for the sitemaps of a host: those its robots.txt names,
// else the usual one, for hosts of seeds.
func (r *run) findSitemaps(s *site, names []string) {
	if !r.wantsSitemaps(s) {
		return
	}
	s.read(r.job)
	// A host that has left memory and comes back has been asked before. Where
	// that was forgotten the store knows.
	m := frontier.Mark(r.job, s.home.Fingerprint128(r.c.key))
	m[15] ^= markSitemaps
	if r.c.seen.Has(m) {
		return
	}
	r.c.seen.Put(m)
	if len(names) == 0 && r.seedHosts[s.home.Host()] {
		names = []string{"/sitemap.xml"}
	}
	for _, name := range names {
		if u, err := s.home.Resolve(name); err == nil {
			r.sendForSitemap(s, u, 0)
		}
	}
}

// wantsSitemaps tells whether the sitemaps of a host are to be sent for: they are
// once for each job, whoever brought the host into memory.
func (r *run) wantsSitemaps(s *site) bool {
	return r.cfg.Sitemaps != SitemapsOff && s.sitemaps[r.job] == nil && r.hosts.has(s.home.Host()) && !(r.cfg.Scope.Leaves && r.scope.Foreign(s.home))
}

// moreSitemaps sends for what a sitemap index lists.
func (r *run) moreSitemaps(t task, urls []weburl.URL) {
	s := r.c.sites[t.host.Home.Host()]
	if s == nil || t.nested+1 >= exchange.MaxNested {
		return
	}
	for _, u := range urls {
		r.sendForSitemap(s, u.Clone(), t.nested+1)
	}
}

// movedSitemap sends for a sitemap where it is now. Each is sent for once, so
// that a circle ends.
func (r *run) movedSitemap(t task, to weburl.URL) {
	if s := r.c.sites[t.host.Home.Host()]; s != nil {
		r.sendForSitemap(s, to, t.nested)
	}
}

// sendForSitemap asks for an errand, once for each sitemap. A sitemap elsewhere is
// read only if a page there would be.
func (r *run) sendForSitemap(s *site, u weburl.URL, nested int) {
	list := s.read(r.job)
	if _, ok := list[u]; ok || len(list) >= exchange.MaxSitemaps || r.enough || r.hosts.out(u.Host()) || r.cfg.OptedOut(u) {
		return
	}
	if d := r.scope.DecideSeed(u); u.Host() != s.home.Host() && (!d.In || d.Leaf) {
		return
	}
	list[u] = sitemap{nested: nested}
	r.c.pend(committer.Entry{Errand: &store.Errand{Job: r.job, URL: u, Nested: nested}})
}

// sendErrands puts errands on the schedule that wait in the store, each once.
func (c *crawler) sendErrands(now time.Time, errands []store.Errand) {
	for _, e := range errands {
		if !c.owns(store.SlotOf(c.key, e.URL.Domain())) || c.runs[e.Job] == nil {
			continue // its owner hears of it
		}
		if s := c.sites[e.URL.Host()]; s != nil && s.sitemaps[e.Job][e.URL].queued {
			continue
		}
		if !c.runs[e.Job].hosts.has(e.URL.Host()) {
			c.site(e.URL)
			c.f.Warm(now, e.URL, []job.ID{e.Job}) // they come back when the host was taken up
			c.forgetUnscheduled(e.URL.Host())
			continue
		}
		list := c.site(e.URL).read(e.Job)
		list[e.URL] = sitemap{nested: e.Nested, queued: c.f.Run(now, frontier.Errand{URL: e.URL, Job: e.Job})}
		c.forgetUnscheduled(e.URL.Host())
	}
}

// tookSitemap learns how the host bore the question for a sitemap.
func (c *crawler) tookSitemap(now time.Time, r frontier.Request, a frontier.Answer, wire int64, asked bool) {
	if !asked {
		c.f.Skip(now, r)
		return
	}
	if run := c.runs[r.Job]; run != nil {
		run.spend(now, 0, left(a), wire)
	}
	settled := c.f.Settle(now, r, a, nil)
	c.measure(r, &a, wire, settled.Effect)
	c.noteEffect(now, r.Host, settled.Effect)
	c.touch(r.Host)
}
