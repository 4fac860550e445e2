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

// loader loads the states of hosts and, where domains are shared with other processes,
// claims their domains.
type loader struct {
	*base
	hosts  *hosts
	jobs   *jobs
	queues *queues

	suspects *suspects
}

// share sends the next request about domains to the store, unless one is under way. Domains
// that others wait for come first.
func (ld *loader) share(ctx context.Context, now time.Time) {
	if ld.domains.Querying() {
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

// startLoad claims and loads hosts.
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
	ld.domains.StartQuery()
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
		ld.domains.EndQuery()
		switch {
		case err != nil:
			ld.loop.FailUnless(ctx, err)
		case ld.lease.Epoch() != epoch:
			ld.domains.Doubt(hosts, got.claim.Granted)
		default:
			ld.onLoaded(now, hosts, got.claim, got.known, unclean)
			ld.domains.Loaded(now, got.took, got.claim.Granted)
		}
	})
}

// onLoaded adds loaded hosts to the schedule.
func (ld *loader) onLoaded(now time.Time, hosts []string, claim store.Claim, known map[string]knownHost, unclean map[string]bool) {
	granted := make(map[string]bool, len(claim.Granted))
	for _, d := range claim.Granted {
		granted[d] = true
	}
	asked := ld.domainsLastSent(claim.Hosts)
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
		state.Acquired, _ = ld.slots.Since(s.slot)
		state.Died = ld.suspects.died[s.slot]
		state.Robots = ld.hosts.robotsState(s, now, h.delay)
		state.State = ld.control.ApplyOrders(name, state.State)
		ld.f.Loaded(now, state)
		if state.State.Paused() {
			ld.cfg.Log.Warn("host is paused by an operator; continue with headway host resume", "host", name)
		}
		if state.Unclean {
			ld.hosts.touch(name) // the wait must survive a clean shutdown before its next request
		}
		if state.Robots.Known && !state.Robots.Closed {
			ld.jobs.requestSitemaps(s, h.sitemaps)
		}
		ld.hosts.dropOptedOut(now, name)
	}
	ld.logHolders(claim)
}

// logHolders logs which processes share our hosts, once each.
func (ld *loader) logHolders(claim store.Claim) {
	say := func(list []store.Possession, what string) {
		for _, p := range ld.domains.Unreported(list) {
			ld.cfg.Log.Warn(what, "domain", p.Domain, "pid", p.PID, "folder", p.Dir)
		}
	}
	say(claim.Held, "another crawl uses the same hosts, taking turns")
	ld.domains.ForgetReported(claim.Taken)
	say(claim.Taken, "another crawl is suspended, taking over its hosts")
}

// domainsLastSent returns when any host of each domain last received a request, from any
// process.
func (ld *loader) domainsLastSent(shared []store.Host) map[string]time.Time {
	asked := map[string]time.Time{}
	for i := range shared {
		if u, err := store.ParseHost(shared[i].Host); err == nil && shared[i].LastSent.After(asked[u.Domain()]) {
			asked[u.Domain()] = shared[i].LastSent
		}
	}
	return asked
}

// startWanted asks the store whether other processes want our domains.
func (ld *loader) startWanted(ctx context.Context, shared store.Domains) {
	ld.domains.StartQuery()
	loop.Ask(ctx, ld.loop, func(ctx context.Context) ([]string, error) {
		return shared.Wanted(ctx, ld.loop.Now())
	}, func(now time.Time, wanted []string, err error) {
		ld.domains.EndQuery()
		if err != nil {
			ld.loop.FailUnless(ctx, fmt.Errorf("read which hosts other crawls want: %w", err))
			return
		}
		ld.onWanted(now, wanted)
	})
}

// onWanted stops sending to domains that others wait for. It keeps domains that have just
// become ours: those granted before we asked for them again, and those whose minimum turn
// is not over.
func (ld *loader) onWanted(now time.Time, wanted []string) {
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
		if ld.domains.TurnOver(now, d) && !(awaited[d] && len(ld.f.Hosts(d)) == 0) && ld.domains.StartYield(d) {
			ld.queues.yield(now, d)
		}
	}
}

// startYield hands over the domains without requests under way and with all host states
// stored: a later commit about them would be rejected.
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
		case !quiet: // commit answers at once: others wait
			if ld.commits.HasPending() {
				ld.commits.FlushNow()
			}
		case unstored[d]:
			ld.commits.FlushNow()
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
	ld.domains.StartQuery()
	loop.Do(ctx, ld.loop, func(ctx context.Context) error {
		return shared.Yield(context.WithoutCancel(ctx), ld.loop.Now(), domains, hosts)
	}, func(now time.Time, err error) {
		ld.domains.EndQuery()
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

// yieldAll hands over all domains at the end.
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

// evict drops a host that left the schedule's memory. Its state is already stored, because
// a host leaves only after its last commit. A host with work is stored once more with the
// time at which it is ready, so that it is loaded again then.
func (ld *loader) evict(r frontier.Rest) {
	s := ld.sites[r.Host]
	if s == nil {
		return
	}
	if !r.Until.IsZero() {
		if h, ok := ld.hosts.encodeHost(r.Host, s, r.State); ok {
			h.Rest = r.Until
			ld.commits.StoreHost(h)
		}
	}
	delete(ld.sites, r.Host)
	// A domain without work is released to others.
	if s.claimed && r.Until.IsZero() && len(ld.f.Hosts(s.domain)) == 0 {
		if _, ok := ld.st.(store.Domains); ok && ld.domains.StartYield(s.domain) {
			ld.queues.yield(ld.loop.Now(), s.domain)
		}
	}
}

// keep renews the heartbeat for other processes and returns the domains that were taken
// from us.
func (ld *loader) keep(ctx context.Context) (lost []string, err error) {
	if shared, ok := ld.st.(store.Domains); ok {
		lost, err = shared.Keep(ctx)
	}
	return lost, err
}

// onResumed drops the domains that others took over while the process was suspended.
func (ld *loader) onResumed(silent time.Duration, lost []string, then func()) {
	ld.loop.Post(func(now time.Time) {
		ld.cfg.Log.Warn("process was suspended, reconnecting", "suspended", silent.Round(time.Second), "domains_lost", len(lost))
		for _, d := range lost {
			if ld.domains.StartYield(d) {
				ld.f.Yield(now, d)
			}
		}
		then()
	})
}
