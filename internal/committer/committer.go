// Package committer batches what is to be stored and commits it: one commit at a time, up
// to the store's size limits, with the leases of all slots it writes to. The engine is
// called back with what was stored.
//
// Everything here belongs to the loop, except the commit under way.
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

// Entry is something to be committed. A visit and the links of its page are one entry, so
// that they are stored together. An entry about a host names its slot and domain, which
// must be ours when it is stored.
type Entry struct {
	Slot   store.Slot
	Domain string // "" if no lease is needed

	Request *frontier.Request // of a visit or retry
	Visit   *visit.Visit      // that ended its URL
	Retry   *store.Retry
	Found   []discovery.Link
	Park    *frontier.Park
	Robots  *store.RobotsVersion
	Errand  *store.Errand    // to be run
	Ran     *store.Errand    // completed
	Tokens  *store.Return    // unused
	Times   []store.HostTime // of jobs for which nothing else is stored
	Raw     []byte           // the records of the visit's exchange, for the archive; nil for none
	RawLen  int64            // the length of the first, which has the response
	Stored  func()           // called when it is stored; may be nil
}

// idle reports whether the entry itself, not a request under way, keeps its domain from
// being handed over.
func (e *Entry) idle() bool { return e.Domain != "" && e.Request == nil }

// Host is a host in its stored form.
type Host struct {
	store.Host
	Slot   store.Slot
	Domain string
}

// Store is the part of a store that commits.
type Store interface {
	Commit(ctx context.Context, c store.Commit) (store.Receipt, error)
}

// Archive stores segments: the archived exchanges of a job's visits in one commit. See
// [headway/output.Archive].
type Archive interface {
	Begin(key string, now time.Time) ([]byte, error)
	Put(ctx context.Context, key string, segment []byte) error
}

// Config is what a committer needs.
type Config struct {
	Store          Store
	Archive        Archive        // nil if no entry has an archived exchange
	Seen           *frontier.Seen // links known to be stored
	Gap            time.Duration  // least time between commits, except for a flush or many pages
	Lease          func(store.Slot) (lease store.Lease, ours bool)
	Host           func(name string) (Host, bool)               // its current state; not ok if it is not in memory
	MaxLowPriority func(visits int) int                         // how many low-priority visits go into a commit with that many visits
	HostTime       func(now time.Time) []store.HostTime         // at most [store.MaxHostTimes], to go with a commit; may be nil
	Sync           func(context.Context) error                  // called before each commit, in the background
	CommitContext  func() (context.Context, context.CancelFunc) // outlives the work, for the last commits
	OnAttempt      func(ctx context.Context, err error)         // called after a failed attempt
	OnStored       func(now time.Time, d *Done)                 // called on the loop after a commit
	Log            *slog.Logger

	// OnSegment is called after each attempt to write a segment, from any goroutine.
	OnSegment func(ctx context.Context, bytes int, took time.Duration, err error)
}

// Done is a completed commit.
type Done struct {
	Entries     []Entry // in the order they were added, low-priority ones at the end
	LowPriority int     // how many of them are low-priority
	Commit      store.Commit
	Receipt     store.Receipt
	Took        time.Duration
}

// Times and sizes of commits.
const (
	manyPages    = 64               // this many pages do not wait for the gap between commits
	busyShare    = 3                // to a busy store a worker commits a third of the time at most
	busyPages    = 4 * manyPages    // this many pages do not wait for a busy store
	archiveGap   = 2 * time.Second  // least time between commits with archived exchanges: few large segments cost less
	archiveBytes = 4 << 20          // archived exchanges of this size do not wait for the gap
	maxArchived  = 16 << 20         // archived exchanges in one commit, unless one alone is larger
	maxUploads   = 4                // segments written at once
	retryCommit  = time.Second      // delay before a retry after a full disk or a locked file
	fullPatience = 15 * time.Second // how long to retry while the disk is full
)

// Committer holds what waits to be stored.
type Committer struct {
	loop   *loop.Loop
	cfg    Config
	worker store.WorkerID
	number int64 // of the last commit

	pending     []Entry
	lowPriority []Entry // visits that let others go first
	pages       int     // visits and retries among pending
	links       int     // links of visits, and found URLs
	texts       int     // bytes of the texts of visits
	raw         int     // bytes of archived exchanges
	touched     map[string]struct{}
	extraHosts  []Host
	paces       []paceChange
	flushNow    bool

	underway   bool
	began      time.Time // when the last commit began
	storingLow bool      // low-priority visits are in the commit under way
	storing    []string  // domains in it without requests under way
	storingRaw int       // bytes of archived exchanges in it
	lastPages  int       // visits and retries in the last commit
	stats      Stats
}

// Stats counts commits.
type Stats struct {
	N    int64
	Time time.Duration // total
	Last time.Duration
}

// New returns an empty committer.
func New(l *loop.Loop, cfg Config) *Committer {
	return &Committer{loop: l, cfg: cfg, touched: map[string]struct{}{}}
}

// Begin sets the worker that commits.
func (c *Committer) Begin(worker store.WorkerID) { c.worker = worker }

// Add adds an entry to the next commit.
func (c *Committer) Add(e Entry) {
	c.pending = append(c.pending, e)
	c.addLoad(&e, 1)
}

// addLoad adds an entry to the counts of waiting pages, links and texts; with -1 it subtracts.
func (c *Committer) addLoad(e *Entry, by int) {
	if e.Visit != nil || e.Retry != nil {
		c.pages += by
	}
	if e.Visit != nil {
		c.links += by * len(e.Visit.Links)
	}
	c.links += by * len(e.Found)
	c.texts += by * e.texts()
	c.raw += by * len(e.Raw)
}

