package output

import (
	"context"
	"time"

	"headway/visit"
)

// Writer writes the visits of one crawl. It is used by one goroutine.
type Writer interface {
	// Write writes a visit that ended its URL, once per URL and after its commit was
	// acknowledged. It may buffer the visit's bytes, but not keep v. It may block on
	// the disk or the network. After an error the writer is broken: every further
	// call returns that error.
	Write(ctx context.Context, v *visit.Visit) error
	// Close closes the writer and leaves its files in a state in which the crawl can
	// be resumed. After Finish it does nothing.
	Close() error
}

// Flusher is a Writer with a buffer.
type Flusher interface {
	// Flush passes everything written so far to the operating system, where it
	// survives the end of the process.
	Flush() error
}

// Finisher is a Writer of files, which appear when the crawl has ended.
type Finisher interface {
	// Finish adds what is missing in the file from the ledger, makes the file durable
	// and renames it to its final name. It may take long. If it is interrupted or
	// killed, a resuming writer repeats it. Only Close may follow.
	Finish(ctx context.Context, l Ledger) error
}

// LinkReader is a Writer or Draft that may need the links of pages. A Writer that does not
// implement it is given the links of each page.
type LinkReader interface {
	// ReadsLinks reports whether it reads the links of visits, and the ledger must have
	// those that the crawl kept.
	ReadsLinks() bool
}

// ReadsLinks reports whether a Writer or Draft needs the links of pages.
func ReadsLinks(w any) bool {
	r, ok := w.(LinkReader)
	return ok && r.ReadsLinks()
}

// Ledger is the authoritative list a file is compared with: all URLs of a crawl that ended,
// except out-of-scope ones. It must not change while it is read.
type Ledger interface {
	// Ended counts the URLs by how they ended.
	Ended(ctx context.Context) (map[Ending]int64, error)
	// Each calls yield once for each URL that ended this way, in any order, until it
	// returns an error, and returns that error. A URL that ended without a visit is
	// passed as one with only its item and ending. Links are included if the crawl kept
	// them and the writer is a [LinkReader].
	Each(ctx context.Context, e Ending, yield func(*visit.Visit) error) error
}

// Ending is how a URL ended.
type Ending struct {
	Outcome visit.Outcome
	Reason  visit.Reason
}

// EndingOf returns how the URL of a visit ended.
func EndingOf(v *visit.Visit) Ending { return Ending{v.Outcome, v.Reason} }

// Settled reports whether an ending is final; a later link or an extended job may turn the
// others back to pending. Only settled URLs are written while the crawl runs.
func (e Ending) Settled() bool {
	return e.Outcome != visit.Pending && e.Outcome != visit.Deferred && !e.Reason.Provisional()
}

// FlushEvery is the maximum time a line stays in a buffer.
const FlushEvery = time.Second

// Run passes visits to the writers in order until in is closed, and flushes them every
// FlushEvery and at the end. It returns the first error, or the cause of ctx; after that
// nothing reads from in, so senders must stop when ctx ends. It closes no writer.
func Run(ctx context.Context, in <-chan []visit.Visit, writers ...Writer) error {
	tick := time.NewTicker(FlushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
			if err := flush(writers); err != nil {
				return err
			}
		case batch, ok := <-in:
			if !ok {
				return flush(writers)
			}
			for i := range batch {
				for _, w := range writers {
					if err := w.Write(ctx, &batch[i]); err != nil {
						return err
					}
				}
			}
		}
	}
}

func flush(writers []Writer) error {
	for _, w := range writers {
		if f, ok := w.(Flusher); ok {
			if err := f.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}
