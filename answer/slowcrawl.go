package answer

import (
	"context"
	"slices"
	"strings"
	"time"

	"headway/ask"
	"headway/job"
	"headway/limit"
	"headway/store"
)

// Limits of what [Crawl.Slow] reads.
const (
	slowMoment    = time.Second // how long a running crawl is observed, to separate now from so far
	slowHosts     = 1000        // hosts read for their pace
	slowForbidden = 5           // slowest hosts whose pending URLs are checked against robots.txt
)

// Slow explains where the time of the crawl went, and what would help.
func (c *Crawl) Slow(ctx context.Context) (Slow, error) {
	facts, err := c.slow(ctx)
	if err != nil {
		return Slow{}, err
	}
	return ExplainSlow(facts), nil
}

// slow collects the facts: from the crawl if it runs, otherwise from the store.
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
	if err := c.hostTime(ctx, &facts); err != nil {
		return SlowFacts{}, err
	}
	if facts.Forbidden, err = c.forbidden(ctx, hosts.Hosts); err != nil || !c.Fleet {
		return facts, err
	}
	counts, err := c.Store.Counts(ctx, c.Job.ID)
	facts.Waiting, facts.State = counts.Waiting, string(c.Job.State)
	if facts.Limits = PlanLimits(c.Job.Limits()); err == nil {
		for i := range facts.Limits {
			if l := &facts.Limits[i]; l.Name == string(limit.Pages) {
				l.Used = float64(counts.Pages())
			}
		}
	}
	return facts, err
}

// watch reads the status of a running crawl twice, a moment apart. That of a fleet job is
// read once: its workers may take a while to respond.
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

// slowStored returns the stored facts of a crawl that does not run or respond.
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
	if err := c.hostTime(ctx, &facts); err != nil {
		return SlowFacts{}, err
	}
	if c.Job.State == job.Running && !c.Running {
		facts.State = "interrupted"
	}
	return facts, nil
}

// hostTime sets the host time of a fleet job to what the store has of it: that of all
// workers, also of those that have left.
func (c *Crawl) hostTime(ctx context.Context, facts *SlowFacts) error {
	facts.Fleet = c.Fleet
	st, ok := c.Store.(store.HostTimes)
	if !c.Fleet || !ok {
		return nil
	}
	sums, err := st.HostTime(ctx, c.Job.ID)
	if err != nil || len(sums) == 0 {
		return err // nothing yet: what the workers say applies
	}
	spent := make([]ask.Share, 0, len(sums))
	for state, d := range sums {
		share := ask.Share{State: state, Spent: ask.Seconds(d)}
		if i := slices.IndexFunc(facts.Spent, func(s ask.Share) bool { return s.State == state }); i >= 0 {
			share.Hosts = facts.Spent[i].Hosts
		}
		spent = append(spent, share)
	}
	slices.SortFunc(spent, func(a, b ask.Share) int { return strings.Compare(a.State, b.State) })
	facts.Spent = spent
	return nil
}

// forbidden counts the pending URLs that robots.txt disallows on the hosts that take
// longest.
func (c *Crawl) forbidden(ctx context.Context, hosts []Host) (map[string]Forbidden, error) {
	counts := map[string]Forbidden{}
	for i := range hosts[:min(len(hosts), slowForbidden)] {
		host := hosts[i].Host.Host
		n, err := CountForbidden(ctx, c.Store, c.Job.ID, host, &c.Spec, time.Now())
		if err != nil {
			return nil, err
		}
		counts[host] = n
	}
	return counts, nil
}
