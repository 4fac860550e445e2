package committer

import (
	"slices"
	"time"

	"headway/internal/discovery"
	"headway/store"
	"headway/visit"
)

// full reports whether a commit, with texts and archived exchanges of this size, has no room for
// an entry.
func full(c *store.Commit, texts, raw int, e *Entry) bool {
	return texts+e.texts() > store.MaxTexts || raw > 0 && raw+len(e.Raw) > maxArchived || len(c.Visits)+len(c.Retries) == store.MaxVisits || len(c.Found)+len(e.Found) > store.MaxFound ||
		len(c.HostTime)+len(e.Times) > store.MaxHostTimes || len(c.Parks) == store.MaxHosts || len(c.Robots) == store.MaxVisits || max(len(c.Errands), len(c.Ran)) == store.MaxHosts
}

// compose builds a commit from as many entries as fit.
func (c *Committer) compose(now time.Time) *Done {
	c.number++
	c.storing = c.storing[:0]
	d := &Done{Commit: store.Commit{Worker: c.worker, Number: c.number, At: now}}
	c.makeRoom(&d.Commit)
	slots := map[store.Slot]struct{}{}
	n, texts := 0, 0
	for ; n < len(c.pending) && !full(&d.Commit, texts, c.storingRaw, &c.pending[n]); n++ {
		e := &c.pending[n]
		texts += e.texts()
		c.storingRaw += len(e.Raw)
		if e.Domain != "" {
			slots[e.Slot] = struct{}{}
		}
		if e.idle() {
			c.storing = append(c.storing, e.Domain)
		}
		c.addLoad(e, -1)
		e.Found = c.notStored(e.Found)
		e.write(&d.Commit)
	}
	last := c.takeLowPriority(len(d.Commit.Visits) + len(d.Commit.Retries))
	d.Entries, d.LowPriority = slices.Concat(c.pending[:n], last), len(last)
	for i := n; i < len(d.Entries); i++ {
		slots[d.Entries[i].Slot] = struct{}{}
		d.Entries[i].write(&d.Commit)
	}
	c.pending = append([]Entry(nil), c.pending[n:]...)
	if c.cfg.HostTime != nil && len(d.Commit.HostTime) == 0 {
		d.Commit.HostTime = c.cfg.HostTime(now)
	}
	c.writeHosts(&d.Commit, slots)
	c.writePaces(&d.Commit, slots)
	for s := range slots {
		lease, _ := c.cfg.Lease(s) // the store rejects one that is not ours, as it should
		d.Commit.Leases = append(d.Commit.Leases, lease)
	}
	return d
}

// makeRoom allocates the largest lists of a commit, which are most of its size.
func (c *Committer) makeRoom(commit *store.Commit) {
	visits, found := 0, 0
	for i := range c.pending {
		if e := &c.pending[i]; e.Visit != nil {
			visits++
		}
		found += len(c.pending[i].Found)
	}
	visits += min(c.cfg.MaxLowPriority(visits), len(c.lowPriority))
	commit.Visits = make([]visit.Visit, 0, min(visits, store.MaxVisits))
	commit.Found = make([]store.Found, 0, min(found, store.MaxFound))
}

// notStored drops links that were stored while their entry waited: pages of the same site that
// are fetched at about the same time have the same links. It reuses the slice.
func (c *Committer) notStored(links []discovery.Link) []discovery.Link {
	return slices.DeleteFunc(links, func(l discovery.Link) bool { return c.cfg.Seen.Has(l.Mark) })
}

// texts is the size of the texts of an entry, and of the links that are kept.
func (e *Entry) texts() int {
	if e.Visit == nil {
		return 0
	}
	return e.Visit.BulkSize()
}

// write adds an entry to a commit.
func (e *Entry) write(c *store.Commit) {
	switch {
	case e.Visit != nil:
		c.Visits = append(c.Visits, *e.Visit)
	case e.Retry != nil:
		c.Retries = append(c.Retries, *e.Retry)
	case e.Park != nil:
		c.Parks = append(c.Parks, store.Park(*e.Park))
	case e.Errand != nil:
		c.Errands = append(c.Errands, *e.Errand)
	case e.Ran != nil:
		c.Ran = append(c.Ran, *e.Ran)
	case e.Tokens != nil:
		c.Returns = append(c.Returns, *e.Tokens)
	case e.Robots != nil:
		c.Robots = append(c.Robots, *e.Robots)
	}
	c.HostTime = append(c.HostTime, e.Times...)
	for i := range e.Found {
		c.Found = append(c.Found, e.Found[i].Found)
	}
}

// takeLowPriority takes the low-priority visits for a commit with that many visits.
func (c *Committer) takeLowPriority(visits int) []Entry {
	n := min(c.cfg.MaxLowPriority(visits), len(c.lowPriority), store.MaxVisits-visits)
	list := c.lowPriority[:n:n]
	if c.lowPriority = c.lowPriority[n:]; len(c.lowPriority) == 0 {
		c.lowPriority = nil
	}
	c.storingLow = n > 0
	return list
}

// writeHosts adds the touched hosts and those of [Committer.StoreHost].
func (c *Committer) writeHosts(commit *store.Commit, slots map[store.Slot]struct{}) {
	add := func(h *Host) {
		commit.Hosts = append(commit.Hosts, h.Host)
		slots[h.Slot] = struct{}{}
		c.storing = append(c.storing, h.Domain)
	}
	for name := range c.touched {
		if len(commit.Hosts) == store.MaxHosts {
			return
		}
		delete(c.touched, name)
		if h, ok := c.cfg.Host(name); ok {
			add(&h)
		}
	}
	for len(c.extraHosts) > 0 && len(commit.Hosts) < store.MaxHosts {
		add(&c.extraHosts[0])
		c.extraHosts = c.extraHosts[1:]
	}
}

// writePaces adds pace changes. Changes of hosts that are no longer ours are stored without
// a lease.
func (c *Committer) writePaces(commit *store.Commit, slots map[store.Slot]struct{}) {
	take := min(len(c.paces), store.MaxHosts)
	for _, p := range c.paces[:take] {
		commit.Paces = append(commit.Paces, p.PaceChange)
		if _, ours := c.cfg.Lease(p.slot); ours {
			slots[p.slot] = struct{}{}
		}
	}
	c.paces = c.paces[take:]
}
