package engine

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"headway/gauge"
	"headway/internal/jobrun"
	"headway/internal/result"
	"headway/job"
	"headway/output"
	"headway/store"
)

// Crawl is one run over seeds, on one machine. Make one with [New] and call
// [Crawl.Run] once.
type Crawl struct {
	c *crawler
	r *run
}

// New returns a crawl that is ready to run.
func New(w Worker, j Job) (*Crawl, error) {
	c := newCrawler(w, true)
	r, err := newRun(c.base, w.OptedOut, j)
	if err != nil {
		return nil, err
	}
	c.jobs.only, c.read.sitemaps = r, j.Sitemaps
	c.mode = &solo{base: c.base, queues: c.queues, r: r}
	return &Crawl{c, r}, nil
}

// Run crawls until no URLs are left, a limit is reached or it is stopped, and reports how
// it ended.
func (x *Crawl) Run(ctx context.Context) (gauge.Report, error) {
	x.c.loop.Begin()
	done, err := x.open(ctx)
	if err != nil || done {
		return x.r.report(context.WithoutCancel(ctx), err)
	}
	err = x.c.crawl(ctx)
	if left := x.leave(context.WithoutCancel(ctx)); err == nil {
		err = left
	}
	if isDiskFull(err) {
		// Nothing can be written, not even the end of the job. The stored crawl can be
		// resumed, and what was not stored is requested again.
		x.c.cfg.Log.Warn("disk full, ending the crawl", "err", err)
		x.r.stop, err = &jobrun.End{State: job.Partial, Reason: jobrun.Disk}, nil
	}
	return x.r.report(context.WithoutCancel(ctx), err)
}

// isDiskFull reports whether an error of the store or an output says that the disk is full.
func isDiskFull(err error) bool {
	return errors.Is(err, store.ErrFull) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Progress returns a recent snapshot of the crawl; nil before it starts. It may be called
// from any goroutine.
func (x *Crawl) Progress() *gauge.Progress { return x.r.progress.Load() }

// Sites is how many hosts are still in memory after the crawl has ended.
func (x *Crawl) Sites() int { return len(x.c.sites) }

// Renew adds work to a finished crawl: seeds it has not seen and, with [Job.Widened], URLs
// that were skipped as out of scope and are in scope now.
func (x *Crawl) Renew(ctx context.Context, id job.ID) (jobrun.Renewal, error) {
	x.c.loop.Begin()
	x.r.ID = id
	if err := x.r.RestoreScope(ctx); err != nil {
		return jobrun.Renewal{}, err
	}
	return x.r.Stored.Renew(ctx, x.c.loop.Now())
}

// open finds or creates the job and joins the store.
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

// leave releases everything and stores how the job ended.
func (x *Crawl) leave(ctx context.Context) error {
	c, r := x.c, x.r
	if c.loop.Err() != nil {
		return c.pool.CloseJournal()
	}
	now := c.loop.Now()
	errs := []error{c.giveBack(ctx, now), r.record(ctx)}
	// The files are finished before the job ends, so that a crawl killed in between
	// finishes them again.
	if r.stop.State != "" {
		if err := c.finish(ctx, r.ID); err != nil {
			errs = append(errs, err)
		} else if err := c.st.SetState(ctx, now, r.ID, job.Running, r.stop.State, r.stop.Reason); err != nil {
			errs = append(errs, fmt.Errorf("end the job: %w", err))
		}
	}
	return errors.Join(append(errs, c.leave(ctx))...)
}

// finish completes the output files.
func (c *crawler) finish(ctx context.Context, id job.ID) error {
	l := &result.Ledger{Reader: c.st, Job: id, Strict: true}
	for _, w := range c.cfg.Outputs {
		if f, ok := w.(output.Finisher); ok {
			l.Links = output.ReadsLinks(w)
			if err := f.Finish(ctx, l); err != nil {
				return fmt.Errorf("finish output: %w", err)
			}
		}
	}
	return nil
}
