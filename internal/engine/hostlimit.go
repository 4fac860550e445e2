package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"headway/frontier"
	"headway/internal/jobrun"
	"headway/internal/loop"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// reserveHosts decides whether jobs with a host limit may crawl more hosts, or asks the
// store. It also asks for hosts already reserved, because sitemaps may wait there. For jobs
// with a limit of pages per host it reads how many they have had.
func (js *jobs) reserveHosts(work context.Context, now time.Time, list []frontier.Taking) {
	for _, t := range list {
		r := js.runs[t.Job]
		switch {
		case r == nil:
		case r.hosts.Out(t.Host):
			js.f.Took(now, t, false, 0)
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
	if r.maxPagesPerHost() > 0 {
		n = min(n, maxCounted)
	}
	some := r.wanted[:n:n]
	r.wanted, r.reserving = r.wanted[n:], true
	hosts := make([]string, n)
	wants := make([]store.Want, n)
	for i, t := range some {
		hosts[i], wants[i] = t.Host, store.Want{Host: t.Host, Job: t.Job, Max: store.MaxErrands}
	}
	type answer struct {
		taken   store.Taken
		pages   []int
		errands []store.Errand
	}
	read, most := js.read, r.maxPagesPerHost()
	loop.Ask(work, js.loop, func(ctx context.Context) (a answer, err error) {
		if a.taken, _, err = r.Take(ctx, hosts); err == nil {
			a.pages, err = read.pagesOf(ctx, r.ID, hosts, most)
		}
		if err == nil {
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
			js.onHostsReserved(now, r, some, &a.taken, a.pages, a.errands)
			js.startReserve(work, r)
		}
	})
}

// onHostsReserved continues with what the store granted.
func (js *jobs) onHostsReserved(now time.Time, r *run, list []frontier.Taking, taken *store.Taken, pages []int, errands []store.Errand) {
	if r.hosts != nil {
		r.budget.Observe(now, limit.Use{Hosts: r.hosts.Learn(taken)})
	}
	for i, t := range list {
		js.f.Took(now, t, r.hosts.Has(t.Host), pages[i])
	}
	js.sendErrands(now, errands)
}

// maxPagesPerHost is the limit of pages per host; 0 means none. A dry run fetches no pages.
func (r *run) maxPagesPerHost() int {
	if r.cfg.DryRun {
		return 0
	}
	return int(r.cfg.Limits.Max(limit.PagesPerHost))
}

// maxCounted bounds the hosts whose pages are counted at a time, so that the first need not
// wait for all.
const maxCounted = 64

// pagesOf counts the stored pages of hosts, each up to most. A host whose state is not stored
// has none: both are stored in one commit.
func (rd *reader) pagesOf(ctx context.Context, id job.ID, hosts []string, most int) ([]int, error) {
	list := make([]int, len(hosts))
	for i, host := range hosts {
		if most == 0 {
			continue
		}
		switch h, err := rd.st.Host(ctx, host); {
		case errors.Is(err, store.ErrNotFound) || err == nil && h.LastSent.IsZero():
			continue
		case err != nil:
			return nil, fmt.Errorf("read host %s: %w", host, err)
		}
		for _, o := range visit.Outcomes {
			q := store.Query{Job: id, Host: host, Outcome: o}
			for more := o.Page() && list[i] < most; more; more = q.After != "" && list[i] < most {
				q.Max = min(most-list[i], store.MaxPage)
				page, err := rd.st.List(ctx, q)
				if err != nil {
					return nil, fmt.Errorf("count pages of %s: %w", host, err)
				}
				list[i] += len(page.Entries)
				q.After = page.Next
			}
		}
	}
	return list, nil
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
