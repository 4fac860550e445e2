package engine

import (
	"time"

	"headway/internal/committer"
	"headway/internal/discovery"
	"headway/internal/exchange"
	"headway/store"
	"headway/weburl"
)

// filterLinks drops links that are known to be stored, and skips or defers those that are
// not wanted.
func (r *run) filterLinks(now time.Time, links []discovery.Link) []discovery.Link {
	b := discovery.LinkFilter{Seen: r.seen, Traps: r.traps, DiscoveryStopped: r.discoveryStopped, Out: r.hosts.Out, Room: -1}
	if r.cfg.MaxWaiting > 0 {
		b.Room = max(r.cfg.MaxWaiting-r.counts.Waiting, 0)
	}
	return b.Apply(now, links)
}

// requestSitemaps requests the sitemaps of a host: those named in its robots.txt, or
// /sitemap.xml for hosts of seeds.
func (r *run) requestSitemaps(s *site, names []string) {
	if !r.wantsSitemaps(s) {
		return
	}
	s.sitemapsOf(r.ID)
	// A host that was evicted and loaded again has been handled before. If that is
	// forgotten, the store drops the duplicate.
	m := r.rules.SitemapsMark(r.ID, s.home)
	if r.seen.Has(m) {
		return
	}
	r.seen.Put(m)
	if len(names) == 0 && r.seedHosts[s.home.Host()] {
		names = []string{"/sitemap.xml"}
	}
	for _, name := range names {
		if u, err := s.home.Resolve(name); err == nil {
			r.requestSitemap(s, u, 0)
		}
	}
}

// wantsSitemaps reports whether the job still has to request the sitemaps of a host.
func (r *run) wantsSitemaps(s *site) bool {
	return r.cfg.Sitemaps && s.sitemaps[r.ID] == nil && r.hosts.Has(s.home.Host()) && !(r.cfg.Scope.Leaves && r.rules.Scope.Foreign(s.home))
}

// requestSitemap creates an errand, once per sitemap. A sitemap on another host is read
// only if a page there would be in scope.
func (r *run) requestSitemap(s *site, u weburl.URL, nested int) {
	list := s.sitemapsOf(r.ID)
	if _, ok := list[u]; ok || len(list) >= exchange.MaxSitemaps || r.discoveryStopped || r.hosts.Out(u.Host()) || r.rules.OptedOut(u) {
		return
	}
	if d := r.rules.Scope.DecideSeed(u); u.Host() != s.home.Host() && (!d.In || d.Leaf) {
		return
	}
	list[u] = sitemap{nested: nested}
	r.enqueue(committer.Entry{Errand: &store.Errand{Job: r.ID, URL: u, Nested: nested}})
}
