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

// site is what the crawl keeps of a host beside its schedule.
type site struct {
	home    weburl.URL
	domain  string
	slot    store.Slot
	claimed bool // its domain is ours
	denied  bool // its domain is another process's, as far as we know
	owned   bool
	secrets fetch.Secrets

	gate       exchange.Gate
	departures fetchpool.Departures
	promise    fetchpool.Promise // to the request that was handed out last

	robots   robots.State
	ignored  bool         // robots.txt is left unread
	definite int          // answers in a row that there is nobody to ask
	nobody   visit.Reason // that the last answer gave, if it was such a one

	stored pace.Stored // as last stored

	sitemaps map[job.ID]map[weburl.URL]sitemap // asked for
}

// sitemap is one that a job reads.
type sitemap struct {
	nested int  // how many indexes led there
	queued bool // it is or was on the schedule; before that it is on its way through the store
}

// hosts keeps what is known of hosts beside their schedule.
type hosts struct {
	*base
	versions map[robots.Sum]bool // of robots.txt that are stored
}

// site returns what is kept of a host, and makes it if need be.
func (hs *hosts) site(u weburl.URL) *site {
	host := u.Host()
	if s := hs.sites[host]; s != nil {
		return s
	}
	home, err := u.Resolve("/")
	if err != nil {
		home = u // cannot be: every host has a home page
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

// slotOf is the slot of a host, kept or not.
func (hs *hosts) slotOf(host string) store.Slot {
	if s := hs.sites[host]; s != nil {
		return s.slot
	}
	u, err := store.ParseHost(host)
	if err != nil {
		return 0 // cannot be: it was asked
	}
	return store.SlotOf(hs.key, u.Domain())
}

// read lists the sitemaps that a job reads at the host.
func (s *site) read(id job.ID) map[weburl.URL]sitemap {
	if s.sitemaps[id] == nil {
		if s.sitemaps == nil {
			s.sitemaps = map[job.ID]map[weburl.URL]sitemap{}
		}
		s.sitemaps[id] = map[weburl.URL]sitemap{}
	}
	return s.sitemaps[id]
}

// forgetUnscheduled lets go of a host that the schedule had no room for: it waits
// in the store, and comes back from there.
func (hs *hosts) forgetUnscheduled(host string) {
	if _, ok := hs.f.View(host); !ok {
		delete(hs.sites, host)
	}
}

// robotsState says to the schedule what is known of a host's robots.txt.
func (hs *hosts) robotsState(s *site, now time.Time, delay time.Duration) frontier.RobotsState {
	if s.ignored {
		return frontier.RobotsState{Known: true, Ever: true}
	}
	verdict := hs.cfg.Robots.Verdict(s.robots, now)
	if delay > robots.MaxDelay {
		delay = 0 // nothing is asked of such a host
	}
	due := verdict.Until
	if s.definite > 0 && s.robots.Known == robots.Nothing {
		due = now // there is nobody to spare: the host's backoff is enough
	}
	return frontier.RobotsState{
		Known:  verdict.Access != robots.AccessUnknown,
		Closed: verdict.Access == robots.AccessNone && !s.robots.FailingSince.IsZero(),
		Due:    due,
		Ever:   s.robots.Known != robots.Nothing,
		Delay:  delay,
	}
}

// crawlDelay is the interval that the robots.txt of a host asked for when it was
// last read.
func (hs *hosts) crawlDelay(host string) time.Duration {
	view, _ := hs.f.View(host)
	return view.State.CrawlDelay()
}

// maxRobots bounds the versions of robots.txt that are known to be stored; beyond
// it they are stored again, which changes nothing.
const maxRobots = 100_000

// newRobots tells whether a version of robots.txt is to be stored.
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

// storeHost is the state of a host as it is stored.
func (hs *hosts) storeHost(host string) (committer.Host, bool) {
	s := hs.sites[host]
	view, ok := hs.f.View(host)
	if s == nil || !ok {
		return committer.Host{}, false
	}
	return hs.encodeHost(host, s, view.State)
}

// encodeHost is a host as it is stored, with this state.
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

// pendAt adds something about a host, which must be ours.
func (hs *hosts) pendAt(host string, e committer.Entry) {
	s := hs.sites[host]
	e.Slot, e.Domain = s.slot, s.domain
	hs.commits.Add(e)
}

// pendRan says that an errand was run.
func (hs *hosts) pendRan(e store.Errand) {
	domain := e.URL.Domain()
	hs.commits.Add(committer.Entry{Ran: &e, Slot: store.SlotOf(hs.key, domain), Domain: domain})
}

// domainOf is the domain of a host that is kept; "" of others.
func (hs *hosts) domainOf(host string) string {
	if s := hs.sites[host]; s != nil {
		return s.domain
	}
	return ""
}

// hostsOf returns the hosts of a domain that are ours, as they are stored.
func (hs *hosts) hostsOf(domain string) []store.Host {
	var hosts []store.Host
	for _, name := range hs.f.Hosts(domain) {
		if h, ok := hs.storeHost(name); ok {
			hosts = append(hosts, h.Host)
		}
	}
	return hosts
}

// shun ends what waits on a host, if it asked not to be crawled: pages, and the
// sitemaps that were sent for.
func (hs *hosts) shun(now time.Time, host string) {
	s := hs.sites[host]
	if s == nil || !hs.cfg.OptedOut(s.home) {
		return
	}
	hs.f.GiveUp(now, host, visit.Skipped, visit.OptedOut)
	for id, list := range s.sitemaps {
		for u, m := range list {
			if u.Host() == host && hs.owns(s.slot) {
				hs.pendRan(store.Errand{Job: id, URL: u, Nested: m.nested})
				delete(list, u)
			}
		}
	}
}

// watching lets the schedule tell what it promises.
func (hs *hosts) watching(t frontier.Trace) frontier.Trace {
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

// touch notes that the state of a host must be stored.
func (hs *hosts) touch(host string) { hs.commits.Touch(host) }

// robotsSource is the store as the cache of compiled files sees it.
type robotsSource struct{ st store.Store }

// LoadRobots implements [robots.Source].
func (s robotsSource) LoadRobots(ctx context.Context, sum robots.Sum) ([]byte, error) {
	v, err := s.st.Robots(ctx, sum)
	if errors.Is(err, store.ErrNotFound) {
		return nil, robots.ErrNotStored
	}
	return v.Body, err
}
