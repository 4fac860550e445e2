package headway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/frontier"
	"headway/politeness"
	"headway/robots"
	"headway/store"
)

// loader fetches the states of hosts, and with them the right to their domains
// where that is shared with other processes.
type loader struct {
	hosts     []string // wanted
	denied    []string // wanted, and held by another process
	asking    bool
	askAt     time.Time       // when to ask again for those
	wantAt    time.Time       // when to ask whether others want ours
	wondering bool            // that question is under way
	yields    map[string]bool // domains being given up
	given     map[string]bool // domains given up while a question is under way, whose answer may still grant them
}

// Times of the loader: a domain changes hands within [store.HandOver].
const (
	claimEvery  = 250 * time.Millisecond
	wantedEvery = 500 * time.Millisecond
)

// maxLoad is how many hosts are loaded at a time.
const maxLoad = 1000

func (l *loader) want(hosts []string) { l.hosts = append(l.hosts, hosts...) }

func (l *loader) busy() bool { return l.asking || len(l.hosts) > 0 || len(l.denied) > 0 }

// startLoad asks for hosts, one question at a time.
func (c *Crawl) startLoad(ctx context.Context, now time.Time) {
	l := &c.loader
	if len(l.denied) > 0 && !now.Before(l.askAt) {
		l.hosts = append(l.hosts, l.denied...)
		l.denied = nil
	}
	if l.asking || len(l.hosts) == 0 || c.stop != nil {
		return
	}
	n := min(len(l.hosts), maxLoad)
	hosts := slices.Clone(l.hosts[:n])
	l.hosts = slices.Clone(l.hosts[n:])
	l.asking = true
	domains := make([]string, 0, n)
	unclean := make(map[string]bool, n)
	for _, h := range hosts {
		s := c.sites[h]
		if s == nil {
			continue
		}
		domains = append(domains, s.domain)
		unclean[h] = !c.leases[s.slot].Clean && !c.clean[s.domain]
	}
	slices.Sort(domains)
	domains = slices.Compact(domains)
	c.background.Go(func() {
		claim, known, err := c.load(ctx, now, hosts, domains)
		c.post(func(now time.Time) {
			l.asking = false
			if err != nil {
				c.failUnless(ctx, err)
				return
			}
			c.tookLoad(now, hosts, claim, known, unclean)
		})
	})
}

// knownHost is what is stored of a host.
type knownHost struct {
	store.Host
	sitemaps []string // that its robots.txt names
	lost     bool     // its robots.txt is stored elsewhere, and not here
}

// load reads what is known of hosts.
func (c *Crawl) load(ctx context.Context, now time.Time, hosts, domains []string) (store.Claim, map[string]knownHost, error) {
	claim := store.Claim{Granted: domains}
	if shared, ok := c.st.(store.Domains); ok {
		var err error
		if claim, err = shared.Claim(ctx, now, domains); err != nil {
			return claim, nil, err
		}
	}
	shared := make(map[string]store.Host, len(claim.Hosts))
	for _, h := range claim.Hosts {
		shared[h.Host] = h
	}
	known := make(map[string]knownHost, len(hosts))
	for _, name := range hosts {
		// The newer of what this crawl and what all crawls know.
		all, ok := shared[name]
		h, err := c.st.Host(ctx, name)
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return claim, nil, fmt.Errorf("read host %s: %w", name, err)
		case err == nil && (!ok || h.LastSent.After(all.LastSent)):
			all, ok = h, true
		}
		if !ok {
			continue
		}
		k := knownHost{Host: all}
		if k.sitemaps, k.lost, err = c.storedSitemaps(ctx, &all); err != nil {
			return claim, nil, fmt.Errorf("read robots.txt of %s: %w", name, err)
		}
		known[name] = k
	}
	return claim, known, nil
}

// storedSitemaps returns the sitemaps that the stored robots.txt of a host names,
// because a file that need not be asked for again names them no other way. It may
// be lost: another crawl has read it and keeps it in its own store.
func (c *Crawl) storedSitemaps(ctx context.Context, h *store.Host) (names []string, lost bool, err error) {
	var state robots.State
	if c.cfg.Sitemaps == SitemapsOff || state.UnmarshalBinary(h.Robots) != nil || state.Known != robots.Copy {
		return nil, false, nil //nolint:nilerr // a state that cannot be read is no state: robots.txt is asked for again
	}
	file, err := c.rules.Get(ctx, state.Sum)
	if errors.Is(err, robots.ErrNotStored) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	return sitemapsOf(file), false, nil
}

