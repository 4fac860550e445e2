package headway

import (
	"context"
	"fmt"
	"time"

	"headway/frontier"
	"headway/internal/jobrun"
	"headway/internal/loop"
	"headway/limit"
	"headway/store"
)

// openHosts reads how many hosts the job has taken up, and which.
func (r *run) openHosts(ctx context.Context) (n int64, err error) {
	t, limited, err := r.Take(ctx, nil)
	if err != nil || !limited {
		return 0, err
	}
	r.hosts = jobrun.NewHosts(r.cfg.Limits.Max(limit.Hosts))
	return r.hosts.Learn(&t), nil
}

// takeHosts answers whether jobs may take hosts up, or asks the store: for a host that
// is known to be taken, too, because sitemaps may wait there that came before we knew.
func (c *crawler) takeHosts(work context.Context, now time.Time, list []frontier.Taking) {
	for _, t := range list {
		r := c.runs[t.Job]
		switch {
		case r == nil || r.hosts == nil:
		case r.hosts.Out(t.Host):
			c.f.Took(now, t, false)
		default:
			r.wanted = append(r.wanted, t)
			c.takeUp(work, r)
		}
	}
}

// takeUp asks about the hosts that are wanted, one question at a time. With a host
// that was taken come its errands.
func (c *crawler) takeUp(work context.Context, r *run) {
	if r.taking || len(r.wanted) == 0 {
		return
	}
	n := min(len(r.wanted), store.MaxHosts)
	some := r.wanted[:n:n]
	r.wanted, r.taking = r.wanted[n:], true
	hosts := make([]string, n)
	wants := make([]store.Want, n)
	for i, t := range some {
		hosts[i], wants[i] = t.Host, store.Want{Host: t.Host, Job: t.Job, Max: store.MaxErrands}
	}
	type answer struct {
		taken   store.Taken
		errands []store.Errand
	}
	loop.Ask(work, c.loop, func(ctx context.Context) (a answer, err error) {
		if a.taken, _, err = r.Take(ctx, hosts); err == nil {
			a.errands, err = readErrands(ctx, c.st, wants)
		}
		return a, err
	}, func(now time.Time, a answer, err error) {
		r.taking = false
		switch {
		case c.runs[r.ID] != r:
		case err != nil:
			c.loop.FailUnless(work, fmt.Errorf("take hosts up: %w", err))
		default:
			c.tookHostsUp(now, r, some, &a.taken, a.errands)
			c.takeUp(work, r)
		}
	})
}

// tookHostsUp goes on with hosts as the store said.
func (c *crawler) tookHostsUp(now time.Time, r *run, list []frontier.Taking, taken *store.Taken, errands []store.Errand) {
	r.budget.Observe(now, limit.Use{Hosts: r.hosts.Learn(taken)})
	for _, t := range list {
		c.f.Took(now, t, r.hosts.Has(t.Host))
	}
	c.sendErrands(now, errands)
}
