package headway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/frontier"
	"headway/internal/pace"
	"headway/politeness"
	"headway/store"
	"headway/visit"
)

// entry is something that waits for a commit. A visit and the links of its page
// are one entry, so that they are stored together.
type entry struct {
	request *frontier.Request // of a visit or retry
	visit   *visit.Visit      // that ended its URL
	retry   *store.Retry
	found   []link
	park    *frontier.Park
	robots  *store.RobotsVersion
	errand  *store.Errand // to be run
	ran     *store.Errand // that was run
	tokens  *store.Return // not used
	ack     func()        // called when it is stored
}

// fenced is the domain that must be ours when the entry is stored, though no
// request of it is under way.
func (e *entry) fenced(c *crawler) string {
	switch {
	case e.park != nil && c.sites[e.park.Host] != nil:
		return c.sites[e.park.Host].domain
	case e.ran != nil:
		return e.ran.URL.Domain()
	}
	return ""
}

// Times and sizes of commits.
const (
	manyPages   = 64                     // so many pages do not wait for the gap between commits
	retryCommit = time.Second            // a commit that found no room, or a busy file, is tried again
	slowCommit  = 250 * time.Millisecond // the ceiling of a commit that keeps up
)

// pend adds something to the next commit.
func (c *crawler) pend(e entry) {
	c.pending = append(c.pending, e)
	c.weigh(&e, 1)
}

// weigh counts what waits, or with -1 does no longer.
func (c *crawler) weigh(e *entry, by int) {
	if e.visit != nil || e.retry != nil {
		c.pages += by
	}
	if e.visit != nil {
		c.links += by * len(e.visit.Links)
	}
	c.links += by * len(e.found)
}

// startCommit begins a commit if none is under way and anything waits.
func (c *crawler) startCommit(work context.Context, now time.Time) {
	if c.committing || len(c.pending)+len(c.endings) == 0 && len(c.paces) == 0 && len(c.resting) == 0 && len(c.touched) == 0 {
		return
	}
	if wait := c.committed.Add(c.cfg.CommitGap).Sub(now); wait > 0 && c.pages+len(c.endings) < manyPages && !c.urgent && !c.halted {
		c.loop.WakeAt(now.Add(wait))
		return
	}
	n, ended, commit := c.compose(now)
	batch := slices.Concat(c.pending[:n], ended)
	c.pending = append([]entry(nil), c.pending[n:]...)
	c.committing, c.committed, c.urgent = true, now, false
	for i := range batch[:n] {
		c.weigh(&batch[i], -1)
	}
	c.loop.Go(func() { c.commit(work, batch, commit) })
}

