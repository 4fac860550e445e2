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

// Comparison lists what differs between two crawls.
type Comparison struct {
	Before CrawlSum `json:"before"`
	After  CrawlSum `json:"after"`
	// Certain reports whether the later crawl was complete, so that a page it did
	// not find is gone. Otherwise it may not have got that far.
	Certain bool `json:"certain"`
	// Whole reports whether the earlier crawl was complete, so that a page it did
	// not find is new.
	Whole bool `json:"whole"`
	// Settings are those that differ and affect what is crawled, for people.
	Settings []string `json:"settings,omitempty"`
	Changes  []Change `json:"changes"` // one for each kind, in the order of ChangeKinds
	Same     int64    `json:"same"`    // pages present in both, unchanged
	// Unread are pages present in both, of which the earlier crawl only knows that
	// they had not changed since a still earlier one.
	Unread int64 `json:"unread,omitempty"`
}

// CrawlSum is the totals of one of the two crawls.
type CrawlSum struct {
	State job.State `json:"state"`
	Ended time.Time `json:"ended_at,omitzero"`
	Pages int64     `json:"pages"`
	Seen  int64     `json:"seen"`
}

// ChangeKind is how a URL differs between two crawls.
type ChangeKind string

// The kinds of change.
const (
	PageNew       ChangeKind = "new"        // present now, not seen before
	PageGone      ChangeKind = "gone"       // present before, not found any more
	PageDead      ChangeKind = "newly_dead" // present before, dead now
	PageRecovered ChangeKind = "recovered"  // present now, seen before without success
	PageChanged   ChangeKind = "changed"    // present in both, with another text (the main text, if both crawls kept it), title, description or canonical
	PageLost      ChangeKind = "lost"       // present before, now neither present nor dead; see its outcome
	PageWaits     ChangeKind = "waits"      // present before, not requested yet
	PageApart     ChangeKind = "apart"      // present before, on a host of which the later crawl has no URL
	PageSlower    ChangeKind = "slower"     // present in both, much slower now
	PageExcluded  ChangeKind = "excluded"   // present before, excluded by the settings of the later crawl
	PageIncluded  ChangeKind = "included"   // present now, not requested by the earlier crawl
)

// ChangeKinds lists the kinds in display order.
var ChangeKinds = []ChangeKind{PageDead, PageGone, PageLost, PageWaits, PageApart, PageExcluded, PageNew, PageIncluded, PageRecovered, PageChanged, PageSlower}

// changeWords are the kinds in words.
var changeWords = map[ChangeKind]string{
	PageNew: "new", PageGone: "gone", PageDead: "newly dead", PageRecovered: "recovered", PageChanged: "changed",
	PageLost: "no longer fetched for another reason", PageSlower: "slower", PageWaits: "not requested yet", PageApart: "on hosts missing from the later crawl",
	PageExcluded: "excluded by the settings of the later crawl", PageIncluded: "out of scope in the earlier crawl",
}

// Words names a kind for people. A page that was not found again is gone only if the
// later crawl was complete, and new only if the earlier one was.
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
	URL        string        `json:"url"`
	Before     visit.Outcome `json:"before,omitempty"`
	After      visit.Outcome `json:"after,omitempty"`
	Reason     visit.Reason  `json:"reason,omitempty"` // of After
	Status     int           `json:"status,omitempty"` // of After
	FoundOn    string        `json:"found_on,omitempty"`
	BeforeTook ask.Seconds   `json:"before_seconds,omitempty"` // to the end of the body
	AfterTook  ask.Seconds   `json:"after_seconds,omitempty"`
}

// A page counts as slower if it takes this many times as long, and this much longer;
// smaller differences are noise.
const (
	slowerTimes = 2
	slowerBy    = 250 * time.Millisecond
)

// Side is one of two crawls to compare.
type Side struct {
	Reader store.Reader
	Job    job.ID
	// Spec is the specification; nil means the one stored with the job.
	Spec *CrawlSpec
	// Interrupted says that no process works on it although its job is running.
	Interrupted bool
}

// Interrupted is the state of a crawl that was killed.
const Interrupted job.State = "interrupted"

// spec returns the specification of the crawl.
func (s Side) spec(ctx context.Context) (*CrawlSpec, error) {
	if s.Spec != nil {
		return s.Spec, nil
	}
	j, err := s.Reader.Job(ctx, s.Job)
	if err != nil {
		return nil, err
	}
	a, err := CrawlSpecOf(j)
	return &a, err
}

