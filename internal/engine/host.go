package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/fetch"
	"headway/frontier"
	"headway/internal/committer"
	"headway/internal/exchange"
	"headway/internal/fetchpool"
	"headway/internal/pace"
	"headway/job"
	"headway/politeness"
	"headway/robots"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// site is what the crawl keeps about a host in addition to its schedule.
type site struct {
	home    weburl.URL
	domain  string
	slot    store.Slot
	claimed bool // we own its domain
	denied  bool // another process owns its domain, as far as we know
	owned   bool
	secrets fetch.Secrets

	gate       exchange.Gate
	departures fetchpool.Departures
	promise    fetchpool.Promise // made for the last request handed out

	robots           robots.State
	ignored          bool         // robots.txt is not fetched
	unreachableTries int          // consecutive responses that say the host does not exist or cannot be reached
	unreachable      visit.Reason // reason of the last such response; "" after another one

	stored pace.Stored // as last stored

	sitemaps map[job.ID]map[weburl.URL]sitemap // requested
}

// sitemap is one that a job reads.
type sitemap struct {
	nested int  // how many sitemap indexes led there
	queued bool // it is or was scheduled; until then it is being stored
}

// hosts keeps what is known about hosts in addition to their schedule.
type hosts struct {
	*base
	versions map[robots.Sum]bool // of robots.txt that are stored
}

// site returns the entry of a host, creating it if needed.
func (hs *hosts) site(u weburl.URL) *site {
	host := u.Host()
	if s := hs.sites[host]; s != nil {
		return s
	}
	home, err := u.Resolve("/")
	if err != nil {
		home = u // cannot happen: every host has a home page
	}
	domain := u.Domain()
	s := &site{home: home, domain: domain, slot: store.SlotOf(hs.key, domain), owned: hs.cfg.Owned(home)}
	s.ignored = hs.cfg.IgnoreRobots && s.owned
	for _, secret := range hs.cfg.Secrets {
		if secret.Host() == host {
			s.secrets = secret
		}
	}
	hs.sites[host] = s
	return s
}

// slotOf returns the slot of a host, in memory or not.
func (hs *hosts) slotOf(host string) store.Slot {
	if s := hs.sites[host]; s != nil {
		return s.slot
	}
	u, err := store.ParseHost(host)
	if err != nil {
		return 0 // cannot happen: requests were sent to it
	}
	return store.SlotOf(hs.key, u.Domain())
}

// sitemapsOf returns the sitemaps that a job reads on the host.
func (s *site) sitemapsOf(id job.ID) map[weburl.URL]sitemap {
	if s.sitemaps[id] == nil {
		if s.sitemaps == nil {
			s.sitemaps = map[job.ID]map[weburl.URL]sitemap{}
		}
		s.sitemaps[id] = map[weburl.URL]sitemap{}
	}
	return s.sitemaps[id]
}

// forgetUnscheduled drops a host that the schedule had no room for. It waits in the store
// and is loaded from there later.
func (hs *hosts) forgetUnscheduled(host string) {
	if _, ok := hs.f.View(host); !ok {
		delete(hs.sites, host)
	}
}

// robotsState converts what is known about a host's robots.txt for the schedule.
func (hs *hosts) robotsState(s *site, now time.Time, delay time.Duration) frontier.RobotsState {
	if s.ignored {
		return frontier.RobotsState{Known: true, Ever: true}
	}
	verdict := hs.cfg.Robots.Verdict(s.robots, now)
	if delay > robots.MaxDelay {
		delay = 0 // such a host is not crawled
	}
	due := verdict.Until
	if s.unreachableTries > 0 && s.robots.Known == robots.Nothing {
		due = now // an unreachable host needs no extra delay: its backoff is enough
	}
	return frontier.RobotsState{
		Known:  verdict.Access != robots.AccessUnknown,
		Closed: verdict.Access == robots.AccessNone && !s.robots.FailingSince.IsZero(),
		Due:    due,
		Ever:   s.robots.Known != robots.Nothing,
		Delay:  delay,
	}
}

// crawlDelay is the Crawl-delay of the host's robots.txt when it was last read.
func (hs *hosts) crawlDelay(host string) time.Duration {
	view, _ := hs.f.View(host)
	return view.State.CrawlDelay()
}