// compose makes a commit of as much as one takes.
func (c *crawler) compose(now time.Time) (n int, ended []entry, commit store.Commit) {
	c.number++
	c.storing = c.storing[:0]
	commit = store.Commit{Worker: c.worker, Number: c.number, At: now}
	slots := map[store.Slot]struct{}{}
	for ; n < len(c.pending); n++ {
		e := &c.pending[n]
		if len(commit.Visits)+len(commit.Retries) == store.MaxVisits || len(commit.Found)+len(e.found) > store.MaxFound || len(commit.Parks) == store.MaxHosts || len(commit.Robots) == store.MaxVisits || max(len(commit.Errands), len(commit.Ran)) == store.MaxHosts {
			break
		}
		switch {
		case e.visit != nil:
			commit.Visits = append(commit.Visits, *e.visit)
			slots[c.sites[e.request.Host].slot] = struct{}{}
		case e.retry != nil:
			commit.Retries = append(commit.Retries, *e.retry)
			slots[c.sites[e.request.Host].slot] = struct{}{}
		case e.park != nil:
			commit.Parks = append(commit.Parks, store.Park(*e.park))
			slots[c.sites[e.park.Host].slot] = struct{}{}
		case e.errand != nil:
			commit.Errands = append(commit.Errands, *e.errand)
		case e.ran != nil:
			commit.Ran = append(commit.Ran, *e.ran)
			slots[store.SlotOf(c.key, e.ran.URL.Domain())] = struct{}{}
		case e.tokens != nil:
			commit.Returns = append(commit.Returns, *e.tokens)
		case e.robots != nil:
			commit.Robots = append(commit.Robots, *e.robots)
		}
		if d := e.fenced(c); d != "" {
			c.storing = append(c.storing, d)
		}
		for i := range e.found {
			commit.Found = append(commit.Found, e.found[i].found)
		}
	}
	ended = c.takeEndings(len(commit.Visits) + len(commit.Retries))
	for i := range ended {
		commit.Visits = append(commit.Visits, *ended[i].visit)
		slots[c.sites[ended[i].request.Host].slot] = struct{}{}
	}
	for host := range c.touched {
		if len(commit.Hosts) == store.MaxHosts {
			break
		}
		delete(c.touched, host)
		if h, ok := c.storeHost(host); ok {
			commit.Hosts = append(commit.Hosts, h)
			slots[c.sites[host].slot] = struct{}{}
			c.storing = append(c.storing, c.sites[host].domain)
		}
	}
	for len(c.resting) > 0 && len(commit.Hosts) < store.MaxHosts {
		commit.Hosts = append(commit.Hosts, c.resting[0].host)
		slots[c.resting[0].slot] = struct{}{}
		c.storing = append(c.storing, c.resting[0].domain)
		c.resting = c.resting[1:]
	}
	take := min(len(c.paces), store.MaxHosts)
	commit.Paces = c.paces[:take:take]
	c.paces = c.paces[take:]
	for i := range commit.Paces {
		if s := c.sites[commit.Paces[i].Host]; s != nil {
			slots[s.slot] = struct{}{}
		}
	}
	for s := range slots {
		commit.Leases = append(commit.Leases, c.leases[s])
	}
	return n, ended, commit
}

// storeHost is the state of a host as it is stored.
func (c *crawler) storeHost(host string) (store.Host, bool) {
	s := c.sites[host]
	view, ok := c.f.View(host)
	if s == nil || !ok {
		return store.Host{}, false
	}
	return c.encodeHost(host, s, view.State)
}

// encodeHost is a host as it is stored, with this state.
func (c *crawler) encodeHost(host string, s *site, state politeness.State) (store.Host, bool) {
	file, err := s.robots.MarshalBinary()
	if err != nil {
		c.loop.Fail(fmt.Errorf("encode the robots state of %s: %w", host, err))
		return store.Host{}, false
	}
	h := store.Host{Host: host, Robots: file}
	if err := pace.Write(&h, state, s.stored); err != nil {
		c.loop.Fail(err)
		return store.Host{}, false
	}
	s.stored = pace.Of(&h)
	return h, true
}

// commit stores a batch, also when everything else has ended, and tells the loop.
func (c *crawler) commit(work context.Context, batch []entry, commit store.Commit) {
	ctx, done := c.afterlife()
	defer done()
	if err := c.syncArchives(); err != nil {
		c.loop.Post(func(time.Time) {
			c.committing = false
			c.loop.Fail(err)
		})
		return
	}
	first := time.Now()
	for {
		began := time.Now()
		var receipt store.Receipt
		err := c.loop.Retry(ctx, func() (err error) {
			receipt, err = c.st.Commit(ctx, commit)
			return err
		})
		took := time.Since(began)
		if err == nil {
			c.loop.Post(func(now time.Time) { c.tookCommit(now, batch, &commit, receipt, took) })
			return
		}
		if !errors.Is(err, store.ErrInUse) && !(errors.Is(err, store.ErrFull) && began.Sub(first) < fullPatience) {
			c.loop.Post(func(time.Time) {
				c.committing = false
				c.loop.Fail(fmt.Errorf("commit: %w", err))
			})
			return
		}
		c.meter.stored(ctx, err)
		c.cfg.Log.Warn("nothing can be stored, trying again", "err", err)
		select {
		case <-work.Done():
			c.loop.Post(func(time.Time) {
				c.committing = false
				c.loop.Fail(fmt.Errorf("commit: %w", err))
			})
			return
		case <-time.After(retryCommit):
		}
	}
}

