package store

import (
	"errors"
	"fmt"
	"time"

	"headway/job"
	"headway/visit"
	"headway/weburl"
)

// MaxFound is the maximum of found URLs in one Add or Commit. For pages with more links
// the surplus is added before the commit: a link is stored before or with the page that
// contains it.
const MaxFound = 100_000

// Found is a URL that was found: a seed, a link, a redirect target.
//
// With the zero Outcome it waits, unless the job has seen it: then nothing happens, except
// that a provisional skip ([visit.Reason.Provisional]) is turned back to waiting with
// this item. With Skipped or Deferred it ends at once, unless the job has seen it. An
// out-of-scope URL is kept separately, once, or in a [Fleet] once for each slot in which it
// was found, and may also be seen in scope.
type Found struct {
	Item    visit.Item
	Outcome visit.Outcome // zero, visit.Skipped or visit.Deferred
	Reason  visit.Reason  // for Skipped
}

// Check reports why a found URL is invalid.
func (f *Found) Check() error {
	if f.Item.URL.IsZero() {
		return errors.New("found URL is empty")
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

// Aside reports whether the URL is out of scope and kept separately.
func (f *Found) Aside() bool { return f.Outcome == visit.Skipped && f.Reason == visit.OutOfScope }

// FinderSlot is the slot in which a URL was found: that of the page with the link, or its
// own for a seed.
func (f *Found) FinderSlot(k weburl.Key) Slot {
	if f.Item.Via.IsZero() {
		return SlotOf(k, f.Item.URL.Domain())
	}
	return SlotOf(k, f.Item.Via.Domain())
}

// Receipt says what an Add or Commit changed.
type Receipt struct {
	// Fresh are the indexes of found URLs that now wait because of this call, in order;
	// for a URL named twice, the first.
	Fresh []int
	// Errands are the indexes of errands that wait because of this call, in order; for one
	// named twice, the first.
	Errands []int
	// Seen is how many found URLs were not seen before, waiting or not.
	Seen int
	// Left is how many URLs a Park left waiting because there were more than
	// MaxPark; commit it again.
	Left int
	// Repeated says that a commit with this number was applied before. The other fields
	// are then unset.
	Repeated bool
}

// Want requests the head of one queue: the waiting URLs of one job on one host.
type Want struct {
	Host string // as [weburl.URL.Host] writes it
	Job  job.ID
	Max  int
}

// MaxWants bounds one call of Heads or Errands.
const MaxWants = 10_000

// Arrival is a notice that URLs or errands of a job were added to a host's queue by a
// worker that does not own it.
type Arrival struct {
	Host string
	Job  job.ID
}

// Rank is [visit.Item.Rank], the order of [URLs.Heads].
func Rank(it *visit.Item) int { return it.Rank() }

// Entry is all that is stored about one URL.
type Entry struct {
	Item    visit.Item // with the number of attempts, and NotBefore while it waits
	Outcome visit.Outcome
	Reason  visit.Reason
	SeenAt  time.Time
	EndedAt time.Time // zero while it waits

	// Visit is the attempt that ended it, without the links of the page: these are
	// URLs of their own, with the page as their Via. If links were kept, a [Query] can ask
	// for them, as for the texts of its content. It is nil while the URL waits and if it ended without a visit.
	Visit *visit.Visit
	// Attempts are the earlier attempts that did not end it, and those that ended it
	// before it was reopened, oldest first, at most MaxAttempts, without links and texts. The items
	// of all visits are as above, except for the number of the attempt.
	Attempts []visit.Visit
}

// MaxAttempts is how many earlier attempts at a URL are kept: the latest.
const MaxAttempts = 16

// Query selects URLs of a job. Zero fields select all.
type Query struct {
	Job     job.ID
	Host    string
	Outcome visit.Outcome // visit.Pending selects those that wait
	Reason  visit.Reason
	Texts   bool   // with the texts of pages; a page of the list then ends after about MaxTexts
	Links   bool   // with the links of pages that were kept, which count like texts
	After   Cursor // the Next of the previous page
	Max     int    // at most MaxPage
}

// MaxPage bounds one page of a list.
const MaxPage = 10_000

// Cursor is a position in a list. Its value is opaque.
type Cursor string

// Page is one page of a list, in an order that does not change while URLs are added. It
// does not contain out-of-scope URLs. Attempts are not filled in.
type Page struct {
	Entries []Entry
	Next    Cursor // empty after the last page
}