// tookLoad puts hosts on the schedule.
func (c *Crawl) tookLoad(now time.Time, hosts []string, claim store.Claim, known map[string]knownHost, unclean map[string]bool) {
	granted := make(map[string]bool, len(claim.Granted))
	for _, d := range claim.Granted {
		granted[d] = true
	}
	for _, name := range hosts {
		s := c.sites[name]
		if s == nil {
			c.f.Loaded(now, frontier.HostState{Host: name})
			continue
		}
		if !granted[s.domain] || c.loader.given[s.domain] {
			c.loader.denied = append(c.loader.denied, name)
			c.f.LeaseWait(now, name)
			continue
		}
		s.claimed = true
		state := frontier.HostState{Host: name, State: politeness.New(name), Unclean: unclean[name] || slices.Contains(claim.Unclean, s.domain)}
		h, ok := known[name]
		if ok {
			if err := state.State.UnmarshalBinary(h.Politeness); err != nil && len(h.Politeness) > 0 {
				c.cfg.Log.Warn("host state not understood, starting carefully", "host", name, "err", err)
				state.State, state.Unclean = politeness.New(name), true
			}
			if err := s.robots.UnmarshalBinary(h.Robots); err != nil {
				s.robots = robots.State{}
			}
			if h.lost {
				s.robots = s.robots.Forget()
			}
			s.pace, s.floor, s.hold = h.Pace, h.Floor, h.HoldUntil
		}
		state.Robots = c.robotsState(s, now, state.State.CrawlDelay())
		c.f.Loaded(now, state)
		if state.Unclean {
			c.touch(name) // that it has to wait must outlive a clean end before its next request
		}
		if state.Robots.Known && !state.Robots.Closed {
			c.findSitemaps(now, s, h.sitemaps)
		}
	}
	clear(c.loader.given)
	if len(c.loader.denied) > 0 {
		c.loader.askAt = now.Add(claimEvery)
	}
}

// watchLoader asks whether another process wants a domain of ours.
func (c *Crawl) watchLoader(ctx context.Context, now time.Time) {
	shared, ok := c.st.(store.Domains)
	if !ok || c.loader.wondering || now.Before(c.loader.wantAt) {
		return
	}
	c.loader.wondering = true
	c.loader.wantAt = now.Add(wantedEvery)
	c.background.Go(func() {
		wanted, err := shared.Wanted(ctx, now)
		c.post(func(now time.Time) {
			c.loader.wondering = false
			if err != nil {
				c.failUnless(ctx, fmt.Errorf("ask for requests of other crawls: %w", err))
				return
			}
			for _, d := range wanted {
				if c.loader.yields == nil {
					c.loader.yields = map[string]bool{}
				}
				if !c.loader.yields[d] {
					c.loader.yields[d] = true
					c.f.Yield(now, d)
				}
			}
		})
	})
}

// yield gives a domain up of which nothing is under way.
func (c *Crawl) yield(ctx context.Context, domain string) {
	if !c.loader.yields[domain] {
		return
	}
	delete(c.loader.yields, domain)
	if c.loader.asking {
		if c.loader.given == nil {
			c.loader.given = map[string]bool{}
		}
		c.loader.given[domain] = true
	}
	hosts := c.hostsOf(domain)
	for i := range hosts {
		c.sites[hosts[i].Host].claimed = false
	}
	shared, ok := c.st.(store.Domains)
	if !ok {
		return
	}
	c.background.Go(func() {
		err := shared.Yield(context.WithoutCancel(ctx), c.now(), []string{domain}, hosts)
		c.post(func(now time.Time) {
			if err != nil {
				c.failUnless(ctx, fmt.Errorf("hand %s over: %w", domain, err))
				return
			}
			c.clean[domain] = true
			delete(c.loader.yields, domain) // it may have been asked for again meanwhile
			c.f.Yielded(now, domain)
		})
	})
}

// hostsOf returns the hosts of a domain as they are stored.
func (c *Crawl) hostsOf(domain string) []store.Host {
	var hosts []store.Host
	for _, name := range c.f.Hosts(domain) {
		if h, ok := c.storeHost(name); ok {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// yieldAll gives all domains up at the end.
func (c *Crawl) yieldAll(ctx context.Context, now time.Time) error {
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
