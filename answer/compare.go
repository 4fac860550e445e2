package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"headway/ask"
	"headway/job"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Comparison is what differs between two crawls.
type Comparison struct {
	Before CrawlSum `json:"before"`
	After  CrawlSum `json:"after"`
	// Certain tells whether a page that the later crawl did not meet is gone: it
	// looked everywhere. Otherwise it may not have come that far.
	Certain bool `json:"certain"`
	// Whole tells whether a page that the earlier crawl did not meet is new: it
	// looked everywhere.
	Whole bool `json:"whole"`
	// Settings are those that differ and decide what is crawled, for people.
	Settings []string `json:"settings,omitempty"`
	Changes  []Change `json:"changes"` // one for each kind, in the order of Kinds
	Same     int64    `json:"same"`    // pages that were and are there, unchanged
	// Unread are pages that were and are there, of which the earlier crawl read
	// only that they had not changed since one before it.
	Unread int64 `json:"unread,omitempty"`
}

// CrawlSum is one of the two crawls in numbers.
type CrawlSum struct {
	State job.State `json:"state"`
	Ended time.Time `json:"ended,omitzero"`
	Pages int64     `json:"pages"`
	Seen  int64     `json:"seen"`
}

// ChangeKind is how a URL differs between two crawls.
type ChangeKind string

// The kinds of change.
const (
	PageNew       ChangeKind = "new"        // there now, and not seen before
	PageGone      ChangeKind = "gone"       // there before, and not met any more
	PageDead      ChangeKind = "newly_dead" // there before, and dead now
	PageRecovered ChangeKind = "recovered"  // there now, and seen before without success
	PageChanged   ChangeKind = "changed"    // there before and now, with another text, title, description or canonical
	PageLost      ChangeKind = "lost"       // there before, and now neither there nor dead: its outcome says what
	PageWaits     ChangeKind = "waits"      // there before, and not asked for yet
	PageApart     ChangeKind = "apart"      // there before, on a host the later crawl has nothing of
	PageSlower    ChangeKind = "slower"     // there before and now, and answered much later
	PageExcluded  ChangeKind = "excluded"   // there before, and left out by the settings of the later crawl
	PageIncluded  ChangeKind = "included"   // there now, and not looked for by the earlier crawl
)

// ChangeKinds lists the kinds in the order they are told.
var ChangeKinds = []ChangeKind{PageDead, PageGone, PageLost, PageWaits, PageApart, PageExcluded, PageNew, PageIncluded, PageRecovered, PageChanged, PageSlower}

// changeWords are the kinds in words.
var changeWords = map[ChangeKind]string{
	PageNew: "new", PageGone: "gone", PageDead: "newly dead", PageRecovered: "recovered", PageChanged: "changed",
	PageLost: "no longer fetched for another reason", PageSlower: "slower", PageWaits: "not requested yet", PageApart: "on hosts missing from the later crawl",
	PageExcluded: "excluded by the settings of the later crawl", PageIncluded: "out of scope in the earlier crawl",
}

// Words names a kind for people. A page that was not met again is gone only if
// the later crawl looked everywhere, and new only if the earlier one did.
func (c *Comparison) Words(k ChangeKind) string {
	if k == PageNew && !c.Whole {
		return "not seen before (the earlier crawl is not complete)"
	}
	if k == PageGone && !c.Certain {
		return "not seen again (the later crawl is not complete)"
	}
	return changeWords[k]
}

// Change is all changes of one kind.
type Change struct {
	Kind  ChangeKind   `json:"kind"`
	Total int64        `json:"total"`
	URLs  []ChangedURL `json:"urls"` // the first of them
}

// ChangedURL is one URL that differs.
type ChangedURL struct {
	URL      string        `json:"url"`
	Before   visit.Outcome `json:"before,omitempty"`
	After    visit.Outcome `json:"after,omitempty"`
	Reason   visit.Reason  `json:"reason,omitempty"` // of After
	Status   int           `json:"status,omitempty"` // of After
	FoundOn  string        `json:"found_on,omitempty"`
	BeforeMS ask.Millis    `json:"before_ms,omitempty"` // to the end of the body
	AfterMS  ask.Millis    `json:"after_ms,omitempty"`
}

// A page is slower when it takes this many times as long, and so much longer:
// less is noise.
const (
	slowerTimes = 2
	slowerBy    = 250 * time.Millisecond
)

// Side is one of two crawls to compare.
type Side struct {
	Reader store.Reader
	Job    job.ID
	// Asked is what was asked for; nil for what the job says.
	Asked *Asked
	// Interrupted says that nobody works on it, though its job still runs.
	Interrupted bool
}

