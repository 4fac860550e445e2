package output

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"headway/visit"
)

// Draft is a file, or a group of files, in a format that is written in one go because it
// cannot be appended to, or need not be. It is used by one goroutine.
type Draft interface {
	// Begin starts a new draft next to a finished one of the same name, which stays.
	// An earlier unpublished draft is discarded.
	Begin() error
	// Add adds a URL that ended. It does not keep v.
	Add(v *visit.Visit) error
	// Publish makes the draft durable and renames it to its final name, replacing an
	// earlier one.
	Publish() error
	// Drop removes an unpublished draft, if there is one.
	Drop() error
	// Withdraw removes the published file, if there is one, because it is outdated.
	Withdraw() error
}

// AtEnd writes drafts from the ledger when the crawl has ended, all of them in one pass.
// Nothing is written before, so a killed process leaves nothing to continue or duplicate.
type AtEnd struct {
	drafts []Draft
	stale  bool // a finished file of an earlier run may exist
	broken error
}

var (
	_ Writer   = (*AtEnd)(nil)
	_ Flusher  = (*AtEnd)(nil)
	_ Finisher = (*AtEnd)(nil)
)

// NewAtEnd returns a writer of drafts. If the crawl is resumed, a finished file is
// withdrawn as soon as the crawl has new results; otherwise it belongs to another crawl and
// stays until it is replaced.
func NewAtEnd(resumed bool, drafts ...Draft) *AtEnd {
	return &AtEnd{drafts: drafts, stale: resumed}
}

// Write records that there are new results.
func (a *AtEnd) Write(_ context.Context, v *visit.Visit) error {
	if a.broken != nil {
		return a.broken
	}
	if err := v.Check(); err != nil {
		return err
	}
	if !a.stale || !EndingOf(v).Settled() {
		return nil
	}
	for _, d := range a.drafts {
		if err := d.Withdraw(); err != nil {
			a.broken = fmt.Errorf("withdraw output: %w", err)
			return a.broken
		}
	}
	a.stale = false
	return nil
}

// ReadsLinks reports whether a draft needs the links of pages.
func (a *AtEnd) ReadsLinks() bool {
	return slices.ContainsFunc(a.drafts, func(d Draft) bool { return ReadsLinks(d) })
}

// Flush does nothing.
func (a *AtEnd) Flush() error { return a.broken }

// Close closes the writer.
func (a *AtEnd) Close() error {
	if a.broken == nil {
		a.broken = errors.New("write output: already closed")
	}
	return nil
}

// Finish reads the ledger once, ending by ending, and publishes each draft.
func (a *AtEnd) Finish(ctx context.Context, l Ledger) error {
	if a.broken != nil {
		return a.broken
	}
	err := a.addAll(ctx, l)
	for _, d := range a.drafts {
		if err == nil {
			err = d.Publish()
		}
	}
	for _, d := range a.drafts {
		err = errors.Join(err, d.Drop())
	}
	if err != nil {
		return fmt.Errorf("finish output: %w", err)
	}
	a.broken = errors.New("write output: already finished")
	return nil
}

// addAll adds every URL of the ledger to every draft.
func (a *AtEnd) addAll(ctx context.Context, l Ledger) error {
	for _, d := range a.drafts {
		if err := d.Begin(); err != nil {
			return err
		}
	}
	want, err := l.Ended(ctx)
	if err != nil {
		return err
	}
	endings := slices.SortedFunc(maps.Keys(want), func(a, b Ending) int {
		return cmp.Or(cmp.Compare(a.Outcome, b.Outcome), cmp.Compare(a.Reason, b.Reason))
	})
	for _, e := range endings {
		if want[e] == 0 {
			continue
		}
		var have int64
		err := l.Each(ctx, e, func(v *visit.Visit) error {
			have++
			for _, d := range a.drafts {
				if err := d.Add(v); err != nil {
					return fmt.Errorf("%s: %w", v.Item.URL, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if have != want[e] { // no file is better than a wrong one
			return fmt.Errorf("%d URLs ended %s, but %d were listed", want[e], e, have)
		}
	}
	return nil
}

// String names an ending for people.
func (e Ending) String() string {
	if e.Reason == "" {
		return string(e.Outcome)
	}
	return string(e.Outcome) + ": " + string(e.Reason)
}
