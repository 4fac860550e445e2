package engine

import (
	"time"

	"headway/internal/committer"
	"headway/internal/discovery"
	"headway/internal/exchange"
	"headway/store"
	"headway/weburl"
)

// fresh leaves out the links that are known to be stored, and holds the others
// against the brakes.
func (r *run) fresh(now time.Time, links []discovery.Link) []discovery.Link {
	b := discovery.Brakes{Seen: r.seen, Traps: r.traps, Enough: r.enough, Out: r.hosts.Out, Room: -1}
	if r.cfg.MaxWaiting > 0 {
		b.Room = max(r.cfg.MaxWaiting-r.counts.Waiting, 0)
	}
	return b.Fresh(now, links)
}

// findSitemaps sends for the sitemaps of a host: those its robots.txt names,
// else the usual one, for hosts of seeds.
func (r *run) findSitemaps(s *site, names []string) {
	if !r.wantsSitemaps(s) {
		return
	}
	s.read(r.ID)
	// A host that has left memory and comes back has been asked before. Where
	// that was forgotten the store knows.
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
			r.sendForSitemap(s, u, 0)
		}
	}
}

// wantsSitemaps tells whether the sitemaps of a host are to be sent for: they are
// once for each job, whoever brought the host into memory.
func (r *run) wantsSitemaps(s *site) bool {
	return r.cfg.Sitemaps && s.sitemaps[r.ID] == nil && r.hosts.Has(s.home.Host()) && !(r.cfg.Scope.Leaves && r.rules.Scope.Foreign(s.home))
}

// sendForSitemap asks for an errand, once for each sitemap. A sitemap elsewhere is
// read only if a page there would be.
func (r *run) sendForSitemap(s *site, u weburl.URL, nested int) {
	list := s.read(r.ID)
	if _, ok := list[u]; ok || len(list) >= exchange.MaxSitemaps || r.enough || r.hosts.Out(u.Host()) || r.rules.OptedOut(u) {
		return
	}
	if d := r.rules.Scope.DecideSeed(u); u.Host() != s.home.Host() && (!d.In || d.Leaf) {
		return
	}
	list[u] = sitemap{nested: nested}
	r.pend(committer.Entry{Errand: &store.Errand{Job: r.ID, URL: u, Nested: nested}})
}