// Interrupted is how a crawl stands that was killed.
const Interrupted job.State = "interrupted"

// asked is what the crawl was asked for.
func (s Side) asked(ctx context.Context) (*Asked, error) {
	if s.Asked != nil {
		return s.Asked, nil
	}
	j, err := s.Reader.Job(ctx, s.Job)
	if err != nil {
		return nil, err
	}
	a, err := AskedOf(j)
	return &a, err
}

// Compare reads two crawls, the earlier one first. Of each kind of change it names
// up to most URLs; memory does not grow with the crawls. Progress, if not nil, is
// told how many URLs of both were read.
func Compare(ctx context.Context, before, after Side, most int, progress func(read, of int64)) (*Comparison, error) {
	c := &comparing{before: before, after: after, most: most, kinds: map[ChangeKind]*Change{}, progress: progress, hosts: map[string]bool{}}
	for _, k := range ChangeKinds {
		c.kinds[k] = &Change{Kind: k, URLs: []ChangedURL{}}
	}
	var err error
	if c.out.Before, err = before.sum(ctx); err != nil {
		return nil, fmt.Errorf("compare: the earlier crawl: %w", err)
	}
	if c.out.After, err = after.sum(ctx); err != nil {
		return nil, fmt.Errorf("compare: the later crawl: %w", err)
	}
	c.out.Certain, c.out.Whole = c.out.After.State == job.Complete, c.out.Before.State == job.Complete
	if err := c.readSettings(ctx); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	c.of = c.out.Before.Seen + c.out.After.Seen
	if err := c.walk(ctx, before, c.was); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	if err := c.walk(ctx, after, c.is); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	for _, k := range ChangeKinds {
		slices.SortFunc(c.kinds[k].URLs, func(a, b ChangedURL) int { return cmp.Compare(a.URL, b.URL) })
		c.out.Changes = append(c.out.Changes, *c.kinds[k])
	}
	return &c.out, nil
}

func (s Side) sum(ctx context.Context) (CrawlSum, error) {
	j, err := s.Reader.Job(ctx, s.Job)
	if err != nil {
		return CrawlSum{}, err
	}
	counts, err := s.Reader.Counts(ctx, s.Job)
	if err != nil {
		return CrawlSum{}, err
	}
	sum := CrawlSum{State: j.State, Ended: j.EndedAt, Pages: counts.Pages(), Seen: counts.Seen()}
	if s.Interrupted {
		sum.State = Interrupted
	}
	return sum, nil
}

// readSettings finds which settings differ, and the scopes that follow from them.
func (c *comparing) readSettings(ctx context.Context) error {
	before, err := c.before.asked(ctx)
	if err != nil {
		return err
	}
	after, err := c.after.asked(ctx)
	if err != nil {
		return err
	}
	c.out.Settings = Differences(before, after)
	if !before.whole() || !after.whole() {
		return nil // of many seeds the first are kept: no scope follows from them
	}
	if c.wasIn, _, err = before.rules(); err != nil {
		return err
	}
	c.isIn, _, err = after.rules()
	return err
}

// leftOut tells whether the settings of one crawl leave out what those of the other
// let in.
func leftOut(by, not *scope.Rules, e *store.Entry) bool {
	if by == nil || not == nil {
		return false
	}
	decide := func(r *scope.Rules) bool {
		if e.Item.Depth == 0 {
			return r.DecideSeed(e.Item.URL).In
		}
		return r.Decide(e.Item.URL, e.Item.Depth).In
	}
	return !decide(by) && decide(not)
}

// notLookedFor tells whether a crawl met a URL but had no reason, or no time, to ask
// for it.
func notLookedFor(e *store.Entry) bool {
	switch e.Outcome {
	case visit.Pending, visit.Deferred:
		return true
	case visit.Skipped:
		return e.Reason != visit.RobotsDisallow && e.Reason != visit.OptedOut
	default:
		return false
	}
}

// comparing is a comparison under way.
type comparing struct {
	before, after Side
	most          int
	kinds         map[ChangeKind]*Change
	out           Comparison
	progress      func(read, of int64)
	read, of      int64
	hosts         map[string]bool // of the later crawl: whether it has anything of them
	wasIn, isIn   *scope.Rules    // of the earlier and the later crawl; nil where that is not known
}

// comparePage is how many URLs are read at a time.
const comparePage = 1000

// walk looks at every URL of one side.
func (c *comparing) walk(ctx context.Context, s Side, look func(context.Context, *store.Entry) error) error {
	q := store.Query{Job: s.Job, Max: comparePage}
	for {
		page, err := s.Reader.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Entries {
			if err := look(ctx, &page.Entries[i]); err != nil {
				return err
			}
		}
		c.read += int64(len(page.Entries))
		if c.progress != nil {
			c.progress(c.read, c.of)
		}
		if page.Next == "" {
			return nil
		}
		q.After = page.Next
	}
}

