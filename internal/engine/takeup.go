package engine

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

// takeHosts answers whether jobs may take hosts up, or asks the store: for a host that
// is known to be taken, too, because sitemaps may wait there that came before we knew.
func (js *jobs) takeHosts(work context.Context, now time.Time, list []frontier.Taking) {
	for _, t := range list {
		r := js.runs[t.Job]
		switch {
		case r == nil || r.hosts == nil:
		case r.hosts.Out(t.Host):
			js.f.Took(now, t, false)
		default:
			r.wanted = append(r.wanted, t)
			js.takeUp(work, r)
		}
	}
}

// takeUp asks about the hosts that are wanted, one question at a time. With a host
// that was taken come its errands.
func (js *jobs) takeUp(work context.Context, r *run) {
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
	read := js.read
	loop.Ask(work, js.loop, func(ctx context.Context) (a answer, err error) {
		if a.taken, _, err = r.Take(ctx, hosts); err == nil {
			a.errands, err = read.errands(ctx, wants)
		}
		return a, err
	}, func(now time.Time, a answer, err error) {
		r.taking = false
		switch {
		case js.runs[r.ID] != r:
		case err != nil:
			js.loop.FailUnless(work, fmt.Errorf("take hosts up: %w", err))
		default:
			js.tookHostsUp(now, r, some, &a.taken, a.errands)
			js.takeUp(work, r)
		}
	})
}

// tookHostsUp goes on with hosts as the store said.
func (js *jobs) tookHostsUp(now time.Time, r *run, list []frontier.Taking, taken *store.Taken, errands []store.Errand) {
	r.budget.Observe(now, limit.Use{Hosts: r.hosts.Learn(taken)})
	for _, t := range list {
		js.f.Took(now, t, r.hosts.Has(t.Host))
	}
	js.sendErrands(now, errands)
}

// openHosts reads how many hosts the job has taken up, and which.
func (r *run) openHosts(ctx context.Context) (n int64, err error) {
	t, limited, err := r.Take(ctx, nil)
	if err != nil || !limited {
		return 0, err
	}
	r.hosts = jobrun.NewHosts(r.cfg.Limits.Max(limit.Hosts))
	return r.hosts.Learn(&t), nil
}

// hostLimit is which hosts a job has taken up, where they are limited.
type hostLimit struct {
	hosts  *jobrun.Hosts     // nil where they are not
	wanted []frontier.Taking // hosts on the schedule to be taken up, each once
	taking bool              // the store is asked about some
}
