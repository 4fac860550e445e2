package answer

import (
	"context"
	"time"

	"headway/ask"
	"headway/job"
	"headway/limit"
)

// Bounds of what [Crawl.Slow] looks at.
const (
	slowMoment    = time.Second // how long a running crawl is watched to tell now from so far
	slowHosts     = 1000        // hosts, for what sets their interval
	slowForbidden = 5           // hosts, for URLs that robots.txt forbids: those that take longest
)

// fleetTime says what the shares of a job of a fleet are of.
const fleetTime = "current host states are for this job only; host time so far covers all jobs on its workers"

// Slow tells where the time of the crawl went, and what would help.
func (c *Crawl) Slow(ctx context.Context) (Slow, error) {
	facts, err := c.slow(ctx)
	if err != nil {
		return Slow{}, err
	}
	s := ExplainSlow(facts)
	if c.Fleet && facts.Running {
		s.Notes = append(s.Notes, fleetTime)
	}
	return s, nil
}

// slow collects where the time went: by the word of the crawl if it runs, else by
// what it stored.
func (c *Crawl) slow(ctx context.Context) (SlowFacts, error) {
	before, now, err := c.watch(ctx)
	if err != nil {
		return SlowFacts{}, err
	}
	query := HostQuery{Sort: "pace", Max: slowHosts}
	if now != nil {
		query.Sort, query.Filters = "eta", []string{"waiting"}
	} else if c.Running {
		c.warn("the crawl does not respond or has just ended; showing its stored state")
	}
	quiet := *c
	quiet.Warn = nil
	hosts, err := quiet.Hosts(ctx, query, time.Now().UTC())
	if err != nil {
		return SlowFacts{}, err
	}
	if now == nil {
		return c.slowStored(ctx, hosts.Hosts)
	}
	facts := SlowRunning(before, now, hosts.Hosts)
	if facts.Forbidden, err = c.forbidden(ctx, hosts.Hosts); err != nil || !c.Fleet {
		return facts, err
	}
	counts, err := c.Store.Counts(ctx, c.Job.ID)
	facts.Waiting, facts.State = counts.Waiting, string(c.Job.State)
	if facts.Limits = PlanLimits(c.Job.Limits()); err == nil {
		for i := range facts.Limits {
			if l := &facts.Limits[i]; l.Name == string(limit.Pages) {
				l.Used = counts.Pages()
			}
		}
	}
	return facts, err
}

// watch asks a running crawl how it stands, and again after a moment. What the
// hosts of a fleet do now is told apart by job, what they did is not: a fleet is
// asked once.
func (c *Crawl) watch(ctx context.Context) (before, now *ask.Status, err error) {
	if !c.Running {
		return nil, nil, nil
	}
	now = c.status(ctx)
	if now == nil || c.Fleet {
		return nil, now, nil
	}
	select {
	case <-time.After(slowMoment):
		return now, c.status(ctx), nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// slowStored is what was stored of a crawl that does not run, or does not answer.
func (c *Crawl) slowStored(ctx context.Context, hosts []Host) (SlowFacts, error) {
	points, err := c.Store.Points(ctx, c.Job.ID)
	if err != nil {
		return SlowFacts{}, err
	}
	counts, err := c.Store.Counts(ctx, c.Job.ID)
	if err != nil {
		return SlowFacts{}, err
	}
	facts := SlowStored(c.Job, counts.Waiting, points, hosts)
	facts.Untold = c.Fleet
	if c.Job.State == job.Running && !c.Running {
		facts.State = "interrupted"
	}
	return facts, nil
}

// forbidden counts what robots.txt forbids of that which waits on the hosts that
// take longest.
func (c *Crawl) forbidden(ctx context.Context, hosts []Host) (map[string]Forbidden, error) {
	counts := map[string]Forbidden{}
	for i := range hosts[:min(len(hosts), slowForbidden)] {
		host := hosts[i].Host.Host
		n, err := CountForbidden(ctx, c.Store, c.Job.ID, host, &c.Asked, time.Now())
		if err != nil {
			return nil, err
		}
		counts[host] = n
	}
	return counts, nil
}
