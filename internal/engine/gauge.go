package engine

import (
	"cmp"
	"time"

	"headway/fetch"
	"headway/frontier"
	"headway/gauge"
	"headway/job"
	"headway/politeness"
	"headway/visit"
)

// layers describes the current use of each layer.
func (c *crawler) layers(now time.Time) []gauge.Layer {
	stats := c.f.Stats()
	shares := c.f.Account().Shares(now)
	on := func(l *gauge.Layer, waits ...visit.Wait) {
		for _, w := range waits {
			for i := range shares {
				if shares[i].State == frontier.Waiting(w) {
					l.Waiting += int64(shares[i].Hosts)
					l.Waited += shares[i].Spent
				}
			}
		}
	}
	pages, _, _ := c.commits.Behind()
	// Jobs of a fleet have their own policy.
	policy, _ := politeness.Preset(politeness.DefaultPreset)
	inFlight, most := int64(policy.InFlight), int64(0)
	if r := c.jobs.only; r != nil {
		inFlight, most = int64(r.cfg.Policy.InFlight), r.cfg.MaxWaiting
	}
	list := []gauge.Layer{
		{Setting: "workers", Limit: int64(c.cfg.Workers), Use: int64(c.pool.Busy())},
		{Setting: "pace.in_flight", Limit: inFlight, Use: int64(stats.InFlight)},
		{Setting: "frontier.head", Limit: frontier.DefaultMaxItems, Use: int64(stats.Items)},
		{Setting: "frontier.max_waiting", Limit: most, Use: c.jobs.waiting()},
		{Setting: "pace.delay"},
		{Setting: "backoff.refusing_max"},
		{Setting: "frontier.seen_cache", Limit: c.seen.Limit(), Use: c.seen.Bytes()},
		{Setting: "parse.workers", Limit: int64(c.cfg.ParseWorkers), Use: int64(c.pool.Parsing()), Waiting: c.pool.WaitingToParse()},
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
	on(&list[10], visit.WaitStorage, visit.WaitDisk, visit.WaitDatabase)
	if _, underway := c.commits.Underway(); underway {
		list[10].Use = 1
	}
	if c.cfg.Lookups != nil {
		l := c.cfg.Lookups()
		list[9].Limit, list[9].Use, list[9].Waiting, list[9].Waited = int64(l.Limit), int64(l.Use), int64(l.Waiting), l.Waited
	}
	if m, ok := c.cfg.Fetcher.(metered); ok {
		bodies := m.Stats().Bodies
		list[7].Waiting += int64(bodies.Waiting)
		list[7].Waited += bodies.Waited
	}
	for i := range list {
		list[i].Name = gauge.Layers[i]
	}
	return list
}

// show updates the gauge, if there is one.
func (c *crawler) show(now time.Time, over bool) {
	if c.cfg.Gauge == nil || c.f == nil {
		return
	}
	_, links, _ := c.commits.Behind()
	r := gauge.Reading{Over: over, Tenure: c.lease.Tenure(), Slots: c.slots.Len(), Jobs: map[job.State]int{}, Frontier: c.f.Stats(), Links: links, Layers: c.layers(now)}
	for _, run := range c.jobs.runs {
		r.Jobs[run.state]++
	}
	c.meter.Show(r, c.f.Account().Shares(now))
}

// metered is a Fetcher with statistics.
type metered interface{ Stats() fetch.Stats }

var _ metered = (*fetch.Client)(nil)
