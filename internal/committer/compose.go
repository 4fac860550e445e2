package committer

import (
	"slices"
	"time"

	"headway/store"
)

// full tells whether an entry does not go into a commit any more.
func full(c *store.Commit, e *Entry) bool {
	return len(c.Visits)+len(c.Retries) == store.MaxVisits || len(c.Found)+len(e.Found) > store.MaxFound ||
		len(c.Parks) == store.MaxHosts || len(c.Robots) == store.MaxVisits || max(len(c.Errands), len(c.Ran)) == store.MaxHosts
}

// compose makes a commit of as much as one takes.
func (c *Committer) compose(now time.Time) *Done {
	c.number++
	c.storing = c.storing[:0]
	d := &Done{Commit: store.Commit{Worker: c.worker, Number: c.number, At: now}}
	slots := map[store.Slot]struct{}{}
	n := 0
	for ; n < len(c.pending) && !full(&d.Commit, &c.pending[n]); n++ {
		e := &c.pending[n]
		if e.Domain != "" {
			slots[e.Slot] = struct{}{}
		}
		if e.idle() {
			c.storing = append(c.storing, e.Domain)
		}
		e.write(&d.Commit)
		c.weigh(e, -1)
	}
	last := c.takeLast(len(d.Commit.Visits) + len(d.Commit.Retries))
	d.Entries, d.Last = slices.Concat(c.pending[:n], last), len(last)
	for i := n; i < len(d.Entries); i++ {
		slots[d.Entries[i].Slot] = struct{}{}
		d.Entries[i].write(&d.Commit)
	}
	c.pending = append([]Entry(nil), c.pending[n:]...)
	c.writeHosts(&d.Commit, slots)
	c.writePaces(&d.Commit, slots)
	for s := range slots {
		lease, _ := c.cfg.Lease(s) // one that is not ours is refused, and should be
		d.Commit.Leases = append(d.Commit.Leases, lease)
	}
	return d
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
	for i := range e.Found {
		c.Found = append(c.Found, e.Found[i].Found)
	}
}

// takeLast takes those that let others go first and go with a commit of so many visits.
func (c *Committer) takeLast(visits int) []Entry {
	n := min(c.cfg.Last(visits), len(c.last), store.MaxVisits-visits)
	list := c.last[:n:n]
	if c.last = c.last[n:]; len(c.last) == 0 {
		c.last = nil
	}
	c.ending = n > 0
	return list
}

// writeHosts adds the hosts that were touched, and those that leave memory.
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
	for len(c.resting) > 0 && len(commit.Hosts) < store.MaxHosts {
		add(&c.resting[0])
		c.resting = c.resting[1:]
	}
}

// writePaces adds what changed of the pace of hosts. What is ours no longer was another's
// to say since; it is kept all the same.
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
