// Package result gives outputs access to the results of a crawl: a [Ledger] is the view of
// its store, [Finish] completes the files. It is used by the crawl itself and by exports,
// later or while the crawl runs, on the command line and in the service. Every finished URL
// is in each file once; of a running crawl, those that were finished when they were
// counted. Files appear complete or not at all, and memory does not grow with the crawl.
package result

import (
	"context"
	"errors"
	"math"

	"headway/job"
	"headway/output"
	"headway/store"
	"headway/visit"
)

// Reader is the part of a store that is read.
type Reader interface {
	Counts(ctx context.Context, id job.ID) (store.Counts, error)
	List(ctx context.Context, q store.Query) (store.Page, error)
}

// Ledger is a crawl as outputs see it; see [output.Ledger]. It holds the URLs that had
// ended when they were counted.
type Ledger struct {
	Reader  Reader
	Job     job.ID
	Running bool
	// Strict also lists what is stored beyond the count, so that an output detects a
	// mismatch: nothing can be added while a crawl finishes its own files.
	Strict bool
	Links  bool   // also read the links of pages that were kept
	Seen   func() // called for each URL; nil for none

	ended map[output.Ending]int64
}

// Ended counts once, so that it returns the same each time.
func (l *Ledger) Ended(ctx context.Context) (map[output.Ending]int64, error) {
	if l.ended != nil {
		return l.ended, nil
	}
	counts, err := l.Reader.Counts(ctx, l.Job)
	if err != nil {
		return nil, err
	}
	l.ended = map[output.Ending]int64{}
	for e, n := range counts.Ended {
		// Unsettled URLs may wait again before they are read.
		if e.Reason != visit.OutOfScope && (!l.Running || output.Ending(e).Settled()) {
			l.ended[output.Ending(e)] = n
		}
	}
	return l.ended, nil
}

// Total is how many URLs it holds.
func (l *Ledger) Total(ctx context.Context) (total int64, err error) {
	ended, err := l.Ended(ctx)
	for _, n := range ended {
		total += n
	}
	return total, err
}

// pageSize is how many URLs are in memory at a time; fewer if their pages have texts, see
// [store.Query].
const pageSize = 2000

// Each implements [output.Ledger]. Settled URLs stay listed, so that as many as were
// counted are always found, even if others end while the crawl runs.
func (l *Ledger) Each(ctx context.Context, e output.Ending, yield func(*visit.Visit) error) error {
	ended, err := l.Ended(ctx)
	if err != nil {
		return err
	}
	left := ended[e]
	if l.Strict {
		left = math.MaxInt64
	}
	q := store.Query{Job: l.Job, Outcome: e.Outcome, Reason: e.Reason, Texts: true, Links: l.Links, Max: pageSize}
	var bare visit.Visit // of URLs that ended without one
	for left > 0 {
		page, err := l.Reader.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Entries[:min(int64(len(page.Entries)), left)] {
			x := &page.Entries[i]
			v := x.Visit
			if v == nil {
				bare = visit.Visit{Item: x.Item, Outcome: x.Outcome, Reason: x.Reason}
				v = &bare
			}
			if err := yield(v); err != nil {
				return err
			}
			left--
			if l.Seen != nil {
				l.Seen()
			}
		}
		if page.Next == "" {
			return nil
		}
		q.After = page.Next
	}
	return nil
}

// Finish completes the files of writers and closes them all. After an error incomplete
// files do not appear.
func Finish(ctx context.Context, l *Ledger, writers []output.Writer) (err error) {
	for _, w := range writers {
		if f, ok := w.(output.Finisher); ok && err == nil {
			l.Links = output.ReadsLinks(w)
			err = f.Finish(ctx, l)
		}
		err = errors.Join(err, w.Close())
	}
	return err
}
