package headway

import (
	"context"
	"fmt"
	"time"

	"headway/frontier"
	"headway/internal/committer"
	"headway/internal/fetchpool"
	"headway/internal/pace"
	"headway/internal/redirects"
	"headway/politeness"
	"headway/store"
	"headway/visit"
)

// newCommitter stores what the crawler gives it.
func (c *crawler) newCommitter() *committer.Committer {
	return committer.New(c.loop, committer.Config{
		Store: c.st, Gap: c.cfg.CommitGap, Lease: c.slots.Lease, Host: c.hosts.storeHost, Last: c.queues.endingsBeside,
		Sync: fetchpool.ArchivesOf(c.cfg.Outputs).Sync, Beyond: c.afterlife, Asked: c.meter.Stored, Took: c.tookCommit, Log: c.cfg.Log,
	})
}

// slowCommit is the ceiling of a commit that keeps up.
const slowCommit = 250 * time.Millisecond

// pendAt adds something about a host, which must be ours.
func (hs *hosts) pendAt(host string, e committer.Entry) {
	s := hs.sites[host]
	e.Slot, e.Domain = s.slot, s.domain
	hs.commits.Add(e)
}

// pendRan says that an errand was run.
func (hs *hosts) pendRan(e store.Errand) {
	domain := e.URL.Domain()
	hs.commits.Add(committer.Entry{Ran: &e, Slot: store.SlotOf(hs.key, domain), Domain: domain})
}

// storeHost is the state of a host as it is stored.
func (hs *hosts) storeHost(host string) (committer.Host, bool) {
	s := hs.sites[host]
	view, ok := hs.f.View(host)
	if s == nil || !ok {
		return committer.Host{}, false
	}
	return hs.encodeHost(host, s, view.State)
}

// encodeHost is a host as it is stored, with this state.
func (hs *hosts) encodeHost(host string, s *site, state politeness.State) (committer.Host, bool) {
	file, err := s.robots.MarshalBinary()
	if err != nil {
		hs.loop.Fail(fmt.Errorf("encode the robots state of %s: %w", host, err))
		return committer.Host{}, false
	}
	h := store.Host{Host: host, Robots: file}
	if err := pace.Write(&h, state, s.stored); err != nil {
		hs.loop.Fail(err)
		return committer.Host{}, false
	}
	s.stored = pace.Of(&h)
	return committer.Host{Host: h, Slot: s.slot, Domain: s.domain}, true
}

// tookCommit goes on with what is stored now.
func (c *crawler) tookCommit(now time.Time, d *committer.Done) {
	batch, commit, receipt, took := d.Entries, &d.Commit, &d.Receipt, d.Took
	c.meter.Totals.Commits.Add(took)
	if c.cfg.Committed != nil {
		c.cfg.Committed(time.Now().Add(-took), took, len(commit.Visits))
	}
	c.gov.Commit(now, took, len(commit.Visits)+len(commit.Retries))
	requests := make([]frontier.Request, 0, len(batch))
	visits := make([]visit.Visit, 0, len(commit.Visits))
	for i := range batch {
		e := &batch[i]
		if e.Request != nil {
			requests = append(requests, *e.Request)
		}
		if e.Visit != nil {
			visits = append(visits, *e.Visit)
			if !e.Visit.Answer.Location.IsZero() {
				c.learner.redirects.Drop(&e.Visit.Item)
			}
		}
		if e.Retry != nil {
			if r := c.jobs.runs[e.Request.Job]; r != nil {
				r.tally.Attempted(&e.Retry.Visit)
			}
		}
		for j := range e.Found {
			c.seen.Put(e.Found[j].Mark)
		}
		if e.Stored != nil {
			e.Stored()
		}
	}
	items := make([]visit.Item, 0, len(receipt.Fresh))
	var met []string // hosts nothing was kept of so far
	for _, i := range receipt.Fresh {
		it := commit.Found[i].Item
		if !c.owns(store.SlotOf(c.key, it.URL.Domain())) {
			continue // its owner hears of it
		}
		if host := it.URL.Host(); c.sites[host] == nil {
			met = append(met, host)
		}
		c.hosts.site(it.URL)
		items = append(items, it)
	}
	// New URLs come first, so that a host is not taken to be without work
	// between its last page and the links on it.
	c.f.Added(now, items)
	for _, host := range met {
		c.hosts.forgetUnscheduled(host)
	}
	errands := make([]store.Errand, 0, len(receipt.Errands))
	for _, i := range receipt.Errands {
		errands = append(errands, commit.Errands[i])
	}
	c.jobs.sendErrands(now, errands)
	for i := range batch {
		// A park may have ended links of its own commit.
		if p := batch[i].Park; p != nil {
			c.f.Parked(now, *p, receipt.Left)
		}
	}
	c.f.Committed(now, requests)
	c.learner.lookForLoops(c.shift, visits)
	if len(visits) > 0 && len(c.cfg.Outputs) > 0 {
		c.outbox.Put(visits)
	}
	for i := range visits {
		c.meter.Ended(&visits[i])
		if r := c.jobs.runs[visits[i].Item.Job]; r != nil {
			r.tally.Ended(&visits[i])
		}
	}
}

// rest lets go of a host that left memory. Its state is stored already, because
// a host leaves only after its last commit; one with work is stored once more
// with the time at which it is ready, by which it comes back.
func (ld *loader) rest(r frontier.Rest) {
	s := ld.sites[r.Host]
	if s == nil {
		return
	}
	if !r.Until.IsZero() {
		if h, ok := ld.hosts.encodeHost(r.Host, s, r.State); ok {
			h.Rest = r.Until
			ld.commits.Rest(h)
		}
	}
	delete(ld.sites, r.Host)
	// A domain without work is not kept from others.
	if s.claimed && r.Until.IsZero() && len(ld.f.Hosts(s.domain)) == 0 {
		if _, ok := ld.st.(store.Domains); ok && ld.domains.Give(s.domain) {
			ld.queues.yield(ld.loop.Now(), s.domain)
		}
	}
}

// lookForLoops follows the redirects of a commit again, in a fleet.
func (lr *learner) lookForLoops(ctx context.Context, visits []visit.Visit) {
	if lr.alone {
		return // it sees them all
	}
	var list []visit.Visit
	for i := range visits {
		if v := &visits[i]; v.Outcome == visit.Redirected && lr.jobs.runs[v.Item.Job] != nil && len(list) < redirects.MaxFollowed {
			list = append(list, visit.Visit{Item: v.Item, Answer: visit.Answer{Location: v.Answer.Location}})
		}
	}
	if len(list) == 0 {
		return
	}
	known, now := lr.redirects, lr.loop.Now
	lr.loop.Go(func() {
		if err := known.Break(ctx, now, list); err != nil {
			lr.loop.Post(func(time.Time) { lr.loop.FailUnless(ctx, err) })
		}
	})
}
