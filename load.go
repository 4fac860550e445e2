package headway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/frontier"
	"headway/internal/exchange"
	"headway/internal/loop"
	"headway/internal/pace"
	"headway/politeness"
	"headway/robots"
	"headway/store"
)

// share asks the next question, unless one is under way: what others wait for
// comes first.
func (c *crawler) share(ctx context.Context, now time.Time) {
	if c.domains.Asking() {
		return
	}
	shared, ok := c.st.(store.Domains)
	if ok && c.startYield(ctx, shared) {
		return
	}
	if ok && c.domains.WantedDue(now) {
		c.startWanted(ctx, shared)
		return
	}
	c.startLoad(ctx, now)
}

// startLoad asks for hosts.
func (c *crawler) startLoad(ctx context.Context, now time.Time) {
	c.domains.Retry(now)
	if c.halted {
		return
	}
	hosts := c.domains.Next(c.domainOf)
	if len(hosts) == 0 {
		return
	}
	var domains []string
	unclean := map[string]bool{}
	for _, h := range hosts {
		if s := c.sites[h]; s != nil {
			domains = append(domains, s.domain)
			lease, _ := c.slots.Lease(s.slot)
			unclean[h] = !lease.Clean && !c.domains.Clean(s.domain)
		}
	}
	c.domains.Ask()
	slices.Sort(domains)
	domains = slices.Compact(domains)
	epoch := c.lease.Epoch()
	began := time.Now()
	loop.Ask(ctx, c.loop, func(ctx context.Context) (loaded, error) {
		l, err := c.load(ctx, hosts, domains)
		l.took = time.Since(began)
		return l, err
	}, func(now time.Time, got loaded, err error) {
		c.domains.Answered()
		switch {
		case err != nil:
			c.loop.FailUnless(ctx, err)
		case c.lease.Epoch() != epoch:
			c.domains.Doubt(hosts, got.claim.Granted)
		default:
			c.tookLoad(now, hosts, got.claim, got.known, unclean)
			c.domains.Loaded(now, got.took, got.claim.Granted)
		}
	})
}

// knownHost is what is stored of a host.
type knownHost struct {
	store.Host
	robots   robots.State
	delay    time.Duration // that its robots.txt asks for
	sitemaps []string      // that it names
}

// loaded is what is known of hosts.
type loaded struct {
	claim store.Claim
	known map[string]knownHost
	took  time.Duration
}

// load reads what is known of hosts. It belongs to the background.
func (c *crawler) load(ctx context.Context, hosts, domains []string) (got loaded, err error) {
	got.claim = store.Claim{Granted: domains}
	if shared, ok := c.st.(store.Domains); ok {
		if got.claim, err = shared.Claim(ctx, c.loop.Now(), domains); err != nil || len(got.claim.Granted) == 0 {
			return got, err
		}
	}
	shared := make(map[string]store.Host, len(got.claim.Hosts))
	for _, h := range got.claim.Hosts {
		shared[h.Host] = h
	}
	got.known = make(map[string]knownHost, len(hosts))
	for _, name := range hosts {
		// The newer of what this crawl and what all crawls know.
		all, ok := shared[name]
		h, err := c.st.Host(ctx, name)
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return got, fmt.Errorf("read host %s: %w", name, err)
		case err == nil && (!ok || h.LastSent.After(all.LastSent)):
			all, ok = h, true
		}
		if !ok {
			continue
		}
		if got.known[name], err = c.knownHost(ctx, all); err != nil {
			return got, fmt.Errorf("read robots.txt of %s: %w", name, err)
		}
	}
	return got, nil
}

