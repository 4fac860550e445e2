package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"headway/frontier"
	"headway/internal/committer"
	"headway/internal/fetchpool"
	"headway/internal/loop"
	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// newCommitter returns the committer that stores the crawler's results.
func (c *crawler) newCommitter() *committer.Committer {
	return committer.New(c.loop, committer.Config{
		Store: c.st, Archive: c.cfg.Archive, Seen: c.seen, Gap: c.cfg.CommitGap, Lease: c.slots.Lease, Host: c.hosts.storeHost, MaxLowPriority: c.queues.maxEndings, HostTime: c.jobs.dueHostTime,
		Sync: fetchpool.ArchivesOf(c.cfg.Outputs).Sync, CommitContext: c.shutdownContext, OnAttempt: c.meter.StoreAttempt, OnSegment: c.meter.SegmentAttempt, OnStored: c.onCommitted, Log: c.cfg.Log,
	})
}

// slowCommit is the commit duration above which the governor throttles.
const slowCommit = 250 * time.Millisecond

// onCommitted continues with what is now stored: new URLs, finished requests, outputs.
func (c *crawler) onCommitted(now time.Time, d *committer.Done) {
	batch, commit, receipt, took := d.Entries, &d.Commit, &d.Receipt, d.Took
	c.meter.Totals.Commits.Add(took)
	if c.cfg.Committed != nil {
		c.cfg.Committed(time.Now().Add(-took), took, len(commit.Visits))
	}
	c.gov.Commit(now, took, len(commit.Visits)+len(commit.Retries))
	c.queues.endings.stored(now, len(commit.Visits)-d.LowPriority, d.LowPriority, took)
	requests := make([]frontier.Request, 0, len(batch))
	visits := commit.Visits // in the order of the entries
	for i := range batch {
		e := &batch[i]
		if e.Request != nil {
			requests = append(requests, *e.Request)
		}
		if e.Visit != nil {
			if e.Visit.Reason == visit.Quarantined {
				c.suspects.finish(&e.Visit.Item)
			}
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
	var met []string // hosts without an entry in sites
	for _, i := range receipt.Fresh {
		it := commit.Found[i].Item
		if !c.owns(store.SlotOf(c.key, it.URL.Domain())) {
			continue // its owner is notified
		}
		if host := it.URL.Host(); c.sites[host] == nil {
			met = append(met, host)
		}
		c.hosts.site(it.URL)
		items = append(items, it)
	}
	// New URLs go first, so that a host does not appear idle between its last page and the
	// links found on it.
	c.f.Added(now, items)
	for _, host := range met {
		c.hosts.forgetUnscheduled(host)
	}
	errands := make([]store.Errand, 0, len(receipt.Errands))
	for _, i := range receipt.Errands {
		errands = append(errands, commit.Errands[i])
	}
	c.jobs.sendErrands(now, errands)
	left := receipt.Left
	if receipt.Repeated {
		c.reload(now, commit)
		left = 1 // not known: park again
	}
	for i := range batch {
		// A park may have ended links found in the same commit.
		if p := batch[i].Park; p != nil {
			c.f.Parked(now, *p, left)
		}
	}
	c.f.Committed(now, requests)
	c.learner.lookForLoops(c.workCtx, visits)
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

// reload reads what a commit added from the store: the response to the commit was lost, and
// the receipt of its repetition does not list it.
func (c *crawler) reload(now time.Time, commit *store.Commit) {
	wanted := map[store.Want]bool{}
	want := func(u weburl.URL, id job.ID) {
		w := store.Want{Host: u.Host(), Job: id, Max: store.MaxErrands}
		if c.owns(store.SlotOf(c.key, u.Domain())) && c.jobs.runs[id] != nil && !wanted[w] {
			wanted[w] = true
			c.hosts.site(u)
			c.f.Warm(now, u, []job.ID{id})
			c.hosts.forgetUnscheduled(w.Host)
		}
	}
	for i := range commit.Found {
		if f := &commit.Found[i]; f.Outcome == "" {
			want(f.Item.URL, f.Item.Job)
		}
	}
	for i := range commit.Errands {
		want(commit.Errands[i].URL, commit.Errands[i].Job)
	}
	if len(wanted) == 0 {
		return
	}
	wants, read := slices.Collect(maps.Keys(wanted)), c.read
	loop.Ask(c.workCtx, c.loop, func(ctx context.Context) ([]store.Errand, error) {
		return read.errands(ctx, wants)
	}, func(now time.Time, errands []store.Errand, err error) {
		if err != nil {
			c.loop.FailUnless(c.workCtx, err)
			return
		}
		c.jobs.sendErrands(now, errands)
	})
}
