// Package committer gathers what is to be stored, and stores it: one commit at a time,
// of as much as one takes, behind the leases of all slots it is about. When that is done
// the engine goes on with what was stored, and who waits for it is told.
//
// Everything here belongs to the loop, but for the commit that is under way.
package committer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"headway/frontier"
	"headway/internal/discovery"
	"headway/internal/loop"
	"headway/store"
	"headway/visit"
)

// Entry is something that waits for a commit. A visit and the links of its page
// are one entry, so that they are stored together. One that is about a host says which
// slot and domain that is in: they must be ours when it is stored.
type Entry struct {
	Slot   store.Slot
	Domain string // "" for what needs no lease

	Request *frontier.Request // of a visit or retry
	Visit   *visit.Visit      // that ended its URL
	Retry   *store.Retry
	Found   []discovery.Link
	Park    *frontier.Park
	Robots  *store.RobotsVersion
	Errand  *store.Errand // to be run
	Ran     *store.Errand // that was run
	Tokens  *store.Return // not used
	Stored  func()        // called when it is stored; may be nil
}

// idle tells whether no request of the entry's domain is under way: then only the entry
// itself keeps the domain from being handed over.
func (e *Entry) idle() bool { return e.Domain != "" && e.Request == nil }

// Host is a host as it is stored.
type Host struct {
	store.Host
	Slot   store.Slot
	Domain string
}

// Store stores commits.
type Store interface {
	Commit(ctx context.Context, c store.Commit) (store.Receipt, error)
}

// Config is what a committer needs of others.
type Config struct {
	Store  Store
	Gap    time.Duration // between commits, unless there is reason to hurry
	Lease  func(store.Slot) (lease store.Lease, ours bool)
	Host   func(name string) (Host, bool)               // its state as it is now; not ok for one that is not kept
	Last   func(visits int) int                         // how many of those that let others go first go with so many visits
	Sync   func() error                                 // comes before each commit; belongs to the background
	Beyond func() (context.Context, context.CancelFunc) // for what is stored when all else has ended, too
	Asked  func(ctx context.Context, err error)         // hears of commits that are tried again
	Took   func(now time.Time, d *Done)                 // goes on with what was stored
	Log    *slog.Logger
}

// Done is a commit that was stored.
type Done struct {
	Entries []Entry // in the order in which they were added, those that let others go first at the end
	Last    int     // how many of them let others go first
	Commit  store.Commit
	Receipt store.Receipt
	Took    time.Duration
}

// Times and sizes of commits.
const (
	manyPages    = 64               // so many pages do not wait for the gap between commits
	retryCommit  = time.Second      // a commit that found no room, or a busy file, is tried again
	fullPatience = 15 * time.Second // how long one waits that found no room
)

// Committer is what waits to be stored.
type Committer struct {
	loop   *loop.Loop
	cfg    Config
	worker store.WorkerID
	number int64 // of the last commit

	pending []Entry
	last    []Entry // visits that let others go first
	pages   int     // visits and retries among pending
	links   int     // of theirs, and those that were found
	touched map[string]struct{}
	resting []Host
	paces   []paceChange
	hurry   bool

	underway bool
	began    time.Time // when the last commit began
	ending   bool      // some of last are in the commit under way
	storing  []string  // domains in it that no request is under way for
	stats    Stats
}

// Stats is how commits went.
type Stats struct {
	N    int64
	Time time.Duration // in all
	Last time.Duration
}

// New returns a committer for which nothing waits.
func New(l *loop.Loop, cfg Config) *Committer {
	return &Committer{loop: l, cfg: cfg, touched: map[string]struct{}{}}
}

// Begin says whose commits they are.
func (c *Committer) Begin(worker store.WorkerID) { c.worker = worker }

// Add adds something to the next commit.
func (c *Committer) Add(e Entry) {
	c.pending = append(c.pending, e)
	c.weigh(&e, 1)
}

// weigh counts what waits, or with -1 does no longer.
func (c *Committer) weigh(e *Entry, by int) {
	if e.Visit != nil || e.Retry != nil {
		c.pages += by
	}
	if e.Visit != nil {
		c.links += by * len(e.Visit.Links)
	}
	c.links += by * len(e.Found)
}

// AddLast adds a visit that lets others go first.
func (c *Committer) AddLast(e Entry) { c.last = append(c.last, e) }

// Spare takes back those of them that are in no commit yet.
func (c *Committer) Spare(which func(*frontier.Request) bool) (spared []frontier.Request) {
	c.last = slices.DeleteFunc(c.last, func(e Entry) bool {
		leaves := which(e.Request)
		if leaves {
			spared = append(spared, *e.Request)
		}
		return leaves
	})
	return spared
}