func there(e *store.Entry) bool {
	return e.Outcome == visit.Fetched || e.Outcome == visit.NotModified
}

// other finds a URL on the other side, nil if it is not there.
func (s Side) other(ctx context.Context, u weburl.URL) (*store.Entry, error) {
	e, err := s.Reader.Lookup(ctx, s.Job, u)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil //nolint:nilnil // a URL that was not seen is an answer
	}
	return &e, err
}

// was looks at a URL of the earlier crawl.
func (c *comparing) was(ctx context.Context, old *store.Entry) error {
	if !there(old) {
		return nil
	}
	now, err := c.after.other(ctx, old.Item.URL)
	switch {
	case err != nil:
		return err
	case (now == nil || now.Outcome == visit.Skipped) && leftOut(c.isIn, c.wasIn, old):
		c.add(PageExcluded, old, now)
	case now == nil:
		covered, err := c.covers(ctx, old.Item.URL.Host())
		if err != nil {
			return err
		}
		if covered {
			c.add(PageGone, old, nil)
		} else {
			c.add(PageApart, old, nil)
		}
	case now.Outcome == visit.Dead:
		c.add(PageDead, old, now)
	case now.Outcome == visit.Pending:
		c.add(PageWaits, old, now)
	case !there(now):
		c.add(PageLost, old, now)
	default:
		c.both(old, now)
	}
	return nil
}

// covers tells whether the later crawl has anything of a host.
func (c *comparing) covers(ctx context.Context, host string) (bool, error) {
	if known, ok := c.hosts[host]; ok {
		return known, nil
	}
	page, err := c.after.Reader.List(ctx, store.Query{Job: c.after.Job, Host: host, Max: 1})
	if err != nil {
		return false, err
	}
	if len(c.hosts) >= maxCovered {
		clear(c.hosts)
	}
	c.hosts[host] = len(page.Entries) > 0
	return c.hosts[host], nil
}

// maxCovered bounds the hosts that are remembered.
const maxCovered = 100_000

// both looks at a page that was and is there.
func (c *comparing) both(old, now *store.Entry) {
	if old.Visit == nil || now.Visit == nil {
		return
	}
	if now.Outcome == visit.Fetched && old.Outcome == visit.NotModified {
		c.out.Unread++
		return
	}
	if now.Outcome == visit.Fetched && differs(&old.Visit.Page, &now.Visit.Page) {
		c.add(PageChanged, old, now)
	} else {
		c.out.Same++
	}
	was, is := old.Visit.Timing.Total, now.Visit.Timing.Total
	if now.Outcome == visit.Fetched && old.Outcome == visit.Fetched && is > slowerTimes*was && is-was > slowerBy {
		c.add(PageSlower, old, now)
	}
}

// differs tells whether readers or search engines would notice.
func differs(a, b *visit.Page) bool {
	return a.Digest != b.Digest || a.Title != b.Title || a.Description != b.Description || a.Canonical != b.Canonical
}

// is looks at a URL of the later crawl.
func (c *comparing) is(ctx context.Context, now *store.Entry) error {
	if !there(now) {
		return nil
	}
	old, err := c.before.other(ctx, now.Item.URL)
	switch {
	case err != nil:
		return err
	case (old == nil || old.Outcome == visit.Skipped) && leftOut(c.wasIn, c.isIn, now), old != nil && notLookedFor(old):
		c.add(PageIncluded, old, now)
	case old == nil:
		c.add(PageNew, nil, now)
	case !there(old):
		c.add(PageRecovered, old, now)
	}
	return nil
}

func (c *comparing) add(k ChangeKind, old, now *store.Entry) {
	change := c.kinds[k]
	change.Total++
	if len(change.URLs) >= c.most {
		return
	}
	either := cmp.Or(now, old)
	u := ChangedURL{URL: visit.Redact(either.Item.URL)}
	if !either.Item.Via.IsZero() {
		u.FoundOn = visit.Redact(either.Item.Via)
	}
	if old != nil {
		u.Before = old.Outcome
		if old.Visit != nil {
			u.BeforeMS = ask.Millis(old.Visit.Timing.Total)
		}
	}
	if now != nil {
		u.After, u.Reason = now.Outcome, now.Reason
		if now.Visit != nil {
			u.Status, u.AfterMS = now.Visit.Answer.Status, ask.Millis(now.Visit.Timing.Total)
		}
	}
	change.URLs = append(change.URLs, u)
}
