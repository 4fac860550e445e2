package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"headway/frontier"
	"headway/internal/loop"
	"headway/internal/pace"
	"headway/politeness"
	"headway/store"
)

// loader takes in the states of hosts, and with them the right to their domains where
// that is shared with other processes.
type loader struct {
	*base
	hosts  *hosts
	jobs   *jobs
	queues *queues
}

// share asks the next question, unless one is under way: what others wait for
// comes first.
func (ld *loader) share(ctx context.Context, now time.Time) {
	if ld.domains.Asking() {
		return
	}
	shared, ok := ld.st.(store.Domains)
	if ok && ld.startYield(ctx, shared) {
		return
	}
	if ok && ld.domains.WantedDue(now) {
		ld.startWanted(ctx, shared)
		return
	}
	ld.startLoad(ctx, now)
}

// startLoad asks for hosts.
func (ld *loader) startLoad(ctx context.Context, now time.Time) {
	ld.domains.Retry(now)
	if ld.halted {
		return
	}
	hosts := ld.domains.Next(ld.hosts.domainOf)
	if len(hosts) == 0 {
		return
	}
	var domains []string
	unclean := map[string]bool{}
	for _, h := range hosts {
		if s := ld.sites[h]; s != nil {
			domains = append(domains, s.domain)
			lease, _ := ld.slots.Lease(s.slot)
			unclean[h] = !lease.Clean && !ld.domains.Clean(s.domain)
		}
	}
	ld.domains.Ask()
	slices.Sort(domains)
	domains = slices.Compact(domains)
	epoch := ld.lease.Epoch()
	began := time.Now()
	read := ld.read
	loop.Ask(ctx, ld.loop, func(ctx context.Context) (loaded, error) {
		l, err := read.load(ctx, hosts, domains)
		l.took = time.Since(began)
		return l, err
	}, func(now time.Time, got loaded, err error) {
		ld.domains.Answered()
		switch {
		case err != nil:
			ld.loop.FailUnless(ctx, err)
		case ld.lease.Epoch() != epoch:
			ld.domains.Doubt(hosts, got.claim.Granted)
		default:
			ld.tookLoad(now, hosts, got.claim, got.known, unclean)
			ld.domains.Loaded(now, got.took, got.claim.Granted)
		}
	})
}

// tookLoad puts hosts on the schedule.
func (ld *loader) tookLoad(now time.Time, hosts []string, claim store.Claim, known map[string]knownHost, unclean map[string]bool) {
	granted := make(map[string]bool, len(claim.Granted))
	for _, d := range claim.Granted {
		granted[d] = true
	}
	asked := ld.domainsAsked(claim.Hosts)
	for _, name := range hosts {
		s := ld.sites[name]
		if s == nil {
			ld.f.Loaded(now, frontier.HostState{Host: name})
			continue
		}
		if !granted[s.domain] {
			ld.domains.Denied(name)
			s.denied = true
			ld.f.LeaseWait(now, name)
			continue
		}
		if s.denied {
			s.denied = false
			ld.domains.BeginTurn(now, s.domain)
		}
		s.claimed = true
		state := frontier.HostState{Host: name, State: politeness.New(name), DomainAsked: asked[s.domain], Unclean: unclean[name] || ld.domains.Doubted(s.domain) || slices.Contains(claim.Unclean, s.domain)}
		h, ok := known[name]
		if ok {
			if err := state.State.UnmarshalBinary(h.Politeness); err != nil && len(h.Politeness) > 0 {
				ld.cfg.Log.Warn("cannot read stored host state, using defaults", "host", name, "err", err)
				state.State, state.Unclean = politeness.New(name), true
			}
			s.robots = h.robots
			s.stored = pace.Of(&h.Host)
		}
		if at, ok := ld.slots.Since(s.slot); ok {
			// What others did on a slot that has just become ours is not looked
			// up host by host.
			state.DomainAsked = at
		}
		state.Robots = ld.hosts.robotsState(s, now, h.delay)
		state.State = ld.control.ApplyOrders(name, state.State)
		ld.f.Loaded(now, state)
		if state.State.Paused() {
			ld.cfg.Log.Warn("host is paused by an operator; continue with headway host resume", "host", name)
		}
		if state.Unclean {
			ld.hosts.touch(name) // that it has to wait must outlive a clean end before its next request
		}
		if state.Robots.Known && !state.Robots.Closed {
			ld.jobs.findSitemaps(s, h.sitemaps)
		}
		ld.hosts.shun(now, name)
	}
	ld.tellHolders(claim)
}

// tellHolders says with whom hosts are shared, once of each.
func (ld *loader) tellHolders(claim store.Claim) {
	say := func(list []store.Possession, what string) {
		for _, p := range ld.domains.Tell(list) {
			ld.cfg.Log.Warn(what, "domain", p.Domain, "pid", p.PID, "folder", p.Dir)
		}
	}
	say(claim.Held, "another crawl uses the same hosts, taking turns")
	ld.domains.Untell(claim.Taken)
	say(claim.Taken, "another crawl is suspended, taking over its hosts")
}

// domainsAsked is when any host of each domain was last asked, by whomever.
func (ld *loader) domainsAsked(shared []store.Host) map[string]time.Time {
	asked := map[string]time.Time{}
	for i := range shared {
		if u, err := store.ParseHost(shared[i].Host); err == nil && shared[i].LastSent.After(asked[u.Domain()]) {
			asked[u.Domain()] = shared[i].LastSent
		}
	}
	return asked
}