// maxRobots bounds the robots.txt versions known to be stored. Beyond it they are stored
// again, which changes nothing.
const maxRobots = 100_000

// newRobots reports whether a version of robots.txt must be stored, and remembers it.
func (hs *hosts) newRobots(sum robots.Sum) bool {
	if hs.versions[sum] {
		return false
	}
	if len(hs.versions) >= maxRobots {
		clear(hs.versions)
	}
	hs.versions[sum] = true
	return true
}

// storeHost returns the state of a host in its stored form.
func (hs *hosts) storeHost(host string) (committer.Host, bool) {
	s := hs.sites[host]
	view, ok := hs.f.View(host)
	if s == nil || !ok {
		return committer.Host{}, false
	}
	return hs.encodeHost(host, s, view.State)
}

// encodeHost returns a host in its stored form, with the given state.
func (hs *hosts) encodeHost(host string, s *site, state politeness.State) (committer.Host, bool) {
	file, err := s.robots.MarshalBinary()
	if err != nil {
		hs.loop.Fail(fmt.Errorf("encode the robots state of %s: %w", host, err))
		return committer.Host{}, false
	}
	h := store.Host{Host: host, Robots: file}
	if err := pace.Write(&h, state, s.stored); err != nil {
		hs.loop.Fail(err)
		return committer.Host{}, false
	}
	s.stored = pace.Of(&h)
	return committer.Host{Host: h, Slot: s.slot, Domain: s.domain}, true
}

// enqueueFor adds an entry about a host that we own to the next commit.
func (hs *hosts) enqueueFor(host string, e committer.Entry) {
	s := hs.sites[host]
	e.Slot, e.Domain = s.slot, s.domain
	hs.commits.Add(e)
}

// enqueueErrandDone records that an errand was completed.
func (hs *hosts) enqueueErrandDone(e store.Errand) {
	domain := e.URL.Domain()
	hs.commits.Add(committer.Entry{Ran: &e, Slot: store.SlotOf(hs.key, domain), Domain: domain})
}

// domainOf returns the domain of a host in memory, "" for others.
func (hs *hosts) domainOf(host string) string {
	if s := hs.sites[host]; s != nil {
		return s.domain
	}
	return ""
}

// hostsOf returns the hosts of a domain that we own, in their stored form.
func (hs *hosts) hostsOf(domain string) []store.Host {
	var hosts []store.Host
	for _, name := range hs.f.Hosts(domain) {
		if h, ok := hs.storeHost(name); ok {
			hosts = append(hosts, h.Host)
		}
	}
	return hosts
}

// dropOptedOut ends everything that waits on a host that opted out: pages and requested
// sitemaps.
func (hs *hosts) dropOptedOut(now time.Time, host string) {
	s := hs.sites[host]
	if s == nil || !hs.cfg.OptedOut(s.home) {
		return
	}
	hs.f.GiveUp(now, host, visit.Skipped, visit.OptedOut)
	for id, list := range s.sitemaps {
		for u, m := range list {
			if u.Host() == host && hs.owns(s.slot) {
				hs.enqueueErrandDone(store.Errand{Job: id, URL: u, Nested: m.nested})
				delete(list, u)
			}
		}
	}
}

// recordPromises wraps a trace so that the pace and concurrency promised to each request
// are kept with its host.
func (hs *hosts) recordPromises(t frontier.Trace) frontier.Trace {
	taken := t.Taken
	t.Taken = func(now time.Time, r frontier.Request, p frontier.Promise) {
		if s := hs.sites[r.Host]; s != nil {
			s.promise = fetchpool.Promise{Pace: p.Pace, Cap: int32(p.Cap)}
		}
		if taken != nil {
			taken(now, r, p)
		}
	}
	return t
}

// touch marks the state of a host to be stored.
func (hs *hosts) touch(host string) { hs.commits.Touch(host) }

// robotsSource adapts the store for the cache of compiled robots.txt files.
type robotsSource struct{ st store.Store }

// LoadRobots implements [robots.Source].
func (s robotsSource) LoadRobots(ctx context.Context, sum robots.Sum) ([]byte, error) {
	v, err := s.st.Robots(ctx, sum)
	if errors.Is(err, store.ErrNotFound) {
		return nil, robots.ErrNotStored
	}
	return v.Body, err
}