// tookCommit goes on with what is stored now.
func (c *crawler) tookCommit(now time.Time, batch []entry, commit *store.Commit, receipt store.Receipt, took time.Duration) {
	c.committing, c.ending = false, false
	c.commits.n++
	c.commits.time += took
	c.commits.last = took
	c.meter.totals.Commits.add(took)
	if c.cfg.Committed != nil {
		c.cfg.Committed(time.Now().Add(-took), took, len(commit.Visits))
	}
	c.gov.Commit(now, took, len(commit.Visits)+len(commit.Retries))
	requests := make([]frontier.Request, 0, len(batch))
	visits := make([]visit.Visit, 0, len(commit.Visits))
	for i := range batch {
		e := &batch[i]
		if e.request != nil {
			requests = append(requests, *e.request)
		}
		if e.visit != nil {
			visits = append(visits, *e.visit)
			if !e.visit.Answer.Location.IsZero() {
				c.redirects.drop(&e.visit.Item)
			}
		}
		if e.retry != nil {
			if r := c.runs[e.request.Job]; r != nil {
				r.tally.attempted(&e.retry.Visit)
			}
		}
		for j := range e.found {
			c.seen.Put(e.found[j].mark)
		}
		if e.ack != nil {
			e.ack()
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
		c.site(it.URL)
		items = append(items, it)
	}
	// New URLs come first, so that a host is not taken to be without work
	// between its last page and the links on it.
	c.f.Added(now, items)
	for _, host := range met {
		c.forgetUnscheduled(host)
	}
	errands := make([]store.Errand, 0, len(receipt.Errands))
	for _, i := range receipt.Errands {
		errands = append(errands, commit.Errands[i])
	}
	c.sendErrands(now, errands)
	for i := range batch {
		// A park may have ended links of its own commit.
		if p := batch[i].park; p != nil {
			c.f.Parked(now, *p, receipt.Left)
		}
	}
	c.f.Committed(now, requests)
	c.lookForLoops(c.shift, visits)
	if len(visits) > 0 && len(c.cfg.Outputs) > 0 {
		c.outbox = append(c.outbox, visits)
	}
	for i := range visits {
		c.meter.ended(&visits[i])
		if r := c.runs[visits[i].Item.Job]; r != nil {
			r.tally.ended(&visits[i])
		}
	}
}

// handOut gives stored visits to the outputs, as fast as they take them.
func (c *crawler) handOut() {
	for len(c.outbox) > 0 {
		select {
		case c.out <- c.outbox[0]:
			c.outbox[0] = nil
			c.outbox = c.outbox[1:]
		default:
			return
		}
	}
}

// rest lets go of a host that left memory. Its state is stored already, because
// a host leaves only after its last commit; one with work is stored once more
// with the time at which it is ready, by which it comes back.
func (c *crawler) rest(r frontier.Rest) {
	s := c.sites[r.Host]
	if s == nil {
		return
	}
	if !r.Until.IsZero() {
		if h, ok := c.encodeHost(r.Host, s, r.State); ok {
			h.Rest = r.Until
			c.resting = append(c.resting, restingHost{h, s.slot, s.domain})
		}
	}
	delete(c.sites, r.Host)
	// A domain without work is not kept from others.
	if _, giving := c.loader.yields[s.domain]; s.claimed && r.Until.IsZero() && !giving && len(c.f.Hosts(s.domain)) == 0 {
		if _, ok := c.st.(store.Domains); ok {
			c.loader.yields[s.domain] = false
			c.yield(c.loop.Now(), s.domain)
		}
	}
}

// restingHost is a host on its way out of memory.
type restingHost struct {
	host   store.Host
	slot   store.Slot
	domain string
}