// Ending tells whether any of them are not stored yet.
func (c *Committer) Ending() bool { return len(c.last) > 0 || c.ending }

// Touch says that the state of a host must be stored.
func (c *Committer) Touch(host string) { c.touched[host] = struct{}{} }

// Rest stores a host once more that leaves memory.
func (c *Committer) Rest(h Host) { c.resting = append(c.resting, h) }

// Pace keeps that the pace of a host has changed, which is in a slot.
func (c *Committer) Pace(p store.PaceChange, slot store.Slot) {
	c.paces = append(c.paces, paceChange{p, slot})
}

type paceChange struct {
	store.PaceChange
	slot store.Slot
}

// Hurry makes the next commit not wait for the gap.
func (c *Committer) Hurry() { c.hurry = true }

// Behind is how many visits wait for their commit, and how many links.
func (c *Committer) Behind() (pages, links int) { return c.pages, c.links }

// Waits tells whether any entry waits that was added.
func (c *Committer) Waits() bool { return len(c.pending) > 0 }

// Underway tells whether a commit is, and since when.
func (c *Committer) Underway() (since time.Time, ok bool) { return c.began, c.underway }

// Idle tells whether nothing waits that keeps a crawl from its end.
func (c *Committer) Idle() bool {
	return len(c.pending)+len(c.last) == 0 && len(c.touched) == 0 && !c.underway
}

// Stats is how commits went.
func (c *Committer) Stats() Stats { return c.stats }

// Unstored are the domains with something that is not stored yet, hosts that were
// touched included.
func (c *Committer) Unstored(domainOf func(host string) string) map[string]bool {
	list := map[string]bool{}
	if c.underway {
		for _, d := range c.storing {
			list[d] = true
		}
	}
	for name := range c.touched {
		if d := domainOf(name); d != "" {
			list[d] = true
		}
	}
	for i := range c.resting {
		list[c.resting[i].Domain] = true
	}
	for i := range c.pending {
		if e := &c.pending[i]; e.idle() {
			list[e.Domain] = true
		}
	}
	return list
}

// Return gives page tokens back at the end, when nothing else is stored any more.
func (c *Committer) Return(ctx context.Context, now time.Time, list []store.Return) error {
	if len(list) == 0 {
		return nil
	}
	c.number++
	if _, err := c.cfg.Store.Commit(ctx, store.Commit{Worker: c.worker, Number: c.number, At: now, Returns: list}); err != nil {
		return fmt.Errorf("return page tokens: %w", err)
	}
	return nil
}

// Start begins a commit if none is under way and anything waits. It does not wait for
// the gap where that is the end.
func (c *Committer) Start(work context.Context, now time.Time, end bool) {
	if c.underway || len(c.pending)+len(c.last)+len(c.paces)+len(c.resting)+len(c.touched) == 0 {
		return
	}
	if wait := c.began.Add(c.cfg.Gap).Sub(now); wait > 0 && c.pages+len(c.last) < manyPages && !c.hurry && !end {
		c.loop.WakeAt(now.Add(wait))
		return
	}
	d := c.compose(now)
	c.underway, c.began, c.hurry = true, now, false
	c.loop.Go(func() { c.store(work, d) })
}

// store stores a commit, also when everything else has ended, and tells the loop. It
// belongs to the background.
func (c *Committer) store(work context.Context, d *Done) {
	err := c.insist(work, d)
	c.loop.Post(func(now time.Time) {
		if c.underway = false; err != nil {
			c.loop.Fail(err)
			return
		}
		c.ending = false
		c.stats.N++
		c.stats.Time += d.Took
		c.stats.Last = d.Took
		c.cfg.Took(now, d)
	})
}

// insist tries to store a commit until it is, or there is no hope.
func (c *Committer) insist(work context.Context, d *Done) error {
	ctx, done := c.cfg.Beyond()
	defer done()
	if err := c.cfg.Sync(); err != nil {
		return err
	}
	first := time.Now()
	for {
		began := time.Now()
		err := c.loop.Retry(ctx, func() (err error) {
			d.Receipt, err = c.cfg.Store.Commit(ctx, d.Commit)
			return err
		})
		d.Took = time.Since(began)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, store.ErrInUse), errors.Is(err, store.ErrFull) && began.Sub(first) < fullPatience:
		default:
			return fmt.Errorf("commit: %w", err)
		}
		c.cfg.Asked(ctx, err)
		c.cfg.Log.Warn("commit failed, retrying", "err", err)
		select {
		case <-work.Done():
			return fmt.Errorf("commit: %w", err)
		case <-time.After(retryCommit):
		}
	}
}