// Compare compares two crawls, the earlier one first. It lists up to most URLs per kind
// of change; memory does not grow with the crawls. progress, if not nil, is called with
// the number of URLs read so far from both.
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
	if err := c.walk(ctx, before, c.compareEarlier); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	if err := c.walk(ctx, after, c.compareLater); err != nil {
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

// readSettings finds the settings that differ, and rebuilds both scopes.
func (c *comparing) readSettings(ctx context.Context) error {
	before, err := c.before.spec(ctx)
	if err != nil {
		return err
	}
	after, err := c.after.spec(ctx)
	if err != nil {
		return err
	}
	c.out.Settings = Differences(before, after)
	if !before.hasAllSeeds() || !after.hasAllSeeds() {
		return nil // not all seeds are stored, so the scope is not known
	}
	if c.wasIn, _, err = before.rules(); err != nil {
		return err
	}
	c.isIn, _, err = after.rules()
	return err
}

// leftOut reports whether one crawl's settings exclude what the other's include.
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

// notRequested reports whether a crawl saw a URL but did not request it, because of its
// settings or limits.
func notRequested(e *store.Entry) bool {
	switch e.Outcome {
	case visit.Pending, visit.Deferred:
		return true
	case visit.Skipped:
		return e.Reason != visit.RobotsDisallow && e.Reason != visit.OptedOut
	default:
		return false
	}
}

// comparing is a comparison in progress.
type comparing struct {
	before, after Side
	most          int
	kinds         map[ChangeKind]*Change
	out           Comparison
	progress      func(read, of int64)
	read, of      int64
	hosts         map[string]bool // hosts of the later crawl: whether it has any URL there
	wasIn, isIn   *scope.Rules    // scope of the earlier and the later crawl; nil if not known
}

// comparePage is how many URLs are read at a time.
const comparePage = 1000

// walk calls look for every URL of one side.
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

func isPresent(e *store.Entry) bool {
	return e.Outcome == visit.Fetched || e.Outcome == visit.NotModified
}

// other finds a URL on the other side; nil if it is not there.
func (s Side) other(ctx context.Context, u weburl.URL) (*store.Entry, error) {
	e, err := s.Reader.Lookup(ctx, s.Job, u)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil //nolint:nilnil // a URL that was not seen is a valid result
	}
	return &e, err
}

// compareEarlier classifies a URL of the earlier crawl.
func (c *comparing) compareEarlier(ctx context.Context, old *store.Entry) error {
	if !isPresent(old) {
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
	case !isPresent(now):
		c.add(PageLost, old, now)
	default:
		c.both(old, now)
	}
	return nil
}

// covers reports whether the later crawl has any URL of a host.
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

// maxCovered limits the cached hosts.
const maxCovered = 100_000

// both classifies a page that is present in both crawls.
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

// differs reports whether readers or search engines would notice a change. If both crawls
// kept the main text, only that counts, not menus and footers.
func differs(a, b *visit.Page) bool {
	was, is := a.Digest, b.Digest
	if a.Content != nil && b.Content != nil && a.Content.Digest != "" && b.Content.Digest != "" {
		was, is = a.Content.Digest, b.Content.Digest
	}
	return was != is || a.Title != b.Title || a.Description != b.Description || a.Canonical != b.Canonical
}

// compareLater classifies a URL of the later crawl.
func (c *comparing) compareLater(ctx context.Context, now *store.Entry) error {
	if !isPresent(now) {
		return nil
	}
	old, err := c.before.other(ctx, now.Item.URL)
	switch {
	case err != nil:
		return err
	case (old == nil || old.Outcome == visit.Skipped) && leftOut(c.wasIn, c.isIn, now), old != nil && notRequested(old):
		c.add(PageIncluded, old, now)
	case old == nil:
		c.add(PageNew, nil, now)
	case !isPresent(old):
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
			u.BeforeTook = ask.Seconds(old.Visit.Timing.Total)
		}
	}
	if now != nil {
		u.After, u.Reason = now.Outcome, now.Reason
		if now.Visit != nil {
			u.Status, u.AfterTook = now.Visit.Answer.Status, ask.Seconds(now.Visit.Timing.Total)
		}
	}
	change.URLs = append(change.URLs, u)
}
