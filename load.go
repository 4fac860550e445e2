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

// loader fetches the states of hosts, and with them the right to their domains
// where that is shared with other processes. It asks one question at a time, so
// that no answer is older than what was done since.
type loader struct {
	hosts  []string // wanted
	denied []string // wanted, and held by another process
	askAt  time.Time
	wantAt time.Time // when to ask whether others want ours
	asking bool
	yields map[string]bool      // domains to be given up: true when nothing of them is under way
	turns  map[string]time.Time // when our turn began on domains that we waited for
	doubts map[string]bool      // domains that were granted before the process was stopped: not known what their owner before did
	told   map[store.Holder]bool
}

// Times of the loader: a domain changes hands within [store.HandOver]. What is
// waited for is asked for often, because the time between a yield and the next
// question is lost to everybody; where a question takes long, less often.
const (
	claimEvery  = 20 * time.Millisecond
	claimSeldom = 250 * time.Millisecond
	claimShare  = 5 // at most a sixth of the time is spent on asking
	wantedEvery = 500 * time.Millisecond
	minTurn     = time.Second // what was waited for is not given back before
)

// maxLoad is how many hosts are loaded at a time, maxHolders how many other crawls
// are remembered whose names were told.
const (
	maxLoad    = 1000
	maxHolders = 1000
)

func (l *loader) want(hosts []string) { l.hosts = append(l.hosts, hosts...) }

func (l *loader) busy() bool { return l.asking || len(l.hosts) > 0 || len(l.denied) > 0 }

// share asks the next question, unless one is under way: what others wait for
// comes first.
func (c *crawler) share(ctx context.Context, now time.Time) {
	l := &c.loader
	if l.asking {
		return
	}
	shared, ok := c.st.(store.Domains)
	if ok && c.startYield(ctx, shared) {
		return
	}
	if ok && !now.Before(l.wantAt) {
		c.startWanted(ctx, now, shared)
		return
	}
	c.startLoad(ctx, now)
}