// knownHost reads the robots.txt that goes with what is stored of a host,
// because a file that need not be asked for again says no other way what it asks
// for. Another crawl may have read it and keep it in its own store: then it is
// asked for again, and until then the interval holds that was last known.
func (c *crawler) knownHost(ctx context.Context, h store.Host) (knownHost, error) {
	k := knownHost{Host: h}
	if k.robots.UnmarshalBinary(h.Robots) != nil {
		k.robots = robots.State{} // a state that cannot be read is no state: robots.txt is asked for again
	}
	var state politeness.State
	if state.UnmarshalBinary(h.Politeness) == nil {
		k.delay = state.CrawlDelay()
	}
	if k.robots.Known != robots.Copy {
		return k, nil
	}
	file, err := c.rules.Get(ctx, k.robots.Sum)
	switch {
	case errors.Is(err, robots.ErrNotStored):
		k.robots = k.robots.Forget()
		return k, nil
	case err != nil:
		return k, err
	}
	k.delay, _ = file.For(c.cfg.Agent).Delay()
	if c.alone == nil || c.alone.cfg.Sitemaps != SitemapsOff {
		k.sitemaps = exchange.SitemapsOf(file)
	}
	return k, nil
}

// tookLoad puts hosts on the schedule.
func (c *crawler) tookLoad(now time.Time, hosts []string, claim store.Claim, known map[string]knownHost, unclean map[string]bool) {
	granted := make(map[string]bool, len(claim.Granted))
	for _, d := range claim.Granted {
		granted[d] = true
	}
	asked := c.domainsAsked(claim.Hosts)
	for _, name := range hosts {
		s := c.sites[name]
		if s == nil {
			c.f.Loaded(now, frontier.HostState{Host: name})
			continue
		}
		if !granted[s.domain] {
			c.domains.Denied(name)
			s.denied = true
			c.f.LeaseWait(now, name)
			continue
		}
		if s.denied {
			s.denied = false
			c.domains.BeginTurn(now, s.domain)
		}
		s.claimed = true
		state := frontier.HostState{Host: name, State: politeness.New(name), DomainAsked: asked[s.domain], Unclean: unclean[name] || c.domains.Doubted(s.domain) || slices.Contains(claim.Unclean, s.domain)}
		h, ok := known[name]
		if ok {
			if err := state.State.UnmarshalBinary(h.Politeness); err != nil && len(h.Politeness) > 0 {
				c.cfg.Log.Warn("host state not understood, starting carefully", "host", name, "err", err)
				state.State, state.Unclean = politeness.New(name), true
			}
			s.robots = h.robots
			s.stored = pace.Of(&h.Host)
		}
		if at, ok := c.slots.Since(s.slot); ok {
			// What others did on a slot that has just become ours is not looked
			// up host by host.
			state.DomainAsked = at
		}
		state.Robots = c.robotsState(s, now, h.delay)
		state.State = c.control.ApplyOrders(name, state.State)
		c.f.Loaded(now, state)
		if state.State.Paused() {
			c.cfg.Log.Warn("a host is paused by an operator: headway host resume goes on with it", "host", name)
		}
		if state.Unclean {
			c.touch(name) // that it has to wait must outlive a clean end before its next request
		}
		if state.Robots.Known && !state.Robots.Closed {
			c.findSitemaps(s, h.sitemaps)
		}
		c.shun(now, name)
	}
	c.tellHolders(claim)
}

// tellHolders says with whom hosts are shared, once of each.
func (c *crawler) tellHolders(claim store.Claim) {
	say := func(list []store.Possession, what string) {
		for _, p := range c.domains.Tell(list) {
			c.cfg.Log.Warn(what, "domain", p.Domain, "pid", p.PID, "folder", p.Dir)
		}
	}
	say(claim.Held, "another crawl has hosts that this one wants: they take turns")
	c.domains.Untell(claim.Taken)
	say(claim.Taken, "another crawl has stopped without giving up its hosts: they are taken over")
}

// domainsAsked is when any host of each domain was last asked, by whomever.
func (c *crawler) domainsAsked(shared []store.Host) map[string]time.Time {
	asked := map[string]time.Time{}
	for i := range shared {
		if u, err := store.ParseHost(shared[i].Host); err == nil && shared[i].LastSent.After(asked[u.Domain()]) {
			asked[u.Domain()] = shared[i].LastSent
		}
	}
	return asked
}

