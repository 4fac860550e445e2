package headway

import (
	"context"
	"fmt"

	"headway/ask"
	"headway/gauge"
	"headway/internal/control"
	"headway/internal/engine"
	"headway/internal/jobrun"
	"headway/job"
	"headway/store"
)

// Crawl is one run over seeds, on one machine. Make one with [New] and call
// [Crawl.Run] once.
type Crawl struct{ engine *engine.Crawl }

// Report is how a crawl ended.
type Report = gauge.Report

// Progress is how a crawl stands.
type Progress = gauge.Progress

// Reasons of an end that programs look for.
const (
	DiscoveryStopped = jobrun.DiscoveryStopped // partial: it was told to follow no further links
	NothingInScope   = jobrun.NothingInScope   // failed: no URL that it saw belongs to it
	Disk             = jobrun.Disk             // partial: there is no room on the disk
)

// New returns a crawl that is ready to run.
func New(w Worker, j Job) (*Crawl, error) {
	w, j, err := prepare(w, j)
	if err != nil {
		return nil, fmt.Errorf("crawl: %w", err)
	}
	c, err := engine.New(w.engine(), j.engine())
	if err != nil {
		return nil, err
	}
	return &Crawl{c}, nil
}

// Run crawls until nothing is left, a limit is met, or it is told to stop, and
// reports how it ended. The error is the crawler's own: it could not do its
// work. What was committed until then is kept, and the crawl can be resumed.
func Run(ctx context.Context, w Worker, j Job) (Report, error) {
	c, err := New(w, j)
	if err != nil {
		return Report{}, err
	}
	return c.Run(ctx)
}

// Run is [Run].
func (c *Crawl) Run(ctx context.Context) (Report, error) { return c.engine.Run(ctx) }

// Progress returns how the crawl stands, as of a moment ago; nil before it has
// begun. It may be called from any goroutine.
func (c *Crawl) Progress() *Progress { return c.engine.Progress() }

// Renewal is what a crawl that has ended, or was interrupted, has to do because more
// is asked of it than before.
type Renewal struct {
	Seeds   int   // new ones
	Revived int   // URLs that were skipped, and belong to the crawl now
	Lost    int64 // URLs out of scope whose address was not kept: see [store.MaxAside]
}

// Any tells whether there is anything to do.
func (r Renewal) Any() bool { return r.Seeds+r.Revived > 0 }

// Renew adds what a crawl that has ended is asked for anew: seeds it has not seen and,
// with [Job.Widened], URLs that were skipped because they did not belong to it. The
// job stays in the state it is in: queue it if there is anything to do.
func Renew(ctx context.Context, w Worker, j Job, id job.ID) (Renewal, error) {
	c, err := New(w, j)
	if err != nil {
		return Renewal{}, err
	}
	r, err := c.engine.Renew(ctx, id)
	return Renewal(r), err
}

// Errors of [OrderAtRest].
var (
	ErrHostUnknown = control.ErrHostUnknown
	ErrHostTaken   = control.ErrHostTaken
)

// OrderAtRest applies an order to what is kept of a host while no crawl works on it: the
// next one to load the host follows it. The error is [ErrHostUnknown] for a host that no
// crawl has met, and [ErrHostTaken] while a crawl does not release its domain.
func OrderAtRest(ctx context.Context, st store.Store, q ask.Question) (ask.Change, error) {
	return control.OrderAtRest(ctx, st, q)
}