// startLoad asks for hosts.
func (c *crawler) startLoad(ctx context.Context, now time.Time) {
	l := &c.loader
	if len(l.denied) > 0 && !now.Before(l.askAt) {
		l.hosts = append(l.hosts, l.denied...)
		l.denied = nil
	}
	if c.halted {
		return
	}
	var hosts, domains, later []string
	unclean := map[string]bool{}
	for i, h := range l.hosts {
		if len(hosts) == maxLoad {
			later = append(later, l.hosts[i:]...)
			break
		}
		s := c.sites[h]
		if s != nil {
			if _, given := l.yields[s.domain]; given {
				later = append(later, h)
				continue
			}
			domains = append(domains, s.domain)
			unclean[h] = !c.leases[s.slot].Clean && !c.clean[s.domain]
		}
		hosts = append(hosts, h)
	}
	l.hosts = later
	if len(hosts) == 0 {
		return
	}
	l.asking = true
	slices.Sort(domains)
	domains = slices.Compact(domains)
	spell := c.spell.Load()
	began := time.Now()
	loop.Ask(ctx, c.loop, func(ctx context.Context) (loaded, error) {
		l, err := c.load(ctx, hosts, domains)
		l.took = time.Since(began)
		return l, err
	}, func(now time.Time, got loaded, err error) {
		l.asking = false
		switch {
		case err != nil:
			c.loop.FailUnless(ctx, err)
		case c.spell.Load() != spell:
			// What was granted may have been taken since. It is asked for again.
			l.hosts = append(l.hosts, hosts...)
			for _, d := range got.claim.Granted {
				l.doubts[d] = true
			}
		default:
			c.tookLoad(now, hosts, got.claim, got.known, unclean)
			l.askAt = now.Add(min(max(claimEvery, claimShare*got.took), claimSeldom))
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
			c.loader.denied = append(c.loader.denied, name)
			s.denied = true
			c.f.LeaseWait(now, name)
			continue
		}
		if s.denied {
			s.denied = false
			c.loader.turns[s.domain] = now
		}
		s.claimed = true
		state := frontier.HostState{Host: name, State: politeness.New(name), DomainAsked: asked[s.domain], Unclean: unclean[name] || c.loader.doubts[s.domain] || slices.Contains(claim.Unclean, s.domain)}
		h, ok := known[name]
		if ok {
			if err := state.State.UnmarshalBinary(h.Politeness); err != nil && len(h.Politeness) > 0 {
				c.cfg.Log.Warn("host state not understood, starting carefully", "host", name, "err", err)
				state.State, state.Unclean = politeness.New(name), true
			}
			s.robots = h.robots
			s.stored = pace.Of(&h.Host)
		}
		if c.fleet != nil {
			// What others did on a slot that has just become ours is not looked
			// up host by host.
			state.DomainAsked = c.fleet.moved[s.slot]
		}
		state.Robots = c.robotsState(s, now, h.delay)
		state.State = c.applyOrders(name, state.State)
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
	for _, d := range claim.Granted {
		delete(c.loader.doubts, d)
	}
	c.tellHolders(claim)
}

// tellHolders says with whom hosts are shared, once of each.
func (c *crawler) tellHolders(claim store.Claim) {
	l := &c.loader
	say := func(list []store.Possession, what string) {
		for _, p := range list {
			if l.told[p.Holder] {
				continue
			}
			if len(l.told) == maxHolders {
				clear(l.told)
			}
			l.told[p.Holder] = true
			c.cfg.Log.Warn(what, "domain", p.Domain, "pid", p.PID, "folder", p.Dir)
		}
	}
	say(claim.Held, "another crawl has hosts that this one wants: they take turns")
	for _, p := range claim.Taken {
		delete(l.told, p.Holder)
	}
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
func (c *crawler) startWanted(ctx context.Context, now time.Time, shared store.Domains) {
	c.loader.asking = true
	c.loader.wantAt = now.Add(wantedEvery)
	loop.Ask(ctx, c.loop, func(ctx context.Context) ([]string, error) {
		return shared.Wanted(ctx, c.loop.Now())
	}, func(now time.Time, wanted []string, err error) {
		c.loader.asking = false
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
	l := &c.loader
	awaited := map[string]bool{}
	for _, name := range slices.Concat(l.hosts, l.denied) {
		if s := c.sites[name]; s != nil && !s.claimed {
			awaited[s.domain] = true
		}
	}
	for _, d := range wanted {
		_, given := l.yields[d]
		if given || now.Before(l.turns[d].Add(minTurn)) || awaited[d] && len(c.f.Hosts(d)) == 0 {
			continue
		}
		l.yields[d] = false
		c.yield(now, d)
	}
}

// quiet notes that nothing of a domain that others want is under way any more.
func (c *crawler) quiet(domain string) {
	if _, ok := c.loader.yields[domain]; ok {
		c.loader.yields[domain] = true
	}
}

// startYield gives up the domains of which nothing is under way, the states of
// their hosts stored: what a commit says of a host that is no longer ours is
// refused.
func (c *crawler) startYield(ctx context.Context, shared store.Domains) bool {
	l := &c.loader
	if len(l.yields) == 0 {
		return false
	}
	unstored := c.commits.Unstored(c.domainOf)
	var domains []string
	var hosts []store.Host
	for d, quiet := range l.yields {
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
	l.asking = true
	loop.Do(ctx, c.loop, func(ctx context.Context) error {
		return shared.Yield(context.WithoutCancel(ctx), c.loop.Now(), domains, hosts)
	}, func(now time.Time, err error) {
		l.asking = false
		if err != nil {
			c.loop.FailUnless(ctx, fmt.Errorf("hand %d domains over: %w", len(domains), err))
			return
		}
		for _, d := range domains {
			c.clean[d] = true
			delete(l.yields, d)
			delete(l.turns, d)
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
