package headway

import (
	"context"
	"time"

	"headway/internal/ownership"
	"headway/store"
)

// newLease is the lease of this process, which was renewed at a time.
func (c *crawler) newLease(sent time.Time) *ownership.Lease {
	cfg := ownership.LeaseConfig{
		Terms: c.cfg.Terms, Resumes: c.alone, Lost: c.loader.goOn, Asked: c.meter.Stored, End: func(cause error) { c.stopWork(cause) },
		Renew: func(ctx context.Context) ([]string, error) {
			if err := c.st.Renew(ctx, c.worker); err != nil {
				return nil, err
			}
			return c.loader.keep(ctx)
		},
		Fail: func(err error) { c.loop.Post(func(time.Time) { c.loop.Fail(err) }) },
	}
	if f, ok := c.cfg.Fetcher.(interface{ Sever() }); ok {
		cfg.Sever = f.Sever
	}
	return ownership.NewLease(cfg, sent)
}

// keep shows other processes that this one runs, and tells what was taken from it.
func (ld *loader) keep(ctx context.Context) (lost []string, err error) {
	if shared, ok := ld.st.(store.Domains); ok {
		lost, err = shared.Keep(ctx)
	}
	return lost, err
}

// goOn takes domains off the schedule that others took while the process was stopped, as
// if they had asked for them.
func (ld *loader) goOn(silent time.Duration, lost []string, then func()) {
	ld.loop.Post(func(now time.Time) {
		ld.cfg.Log.Warn("this process was stopped and goes on with new connections", "for", silent.Round(time.Second).String(), "domains_taken_by_others", len(lost))
		for _, d := range lost {
			if ld.domains.Give(d) {
				ld.f.Yield(now, d)
			}
		}
		then()
	})
}