// AddLowPriority adds a visit that lets other entries go first.
func (c *Committer) AddLowPriority(e Entry) { c.lowPriority = append(c.lowPriority, e) }

// Withdraw removes low-priority visits that are in no commit yet, and returns their
// requests.
func (c *Committer) Withdraw(which func(*frontier.Request) bool) (spared []frontier.Request) {
	c.lowPriority = slices.DeleteFunc(c.lowPriority, func(e Entry) bool {
		leaves := which(e.Request)
		if leaves {
			spared = append(spared, *e.Request)
		}
		return leaves
	})
	return spared
}

// LowPriorityPending reports whether low-priority visits are not stored yet.
func (c *Committer) LowPriorityPending() bool { return len(c.lowPriority) > 0 || c.storingLow }

// Touch marks the state of a host to be stored.
func (c *Committer) Touch(host string) { c.touched[host] = struct{}{} }

// StoreHost stores a host that is not, or no longer, in memory.
func (c *Committer) StoreHost(h Host) { c.extraHosts = append(c.extraHosts, h) }

// Pace stores a pace change of a host in the given slot.
func (c *Committer) Pace(p store.PaceChange, slot store.Slot) {
	c.paces = append(c.paces, paceChange{p, slot})
}

type paceChange struct {
	store.PaceChange
	slot store.Slot
}

// FlushNow starts the next commit without waiting for the gap.
func (c *Committer) FlushNow() { c.flushNow = true }

// Behind is how many visits and links wait for their commit, and how many bytes of text.
func (c *Committer) Behind() (pages, links, texts int) { return c.pages, c.links, c.texts }

// Archiving is how many bytes of archived exchanges are in memory: those that wait, and those of
// the commit under way.
func (c *Committer) Archiving() int { return c.raw + c.storingRaw }

// HasPending reports whether any entry waits.
func (c *Committer) HasPending() bool { return len(c.pending) > 0 }

// Underway reports whether a commit is under way, and since when.
func (c *Committer) Underway() (since time.Time, ok bool) { return c.began, c.underway }

// Idle reports whether nothing is left that a crawl must store before its end.
func (c *Committer) Idle() bool {
	return len(c.pending)+len(c.lowPriority) == 0 && len(c.touched) == 0 && !c.underway
}

// Stats counts commits.
func (c *Committer) Stats() Stats { return c.stats }

// Unstored returns the domains with unstored entries or hosts.
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
	for i := range c.extraHosts {
		list[c.extraHosts[i].Domain] = true
	}
	for i := range c.pending {
		if e := &c.pending[i]; e.idle() {
			list[e.Domain] = true
		}
	}
	return list
}

// Return returns page tokens at the end, after all other commits.
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

// Start starts a commit if none is under way and anything waits. At the end it does not
// wait for the gap.
func (c *Committer) Start(work context.Context, now time.Time, end bool) {
	if c.underway || len(c.pending)+len(c.lowPriority)+len(c.paces)+len(c.extraHosts)+len(c.touched) == 0 {
		return
	}
	gap, many := c.interval()
	low := min(len(c.lowPriority), c.cfg.MaxLowPriority(c.pages)) // the rest would not be in it
	if wait := c.began.Add(gap).Sub(now); wait > 0 && c.pages+low < many && c.raw < archiveBytes && !c.flushNow && !end {
		c.loop.WakeAt(now.Add(wait))
		return
	}
	d := c.compose(now)
	c.underway, c.began, c.flushNow = true, now, false
	c.loop.Go(func() { c.store(work, d) })
}

// interval is the least time from the beginning of one commit to the next, and how many pages
// do not wait for it. A store that is slow with many pages is busy: it gets fewer commits with
// more pages in each, which cost it less. Without a gap, as in a crawl on one machine, nothing
// waits, except for segments.
func (c *Committer) interval() (gap time.Duration, many int) {
	if c.raw > 0 {
		return max(c.cfg.Gap, archiveGap), busyPages
	}
	if slow := busyShare * c.stats.Last; c.cfg.Gap > 0 && c.lastPages >= manyPages/2 && slow > c.cfg.Gap {
		return max(c.cfg.Gap, min(slow, store.MaxCommitGap)), busyPages
	}
	return c.cfg.Gap, manyPages
}

// store commits in the background, even after the work has ended, and reports to the loop.
func (c *Committer) store(work context.Context, d *Done) {
	err := c.retryStore(work, d)
	c.loop.Post(func(now time.Time) {
		c.storingRaw = 0
		if c.underway = false; err != nil {
			c.loop.Fail(err)
			return
		}
		c.storingLow = false
		c.stats.N++
		c.stats.Time += d.Took
		c.stats.Last, c.lastPages = d.Took, len(d.Commit.Visits)+len(d.Commit.Retries)
		c.cfg.OnStored(now, d)
	})
}

// retryStore retries a commit until it succeeds or fails for good.
func (c *Committer) retryStore(work context.Context, d *Done) error {
	ctx, done := c.cfg.CommitContext()
	defer done()
	if err := c.cfg.Sync(ctx); err != nil {
		return err
	}
	if err := c.archive(ctx, d); err != nil {
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
		c.cfg.OnAttempt(ctx, err)
		c.cfg.Log.Warn("commit failed, retrying", "err", err)
		select {
		case <-work.Done():
			return fmt.Errorf("commit: %w", err)
		case <-time.After(retryCommit):
		}
	}
}
