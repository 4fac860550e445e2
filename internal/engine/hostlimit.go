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

// reserveHosts decides whether jobs with a host limit may crawl more hosts, or asks the
// store. It also asks for hosts already reserved, because sitemaps may wait there.
func (js *jobs) reserveHosts(work context.Context, now time.Time, list []frontier.Taking) {
	for _, t := range list {
		r := js.runs[t.Job]
		switch {
		case r == nil || r.hosts == nil:
		case r.hosts.Out(t.Host):
			js.f.Took(now, t, false)
		default:
			r.wanted = append(r.wanted, t)
			js.startReserve(work, r)
		}
	}
}

// startReserve reserves the wanted hosts, one store request at a time, and reads their
// errands.
func (js *jobs) startReserve(work context.Context, r *run) {
	if r.reserving || len(r.wanted) == 0 {
		return
	}
	n := min(len(r.wanted), store.MaxHosts)
	some := r.wanted[:n:n]
	r.wanted, r.reserving = r.wanted[n:], true
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
		r.reserving = false
		switch {
		case js.runs[r.ID] != r:
		case err != nil:
			js.loop.FailUnless(work, fmt.Errorf("reserve hosts: %w", err))
		default:
			js.onHostsReserved(now, r, some, &a.taken, a.errands)
			js.startReserve(work, r)
		}
	})
}

// onHostsReserved continues with what the store granted.
func (js *jobs) onHostsReserved(now time.Time, r *run, list []frontier.Taking, taken *store.Taken, errands []store.Errand) {
	r.budget.Observe(now, limit.Use{Hosts: r.hosts.Learn(taken)})
	for _, t := range list {
		js.f.Took(now, t, r.hosts.Has(t.Host))
	}
	js.sendErrands(now, errands)
}

// openHosts reads which hosts the job has reserved, and how many.
func (r *run) openHosts(ctx context.Context) (n int64, err error) {
	t, limited, err := r.Take(ctx, nil)
	if err != nil || !limited {
		return 0, err
	}
	r.hosts = jobrun.NewHosts(r.cfg.Limits.Max(limit.Hosts))
	return r.hosts.Learn(&t), nil
}

// hostLimit tracks the reserved hosts of a job whose hosts are limited.
type hostLimit struct {
	hosts     *jobrun.Hosts     // nil without a limit
	wanted    []frontier.Taking // scheduled hosts to be reserved, each once
	reserving bool              // a reservation is under way
}
