package export

import (
	"context"
	"errors"

	"headway/job"
	"headway/output"
	"headway/store"
	"headway/visit"
)

// Ledger is a crawl as outputs see it: [output.Ledger]. Of one that still runs it
// holds as many URLs as had ended when they were counted.
type Ledger struct {
	Reader  store.Reader
	Job     job.ID
	Running bool
	Seen    func() // is told of each URL; nil for nobody

	ended map[output.Ending]int64
}

// Ended counts once, so that it says the same each time.
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
		// What is not settled may wait again before it is read.
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

// pageSize is how many URLs are in memory at a time.
const pageSize = 2000

// Each implements [output.Ledger]. What was settled stays in the list, so that as
// many as were counted are always found, among others that ended since.
func (l *Ledger) Each(ctx context.Context, e output.Ending, yield func(*visit.Visit) error) error {
	left := l.ended[e]
	q := store.Query{Job: l.Job, Outcome: e.Outcome, Reason: e.Reason, Max: pageSize}
	for left > 0 {
		page, err := l.Reader.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Entries[:min(int64(len(page.Entries)), left)] {
			x := &page.Entries[i]
			v := x.Visit
			if v == nil {
				v = &visit.Visit{Item: x.Item, Outcome: x.Outcome, Reason: x.Reason}
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

// Finish makes the files of writers and closes them all. After an error those that
// are not whole do not appear.
func Finish(ctx context.Context, l *Ledger, writers []Writer) (err error) {
	for _, w := range writers {
		if err == nil {
			err = w.Finish(ctx, l)
		}
		err = errors.Join(err, w.Close())
	}
	return err
}
