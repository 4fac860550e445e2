package headway

import (
	"cmp"
	"time"

	"headway/fetch"
	"headway/frontier"
	"headway/visit"
)

// Layer is one of the layers of control: what bounds it, how much of it is in
// use, what waits for it and for how long work has waited so far. Numbers are of
// the unit the name says; a limit of 0 is none.
type Layer struct {
	Name    string
	Setting string // its home among the settings
	Limit   int64
	Use     int64
	Waiting int64         // hosts or requests that wait for it now
	Waited  time.Duration // of hosts or requests, so far
}

// Layers names the layers in their order.
var Layers = []string{
	"workers", "in flight per host", "URLs in memory", "waiting URLs", "pace", "backoff", "known URLs (bytes)", "parsers",
	"robots.txt", "lookups", "commits", "hosts in memory", "governor", "free disk (bytes)", "slow exchanges",
}

// Metered is a Fetcher that counts what it does.
type Metered interface{ Stats() fetch.Stats }

// waiting is how many URLs of all runs wait, as of a moment ago.
func (c *crawler) waiting() (n int64) {
	for _, r := range c.runs {
		n += r.counts.Waiting
	}
	return n
}

// layers says how each layer stands.
func (c *crawler) layers(now time.Time) []Layer {
	stats := c.f.Stats()
	shares := c.f.Account().Shares(now)
	on := func(l *Layer, waits ...visit.Wait) {
		for _, w := range waits {
			for i := range shares {
				if shares[i].State == frontier.Waiting(w) {
					l.Waiting += int64(shares[i].Hosts)
					l.Waited += shares[i].Spent
				}
			}
		}
	}
	pages, _ := c.commits.Behind()
	list := []Layer{
		{Setting: "workers", Limit: int64(c.cfg.Workers), Use: int64(c.busy)},
		{Setting: "pace.in_flight", Limit: int64(c.cfg.Policy.InFlight), Use: int64(stats.InFlight)},
		{Setting: "frontier.head", Limit: frontier.DefaultMaxItems, Use: int64(stats.Items)},
		{Setting: "frontier.max_waiting", Limit: c.cfg.MaxWaiting, Use: c.waiting()},
		{Setting: "pace.delay"},
		{Setting: "backoff.refusing_max"},
		{Setting: "frontier.seen_cache", Limit: c.seen.Limit(), Use: c.seen.Bytes()},
		{Setting: "parse.workers", Limit: int64(c.cfg.ParseWorkers), Use: int64(len(c.parsing)), Waiting: c.queued.Load()},
		{Setting: "robots.parallel", Limit: int64(c.cfg.RobotsWorkers), Use: int64(stats.Robots)},
		{Setting: "dns.lookups"},
		{Setting: "store.commit_gap", Limit: 1, Waiting: int64(pages), Waited: c.commits.Stats().Time},
		{Setting: "frontier.hot_hosts", Limit: int64(cmp.Or(c.cfg.HotHosts, frontier.DefaultHotHosts)), Use: int64(stats.Hosts)},
		{Setting: "governor.enabled", Limit: int64(c.cfg.Workers), Use: int64(c.gov.Permits(now))},
		{Setting: "store.min_free", Limit: c.cfg.MinFree, Use: c.free},
		{Setting: "fetch.slow", Limit: int64(c.cfg.Slow), Use: int64(stats.Slow), Waiting: int64(stats.Lingering), Waited: stats.Lingered},
	}
	on(&list[0], visit.WaitWorkers)
	on(&list[1], visit.WaitInFlight)
	on(&list[4], visit.WaitPace, visit.WaitCrawlDelay, visit.WaitDomainInterval, visit.WaitAddressInterval)
	on(&list[5], visit.WaitHold)
	on(&list[7], visit.WaitParse)
	on(&list[8], visit.WaitRobots)
	on(&list[9], visit.WaitDNS)
	on(&list[10], visit.WaitStorage)
	if _, underway := c.commits.Underway(); underway {
		list[10].Use = 1
	}
	if c.cfg.Lookups != nil {
		l := c.cfg.Lookups()
		list[9].Limit, list[9].Use, list[9].Waiting, list[9].Waited = int64(l.Limit), int64(l.Use), int64(l.Waiting), l.Waited
	}
	if m, ok := c.cfg.Fetcher.(Metered); ok {
		bodies := m.Stats().Bodies
		list[7].Waiting += int64(bodies.Waiting)
		list[7].Waited += bodies.Waited
	}
	for i := range list {
		list[i].Name = Layers[i]
	}
	return list
}

var _ Metered = (*fetch.Client)(nil)
