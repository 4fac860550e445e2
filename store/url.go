package store

import (
	"errors"
	"fmt"
	"time"

	"headway/job"
	"headway/visit"
	"headway/weburl"
)

// MaxFound is how many found URLs one Add or Commit takes. Pages with more
// links are committed after an Add of the surplus: a link is stored before or
// with the page that carries it.
const MaxFound = 100_000

// Found is a URL that somebody came across: a seed, a link, a redirect target.
//
// With the zero Outcome it waits, unless the run has seen it: then nothing
// happens, except that a provisional skip ([visit.Reason.Provisional]) is turned
// back to waiting with this item. With Skipped or Deferred it ends at once,
// unless the run has seen it. A URL that is out of scope is kept apart, once
// for each slot in which it was found, and may also be seen in scope.
type Found struct {
	Item    visit.Item
	Outcome visit.Outcome // zero, visit.Skipped or visit.Deferred
	Reason  visit.Reason  // of Skipped
}

// Check reports what makes a found URL impossible to store.
func (f *Found) Check() error {
	if f.Item.URL.IsZero() {
		return errors.New("found nothing: the URL is empty")
	}
	if f.Item.Job <= 0 {
		return fmt.Errorf("found %s: no job", f.Item.URL)
	}
	if f.Item.Hops < 0 || f.Item.Hops > visit.MaxHops || f.Item.Depth < 0 || f.Item.Attempt < 0 {
		return fmt.Errorf("found %s: depth %d, hops %d or attempt %d out of range", f.Item.URL, f.Item.Depth, f.Item.Hops, f.Item.Attempt)
	}
	switch f.Outcome {
	case "":
		if f.Reason != "" {
			return fmt.Errorf("found %s: waits, but has reason %q", f.Item.URL, f.Reason)
		}
		return nil
	case visit.Skipped, visit.Deferred:
		if err := visit.Check(f.Outcome, f.Reason, ""); err != nil {
			return fmt.Errorf("found %s: %w", f.Item.URL, err)
		}
		return nil
	default:
		return fmt.Errorf("found %s: a URL that was not asked for cannot be %s", f.Item.URL, f.Outcome)
	}
}

// Aside tells whether the URL is out of scope and kept apart from the others.
func (f *Found) Aside() bool { return f.Outcome == visit.Skipped && f.Reason == visit.OutOfScope }

// FinderSlot is the slot in which a URL was found: that of the page that named
// it, or its own for a seed.
func (f *Found) FinderSlot(k weburl.Key) Slot {
	if f.Item.Via.IsZero() {
		return SlotOf(k, f.Item.URL.Domain())
	}
	return SlotOf(k, f.Item.Via.Domain())
}

// Receipt says what an Add or Commit changed.
type Receipt struct {
	// Fresh are the places in the list of found URLs whose URL now waits
	// because of it, in order; of a URL named twice, the first.
	Fresh []int
	// Errands are the places in the list of errands that wait because of it, in
	// order; of one named twice, the first.
	Errands []int
	// Seen is how many found URLs were not seen before, waiting or not.
	Seen int
	// Left is how many URLs a Park left waiting because there were more than
	// MaxPark; commit it again.
	Left int
	// Repeated says that a commit with this number was applied before. Nothing
	// else is known then.
	Repeated bool
}

// Want asks for the head of one queue: the waiting URLs of one job on one host.
type Want struct {
	Host string // as [weburl.URL.Host] writes it
	Job  job.ID
	Max  int
}

// MaxWants bounds one call of Heads or Errands.
const MaxWants = 10_000

// Arrival is a notice that URLs or errands of a job were put into a host's queue
// by somebody who does not own it.
type Arrival struct {
	Host string
	Job  job.ID
}

// Rank is [visit.Item.Rank], the order of [URLs.Heads].
func Rank(it *visit.Item) int { return it.Rank() }

// Entry is all that is stored of one URL.
type Entry struct {
	Item    visit.Item // with the attempts made, and NotBefore while it waits
	Outcome visit.Outcome
	Reason  visit.Reason
	SeenAt  time.Time
	EndedAt time.Time // zero while it waits

	// Visit is the attempt that ended it, without the links of the page: they
	// are URLs of their own, with the page as their Via. It is nil while the
	// URL waits and when it ended without a visit.
	Visit *visit.Visit
	// Attempts are the attempts before that did not end it, and those that
	// ended it before it was reopened, oldest first, at most MaxAttempts,
	// without links. The items of all visits are as above,
	// except for the number of the attempt.
	Attempts []visit.Visit
}

// MaxAttempts is how many unfinished attempts of a URL are kept: the latest.
const MaxAttempts = 16

// Query asks for URLs of a job. Zero fields ask for all.
type Query struct {
	Job     job.ID
	Host    string
	Outcome visit.Outcome // visit.Pending asks for those that wait
	Reason  visit.Reason
	After   Cursor // where the page before ended
	Max     int    // at most MaxPage
}

// MaxPage bounds one page of a list.
const MaxPage = 10_000

// Cursor is a place in a list. Its value means something to the engine alone.
type Cursor string

// Page is one page of a list, in an order that does not change while URLs are
// added. URLs out of scope are not among them. Attempts are not filled in.
type Page struct {
	Entries []Entry
	Next    Cursor // empty after the last page
}
