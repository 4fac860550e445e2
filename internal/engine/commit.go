package engine

import (
	"time"

	"headway/frontier"
	"headway/internal/committer"
	"headway/internal/fetchpool"
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

// tookCommit goes on with what is stored now.
func (c *crawler) tookCommit(now time.Time, d *committer.Done) {
	batch, commit, receipt, took := d.Entries, &d.Commit, &d.Receipt, d.Took
	c.meter.Totals.Commits.Add(took)
	if c.cfg.Committed != nil {
		c.cfg.Committed(time.Now().Add(-took), took, len(commit.Visits))
	}
	c.gov.Commit(now, took, len(commit.Visits)+len(commit.Retries))
	c.queues.endings.stored(d.Last, took)
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