// startWanted asks whether another process wants a domain of ours.
func (c *crawler) startWanted(ctx context.Context, shared store.Domains) {
	c.domains.Ask()
	loop.Ask(ctx, c.loop, func(ctx context.Context) ([]string, error) {
		return shared.Wanted(ctx, c.loop.Now())
	}, func(now time.Time, wanted []string, err error) {
		c.domains.Answered()
		if err != nil {
			c.loop.FailUnless(ctx, fmt.Errorf("ask for requests of other crawls: %w", err))
			return
		}
		c.tookWanted(now, wanted)
	})
}

// tookWanted stops sending to domains that others wait for, except to those that
// are ours only since a moment ago: one that we asked for and that was handed to
// us before we asked again, or whose turn is not over.
func (c *crawler) tookWanted(now time.Time, wanted []string) {
	if len(wanted) == 0 {
		return
	}
	awaited := map[string]bool{}
	for _, name := range c.domains.Awaited() {
		if s := c.sites[name]; s != nil && !s.claimed {
			awaited[s.domain] = true
		}
	}
	for _, d := range wanted {
		if c.domains.TurnOver(now, d) && !(awaited[d] && len(c.f.Hosts(d)) == 0) && c.domains.Give(d) {
			c.yield(now, d)
		}
	}
}

// startYield gives up the domains of which nothing is under way, the states of
// their hosts stored: what a commit says of a host that is no longer ours is
// refused.
func (c *crawler) startYield(ctx context.Context, shared store.Domains) bool {
	yields := c.domains.Yields()
	if len(yields) == 0 {
		return false
	}
	unstored := c.commits.Unstored(c.domainOf)
	var domains []string
	var hosts []store.Host
	for d, quiet := range yields {
		switch {
		case !quiet: // what was answered is stored at once: others wait
			if c.commits.Waits() {
				c.commits.Hurry()
			}
		case unstored[d]:
			c.commits.Hurry()
		default:
			domains = append(domains, d)
			hosts = append(hosts, c.hostsOf(d)...)
		}
	}
	if len(domains) == 0 {
		return false
	}
	for i := range hosts {
		c.sites[hosts[i].Host].claimed = false
	}
	c.domains.Ask()
	loop.Do(ctx, c.loop, func(ctx context.Context) error {
		return shared.Yield(context.WithoutCancel(ctx), c.loop.Now(), domains, hosts)
	}, func(now time.Time, err error) {
		c.domains.Answered()
		if err != nil {
			c.loop.FailUnless(ctx, fmt.Errorf("hand %d domains over: %w", len(domains), err))
			return
		}
		c.domains.Yielded(domains)
		for _, d := range domains {
			c.f.Yielded(now, d)
		}
	})
	return true
}

// domainOf is the domain of a host that is kept; "" of others.
func (c *crawler) domainOf(host string) string {
	if s := c.sites[host]; s != nil {
		return s.domain
	}
	return ""
}

// hostsOf returns the hosts of a domain that are ours, as they are stored.
func (c *crawler) hostsOf(domain string) []store.Host {
	var hosts []store.Host
	for _, name := range c.f.Hosts(domain) {
		if h, ok := c.storeHost(name); ok {
			hosts = append(hosts, h.Host)
		}
	}
	return hosts
}

// yieldAll gives all domains up at the end.
func (c *crawler) yieldAll(ctx context.Context, now time.Time) error {
	shared, ok := c.st.(store.Domains)
	if !ok {
		return nil
	}
	domains := map[string]bool{}
	for _, s := range c.sites {
		if s.claimed {
			domains[s.domain] = true
		}
	}
	var names []string
	var hosts []store.Host
	for d := range domains {
		names = append(names, d)
		hosts = append(hosts, c.hostsOf(d)...)
	}
	if len(names) == 0 {
		return nil
	}
	if err := shared.Yield(ctx, now, names, hosts); err != nil {
		return fmt.Errorf("hand hosts over: %w", err)
	}
	return nil
}
