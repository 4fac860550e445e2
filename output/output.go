package output

import (
	"context"
	"time"

	"headway/visit"
)

// Writer takes the visits of one crawl. It is used by one goroutine.
type Writer interface {
	// Write takes a visit that ended its URL, once per URL and after its commit
	// was acknowledged. It may keep the visit's bytes in a buffer, but not v. It
	// may block on the disk or the network. After an error the writer is
	// broken: it answers every further call with it.
	Write(ctx context.Context, v *visit.Visit) error
	// Close ends the use of the writer and leaves what it wrote in a state in
	// which the crawl can be resumed. After Finish it does nothing.
	Close() error
}

// Flusher is a Writer that keeps a buffer.
type Flusher interface {
	// Flush gives everything written so far to the operating system, where it
	// survives the end of the process.
	Flush() error
}

// Finisher is a Writer of files, which appear when the crawl has ended.
type Finisher interface {
	// Finish adds what the ledger has and the file has not, makes the file
	// durable and gives it its name. It may take long. Interrupted or killed, it
	// is done again by a writer that resumes. After it only Close is called.
	Finish(ctx context.Context, l Ledger) error
}

// Ledger is the truth a file is held against: all URLs of a crawl that ended,
// except those out of scope. It must not change while it is asked.
type Ledger interface {
	// Ended counts the URLs by how they ended.
	Ended(ctx context.Context) (map[Ending]int64, error)
	// Each calls yield once for each URL that ended this way, in any order,
	// until it returns an error, and returns that error. A URL that ended
	// without a visit is given as one with nothing but its item and ending;
	// links are not given.
	Each(ctx context.Context, e Ending, yield func(*visit.Visit) error) error
}

// Ending is how a URL ended.
type Ending struct {
	Outcome visit.Outcome
	Reason  visit.Reason
}

// EndingOf returns how the URL of a visit ended.
func EndingOf(v *visit.Visit) Ending { return Ending{v.Outcome, v.Reason} }

// Settled tells endings that stay from those that a later link or an extended
// job may turn back to waiting. Only settled URLs are written while the crawl
// runs.
func (e Ending) Settled() bool {
	return e.Outcome != visit.Pending && e.Outcome != visit.Deferred && !e.Reason.Provisional()
}

// FlushEvery is how long a line waits in a buffer at most.
const FlushEvery = time.Second

// Run hands visits to the writers in order until in is closed, and flushes them
// every FlushEvery and at the end. It returns the first error, or the cause of
// ctx: then nobody reads from in any more, and whoever sends must heed ctx,
// too. It closes no writer.
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