// startWanted asks whether another process wants a domain of ours.
func (ld *loader) startWanted(ctx context.Context, shared store.Domains) {
	ld.domains.Ask()
	loop.Ask(ctx, ld.loop, func(ctx context.Context) ([]string, error) {
		return shared.Wanted(ctx, ld.loop.Now())
	}, func(now time.Time, wanted []string, err error) {
		ld.domains.Answered()
		if err != nil {
			ld.loop.FailUnless(ctx, fmt.Errorf("ask for requests of other crawls: %w", err))
			return
		}
		ld.tookWanted(now, wanted)
	})
}

// tookWanted stops sending to domains that others wait for, except to those that
// are ours only since a moment ago: one that we asked for and that was handed to
// us before we asked again, or whose turn is not over.
func (ld *loader) tookWanted(now time.Time, wanted []string) {
	if len(wanted) == 0 {
		return
	}
	awaited := map[string]bool{}
	for _, name := range ld.domains.Awaited() {
		if s := ld.sites[name]; s != nil && !s.claimed {
			awaited[s.domain] = true
		}
	}
	for _, d := range wanted {
		if ld.domains.TurnOver(now, d) && !(awaited[d] && len(ld.f.Hosts(d)) == 0) && ld.domains.Give(d) {
			ld.queues.yield(now, d)
		}
	}
}

// startYield gives up the domains of which nothing is under way, the states of
// their hosts stored: what a commit says of a host that is no longer ours is
// refused.
func (ld *loader) startYield(ctx context.Context, shared store.Domains) bool {
	yields := ld.domains.Yields()
	if len(yields) == 0 {
		return false
	}
	unstored := ld.commits.Unstored(ld.hosts.domainOf)
	var domains []string
	var hosts []store.Host
	for d, quiet := range yields {
		switch {
		case !quiet: // what was answered is stored at once: others wait
			if ld.commits.Waits() {
				ld.commits.Hurry()
			}
		case unstored[d]:
			ld.commits.Hurry()
		default:
			domains = append(domains, d)
			hosts = append(hosts, ld.hosts.hostsOf(d)...)
		}
	}
	if len(domains) == 0 {
		return false
	}
	for i := range hosts {
		ld.sites[hosts[i].Host].claimed = false
	}
	ld.domains.Ask()
	loop.Do(ctx, ld.loop, func(ctx context.Context) error {
		return shared.Yield(context.WithoutCancel(ctx), ld.loop.Now(), domains, hosts)
	}, func(now time.Time, err error) {
		ld.domains.Answered()
		if err != nil {
			ld.loop.FailUnless(ctx, fmt.Errorf("hand %d domains over: %w", len(domains), err))
			return
		}
		ld.domains.Yielded(domains)
		for _, d := range domains {
			ld.f.Yielded(now, d)
		}
	})
	return true
}

// yieldAll gives all domains up at the end.
func (ld *loader) yieldAll(ctx context.Context, now time.Time) error {
	shared, ok := ld.st.(store.Domains)
	if !ok {
		return nil
	}
	domains := map[string]bool{}
	for _, s := range ld.sites {
		if s.claimed {
			domains[s.domain] = true
		}
	}
	var names []string
	var hosts []store.Host
	for d := range domains {
		names = append(names, d)
		hosts = append(hosts, ld.hosts.hostsOf(d)...)
	}
	if len(names) == 0 {
		return nil
	}
	if err := shared.Yield(ctx, now, names, hosts); err != nil {
		return fmt.Errorf("hand hosts over: %w", err)
	}
	return nil
}

// rest lets go of a host that left memory. Its state is stored already, because
// a host leaves only after its last commit; one with work is stored once more
// with the time at which it is ready, by which it comes back.
func (ld *loader) rest(r frontier.Rest) {
	s := ld.sites[r.Host]
	if s == nil {
		return
	}
	if !r.Until.IsZero() {
		if h, ok := ld.hosts.encodeHost(r.Host, s, r.State); ok {
			h.Rest = r.Until
			ld.commits.Rest(h)
		}
	}
	delete(ld.sites, r.Host)
	// A domain without work is not kept from others.
	if s.claimed && r.Until.IsZero() && len(ld.f.Hosts(s.domain)) == 0 {
		if _, ok := ld.st.(store.Domains); ok && ld.domains.Give(s.domain) {
			ld.queues.yield(ld.loop.Now(), s.domain)
		}
	}
}

// keep shows other processes that this one runs, and tells what was taken from it.
func (ld *loader) keep(ctx context.Context) (lost []string, err error) {
	if shared, ok := ld.st.(store.Domains); ok {
		lost, err = shared.Keep(ctx)
	}
	return lost, err
}

// goOn takes domains off the schedule that others took while the process was stopped, as
// if they had asked for them.
func (ld *loader) goOn(silent time.Duration, lost []string, then func()) {
	ld.loop.Post(func(now time.Time) {
		ld.cfg.Log.Warn("process was suspended, reconnecting", "suspended", silent.Round(time.Second), "domains_lost", len(lost))
		for _, d := range lost {
			if ld.domains.Give(d) {
				ld.f.Yield(now, d)
			}
		}
		then()
	})
}
