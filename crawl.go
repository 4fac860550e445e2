package headway

import (
	"context"
	"errors"
	"fmt"
	"io"

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
type Crawl struct {
	engine *engine.Crawl
	bodies io.Closer
}

// Report says how a crawl ended.
type Report = gauge.Report

// Progress is a snapshot of a running crawl.
type Progress = gauge.Progress

// Reasons of an end that programs look for.
const (
	DiscoveryStopped = jobrun.DiscoveryStopped // partial: an operator stopped discovery
	NothingInScope   = jobrun.NothingInScope   // failed: no URL that it saw is in scope
	Disk             = jobrun.Disk             // partial: the disk is full
)

// New returns a crawl that is ready to run.
func New(w Worker, j Job) (*Crawl, error) {
	w, j, err := prepare(w, j)
	if err != nil {
		return nil, fmt.Errorf("crawl: %w", err)
	}
	bodies := w.takeBodies()
	c, err := engine.New(w.engine(), j.engine())
	if err != nil {
		return nil, err
	}
	return &Crawl{c, bodies}, nil
}

// Run crawls until no URLs are left, a limit is reached or it is stopped, and reports how
// it ended. The error is a failure of the crawler itself. Everything committed before is
// kept, and the crawl can be resumed.
func Run(ctx context.Context, w Worker, j Job) (Report, error) {
	c, err := New(w, j)
	if err != nil {
		return Report{}, err
	}
	return c.Run(ctx)
}

// Run is [Run].
func (c *Crawl) Run(ctx context.Context) (Report, error) {
	r, err := c.engine.Run(ctx)
	if closed := c.bodies.Close(); closed != nil {
		err = errors.Join(err, closed)
	}
	return r, err
}

// Progress returns a recent snapshot of the crawl; nil before it starts. It may be called
// from any goroutine.
func (c *Crawl) Progress() *Progress { return c.engine.Progress() }

// Renewal is the work added to a finished or interrupted crawl.
type Renewal struct {
	Seeds   int   // new ones
	Revived int   // skipped URLs that are in scope now
	Lost    int64 // URLs out of scope whose address was not kept: see [store.MaxAside]
}

// Any reports whether there is anything to do.
func (r Renewal) Any() bool { return r.Seeds+r.Revived > 0 }

// Renew adds work to a finished crawl: seeds it has not seen and, with [Job.Widened],
// skipped URLs that are in scope now. The job's state does not change: queue it if there is
// anything to do.
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

// OrderAtRest applies an order to the stored state of a host that no crawl is using: the
// next crawl that loads the host follows it. The error is [ErrHostUnknown] if no crawl has
// seen the host, and [ErrHostTaken] if a crawl does not release its domain.
func OrderAtRest(ctx context.Context, st store.Store, q ask.Question) (ask.Change, error) {
	return control.OrderAtRest(ctx, st, q)
}
