package headway

import (
	"context"
	"fmt"
	"time"

	"headway/frontier"
	"headway/internal/loop"
	"headway/limit"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// hostLimit is which hosts a job may take up, where that is limited, as far as it is
// known here. The store decides, and what it said holds: a host that was taken stays
// taken, and where there is no room there will be none. It belongs to the loop.
type hostLimit struct {
	most   int64
	n      int64             // taken by the job, as last heard
	taken  map[string]bool   // those of them that we know of
	wanted []frontier.Taking // to be asked about: hosts on the schedule, each once
	asking bool
}

// full tells whether there is no room for more: then all that were taken are known.
func (l *hostLimit) full() bool { return l.n >= l.most }

// out tells whether a host is known to be left out.
func (l *hostLimit) out(host string) bool { return l != nil && l.full() && !l.taken[host] }

// has tells whether a host may be asked, as far as is known.
func (l *hostLimit) has(host string) bool { return l == nil || l.taken[host] }

// learn keeps what the store said, and tells how many hosts are new.
func (l *hostLimit) learn(t *store.Taken) int64 {
	for _, h := range t.Hosts {
		l.taken[h] = true
	}
	more := t.N - l.n
	l.n = t.N
	return more
}

// take takes hosts up for the job, and tells whether that is limited at all; without
// hosts it only reads how it stands.
func (r *run) take(ctx context.Context, hosts []string) (t store.Taken, limited bool, err error) {
	most := r.cfg.Limits.Of(limit.Hosts)
	if !most.Limited() {
		return t, false, nil
	}
	t, err = r.c.st.TakeHosts(ctx, r.job, most.Max, hosts)
	return t, true, err
}

// openHosts reads how many hosts the job has taken up, and which.
func (r *run) openHosts(ctx context.Context) (n int64, err error) {
	t, limited, err := r.take(ctx, nil)
	if err != nil || !limited {
		return 0, err
	}
	r.hosts = &hostLimit{most: r.cfg.Limits.Max(limit.Hosts), taken: map[string]bool{}}
	return r.hosts.learn(&t), nil
}

// takeSeeds takes the hosts of seeds up before any others, in their order, and puts
// off the seeds for which there is no room.
func (r *run) takeSeeds(ctx context.Context, found []store.Found) error {
	if !r.cfg.Limits.Of(limit.Hosts).Limited() {
		return nil
	}
	hosts := make([]string, 0, len(found))
	for i := range found {
		if found[i].Outcome == "" {
			hosts = append(hosts, found[i].Item.URL.Host())
		}
	}
	t, _, err := r.take(ctx, hosts)
	if err != nil {
		return err
	}
	for i := range found {
		if f := &found[i]; f.Outcome == "" && !t.Has(f.Item.URL.Host()) {
			f.Outcome = visit.Deferred
		}
	}
	return nil
}

// takeHosts answers whether jobs may take hosts up, or asks the store: for a host that
// is known to be taken, too, because sitemaps may wait there that came before we knew.
func (c *crawler) takeHosts(work context.Context, now time.Time, list []frontier.Taking) {
	for _, t := range list {
		r := c.runs[t.Job]
		switch {
		case r == nil || r.hosts == nil:
		case r.hosts.out(t.Host):
			c.f.Took(now, t, false)
		default:
			r.hosts.wanted = append(r.hosts.wanted, t)
			r.askHosts(work)
		}
	}
}

// askHosts asks about the hosts that are wanted, one question at a time. With a host
// that was taken come its errands.
func (r *run) askHosts(work context.Context) {
	l, c := r.hosts, r.c
	if l.asking || len(l.wanted) == 0 {
		return
	}
	n := min(len(l.wanted), store.MaxHosts)
	some := l.wanted[:n:n]
	l.wanted, l.asking = l.wanted[n:], true
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
		if a.taken, _, err = r.take(ctx, hosts); err == nil {
			a.errands, err = c.errands(ctx, wants)
		}
		return a, err
	}, func(now time.Time, a answer, err error) {
		l.asking = false
		switch {
		case c.runs[r.job] != r:
		case err != nil:
			c.loop.FailUnless(work, fmt.Errorf("take hosts up: %w", err))
		default:
			c.tookHostsUp(now, r, some, &a.taken, a.errands)
			r.askHosts(work)
		}
	})
}

// tookHostsUp goes on with hosts as the store said.
func (c *crawler) tookHostsUp(now time.Time, r *run, list []frontier.Taking, taken *store.Taken, errands []store.Errand) {
	r.budget.Observe(now, limit.Use{Hosts: r.hosts.learn(taken)})
	for _, t := range list {
		c.f.Took(now, t, r.hosts.has(t.Host))
	}
	c.sendErrands(now, errands)
}

// leftOut is the limit of hosts, if URLs were put off because of it. Those that were
// put off though there is room, by a worker that had not heard yet of a higher limit,
// wait again: then the job is not over.
func (r *run) leftOut(ctx context.Context) (over *limit.ExceededError, again bool, err error) {
	most := r.cfg.Limits.Of(limit.Hosts)
	if !most.Limited() {
		return nil, false, nil
	}
	t, err := r.c.st.TakeHosts(ctx, r.job, 1, nil) // all are told: it has at least one
	if err != nil {
		return nil, false, err
	}
	q := store.Query{Job: r.job, Outcome: visit.Deferred, Max: store.MaxPage}
	for {
		page, err := r.c.st.List(ctx, q)
		if err != nil {
			return nil, false, err
		}
		var out []weburl.URL
		for i := range page.Entries {
			if u := page.Entries[i].Item.URL; !t.Has(u.Host()) {
				out = append(out, u)
			}
		}
		switch {
		case len(out) > 0 && most.Reached(t.N):
			return most.Exceeded(t.N), false, nil
		case len(out) > 0 && r.cfg.MaxWaiting == 0: // which puts off, too
			_, err := r.c.st.Reopen(ctx, r.c.loop.Now(), r.job, out)
			return nil, true, err
		case page.Next == "":
			return nil, false, nil
		}
		q.After = page.Next
	}
}
