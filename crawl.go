package headway

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"headway/ask"
	"headway/internal/control"
	"headway/internal/jobrun"
	"headway/job"
	"headway/output"
	"headway/store"
	"headway/visit"
)

// Crawl is one run over seeds, on one machine. Make one with [New] and call
// [Crawl.Run] once.
type Crawl struct {
	c *crawler
	r *run
}

// New returns a crawl that is ready to run.
func New(w Worker, j Job) (*Crawl, error) {
	w, j, err := prepare(w, j)
	if err != nil {
		return nil, fmt.Errorf("crawl: %w", err)
	}
	c := newCrawler(w, true)
	r, err := newRun(c.base, w.OptedOut, j)
	if err != nil {
		return nil, err
	}
	c.jobs.only = r
	c.mode = &solo{base: c.base, jobs: c.jobs, queues: c.queues, r: r}
	return &Crawl{c, r}, nil
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
func (x *Crawl) Run(ctx context.Context) (Report, error) {
	x.c.loop.Begin()
	done, err := x.open(ctx)
	if err != nil || done {
		return x.r.report(context.WithoutCancel(ctx), err)
	}
	err = x.c.crawl(ctx)
	if left := x.leave(context.WithoutCancel(ctx)); err == nil {
		err = left
	}
	if noRoom(err) {
		// Nothing can be written, not even how it ended: what is stored is that of
		// a crawl to go on with, and what was not is asked for again.
		x.c.cfg.Log.Warn("the disk is full, so this is the end", "err", err)
		x.r.stop, err = &jobrun.End{State: job.Partial, Reason: Disk}, nil
	}
	return x.r.report(context.WithoutCancel(ctx), err)
}

// Disk is the reason of a crawl that is partial for want of room on the disk.
const Disk = "disk"

// noRoom tells whether an error is that the disk is full, whoever found out.
func noRoom(err error) bool {
	return errors.Is(err, store.ErrFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Progress returns how the crawl stands, as of a moment ago; nil before it has
// begun. It may be called from any goroutine.
func (x *Crawl) Progress() *Progress { return x.r.progress.Load() }

// open finds or makes the job and takes possession of the store.
func (x *Crawl) open(ctx context.Context) (done bool, err error) {
	now := x.c.loop.Now()
	job, err := x.r.Open(ctx, now)
	x.r.resumed, x.r.started, x.r.stop = job.Resumed, job.Started, job.Ended
	if err != nil || job.Ended != nil {
		return job.Ended != nil, err
	}
	if err := x.c.open(ctx, now, store.SlotCount); err != nil {
		return false, err
	}
	return false, x.c.begin(ctx, now, x.r)
}

// leave gives everything back cleanly and writes how the job ended.
func (x *Crawl) leave(ctx context.Context) error {
	c, r := x.c, x.r
	if c.loop.Err() != nil {
		return c.pool.CloseJournal()
	}
	now := c.loop.Now()
	errs := []error{c.giveBack(ctx, now), r.record(ctx)}
	// The files are finished before the job ends, so that a crawl that is
	// killed between the two finishes them again.
	if r.stop.State != "" {
		if err := c.finish(ctx, r.ID); err != nil {
			errs = append(errs, err)
		} else if err := c.st.SetState(ctx, now, r.ID, job.Running, r.stop.State, r.stop.Reason); err != nil {
			errs = append(errs, fmt.Errorf("end the job: %w", err))
		}
	}
	return errors.Join(append(errs, c.leave(ctx))...)
}

// finish completes the files people asked for.
func (c *crawler) finish(ctx context.Context, id job.ID) error {
	for _, w := range c.cfg.Outputs {
		if f, ok := w.(output.Finisher); ok {
			if err := f.Finish(ctx, ledger{c.st, id}); err != nil {
				return fmt.Errorf("finish output: %w", err)
			}
		}
	}
	return nil
}

// ledger is the store as outputs see it.
type ledger struct {
	st  store.Store
	job job.ID
}

// Ended implements [output.Ledger].
func (l ledger) Ended(ctx context.Context) (map[output.Ending]int64, error) {
	counts, err := l.st.Counts(ctx, l.job)
	if err != nil {
		return nil, err
	}
	ended := map[output.Ending]int64{}
	for e, n := range counts.Ended {
		if e.Reason != visit.OutOfScope {
			ended[output.Ending(e)] = n
		}
	}
	return ended, nil
}

// Each implements [output.Ledger].
func (l ledger) Each(ctx context.Context, e output.Ending, yield func(*visit.Visit) error) error {
	q := store.Query{Job: l.job, Outcome: e.Outcome, Reason: e.Reason, Max: store.MaxPage}
	for {
		page, err := l.st.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Entries {
			x := &page.Entries[i]
			v := x.Visit
			if v == nil {
				v = &visit.Visit{Item: x.Item, Outcome: x.Outcome, Reason: x.Reason}
			}
			if err := yield(v); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		q.After = page.Next
	}
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
