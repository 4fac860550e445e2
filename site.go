package headway

import (
	"errors"
	"time"

	"headway/fetch"
	"headway/frontier"
	"headway/internal/committer"
	"headway/internal/discovery"
	"headway/internal/exchange"
	"headway/internal/fetchpool"
	"headway/internal/pace"
	"headway/job"
	"headway/robots"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// hosts keeps what is known of hosts beside their schedule.
type hosts struct {
	*base
	rules    *robots.Cache       // compiled files
	versions map[robots.Sum]bool // of robots.txt that are stored
}

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

// tookRobots learns from robots.txt.
func (lr *learner) tookRobots(now time.Time, l fetchpool.Robots) {
	s := lr.sites[l.Request.Host]
	if l.Own != nil {
		lr.calledOff(now, l.Request, l.Sent, l.Own)
		return
	}
	for _, r := range lr.jobs.runsOf(l.Request.Host) {
		r.spend(now, 0, l.Asked, l.Wire)
	}
	if reason := l.Refused(); reason != "" {
		// Nothing was sent, so there is nothing to learn or to wait for.
		lr.f.PutBack(now, l.Request)
		lr.f.GiveUp(now, l.Request.Host, visit.Skipped, reason)
		return
	}
	if l.Owned && !s.owned {
		s.owned = true
		lr.f.Reconsider(now, l.Request.Host)
	}
	lr.pool.ReportHeard(now)
	settled := lr.f.Settle(now, l.Request, l.Answer, nil)
	lr.measure(l.Request, &l.Answer, l.Wire, settled.Effect)
	lr.noteEffect(now, l.Request.Host, settled.Effect)
	s.robots = lr.cfg.Robots.Observe(s.robots, now, l.Says)
	if l.Body != nil && lr.hosts.newRobots(s.robots.Sum) {
		lr.pend(committer.Entry{Robots: &store.RobotsVersion{Sum: s.robots.Sum, Body: l.Body, FetchedAt: now}})
	}
	gone := lr.unaskable(now, s, l)
	delay := lr.hosts.crawlDelay(l.Request.Host)
	switch {
	case l.Read:
		delay = l.Delay
	case s.robots.Known == robots.Missing, s.robots.Known == robots.Closed:
		delay = 0
	}
	lr.f.SetRobots(now, l.Request.Host, lr.hosts.robotsState(s, now, delay))
	lr.f.Judge(now, l.Request.Host)
	lr.hosts.touch(l.Request.Host)
	if gone {
		return
	}
	if s.robots.Known != robots.Nothing {
		lr.jobs.findSitemaps(s, l.Sitemaps)
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

// tries is how often a host that says that there is nobody to ask is believed:
// as often as a URL is tried after network errors.
const tries = 3

// unaskable gives up on a host that may not or cannot be asked: what stopped the
// question about robots.txt would stop every page, and is their end.
func (lr *learner) unaskable(now time.Time, s *site, l fetchpool.Robots) bool {
	failure, ok := errors.AsType[*fetch.Error](l.Err)
	s.nobody = ""
	if hop, ok := errors.AsType[*fetch.RefusedHopError](l.Err); ok {
		// Waiting would not open it.
		lr.cfg.Log.Warn("robots.txt redirects to where we do not go", "host", l.Request.Host, "to", hop.To.Host(), "err", hop.Err)
		lr.f.GiveUp(now, l.Request.Host, visit.Skipped, visit.RobotsUnreachable)
		return true
	}
	switch {
	case !ok:
		s.definite = 0
		return false
	case lr.fallBack(now, l.Request.Host, failure):
		return true
	case failure.Reason.Skipped():
		lr.f.GiveUp(now, l.Request.Host, visit.Skipped, visit.Reason(failure.Reason))
		return true
	case !l.Answer.Answered || s.robots.Known != robots.Nothing:
		return false
	}
	s.nobody = visit.Reason(failure.Reason)
	if s.definite++; s.definite < tries {
		return false
	}
	lr.f.GiveUp(now, l.Request.Host, visit.Failed, visit.Reason(failure.Reason))
	return true
}

// parked is how URLs end that a job waits for no longer. Where robots.txt could
// not be read because there is nobody to ask, that is their end, too.
func (lr *learner) parked(p frontier.Park) frontier.Park {
	if s := lr.sites[p.Host]; s != nil && s.nobody != "" && p.Reason == visit.RobotsUnreachable {
		p.Outcome, p.Reason = visit.Failed, s.nobody
	}
	return p
}

// fallBack turns to the other seed of a host that cannot be connected to.
func (lr *learner) fallBack(now time.Time, host string, failure *fetch.Error) (turned bool) {
	if failure.Phase != fetch.PhaseConnect && failure.Phase != fetch.PhaseTLS {
		return false
	}
	for _, r := range lr.jobs.runsOf(host) {
		turned = r.fallBack(host, failure) || turned
	}
	if turned {
		lr.f.GiveUp(now, host, visit.Failed, visit.Reason(failure.Reason))
	}
	return turned
}

func (r *run) fallBack(host string, failure *fetch.Error) bool {
	other, ok := r.cfg.Fallback[host]
	if !ok {
		return false
	}
	r.log.Info("nobody answers, trying the other scheme", "host", host, "url", other.String(), "err", failure)
	f := store.Found{Item: visit.Item{Job: r.ID, URL: other, Found: visit.FoundSeed}}
	r.seedHosts[other.Host()] = true
	r.pend(committer.Entry{Found: []discovery.Link{{Found: f, Mark: r.rules.Mark(&f, 0)}}})
	return true
}
