package headway

import (
	"context"
	"fmt"
	"time"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// told is a warning that was told.
type told struct {
	limit   limit.Name
	max     int64
	percent int
}

// overLimit holds a job of a fleet against its limits: it tells those that come
// near, and returns the one that is met, if any. Known is what the loop knows to be
// spent.
func (r *run) overLimit(ctx context.Context, counts *store.Counts, known limit.Use) (*limit.ExceededError, error) {
	spent := limit.Use{Pages: counts.Pages(), Time: known.Time, Hosts: known.Hosts}
	if r.cfg.Limits.Of(limit.Requests).Limited() || r.cfg.Limits.Of(limit.Bytes).Limited() {
		list, err := r.c.st.Points(ctx, r.job)
		if err != nil {
			return nil, fmt.Errorf("read time series: %w", err)
		}
		for i := range list {
			spent.Requests += list[i].Requests
			spent.Bytes += list[i].Bytes
		}
	}
	if most := r.cfg.Limits.Of(limit.Hosts); most.Limited() && !most.Reached(known.Hosts) {
		t, _, err := r.take(ctx, nil)
		if err != nil {
			return nil, err
		}
		spent.Hosts = t.N
	}
	b := limit.NewBudget(r.cfg.Limits, r.c.loop.Now(), limit.Use{})
	b.Observe(r.c.loop.Now(), spent)
	near, over := b.Warnings(), b.Exceeded()
	if r.metered {
		// Others of the tenant share the quota.
		quota, err := r.c.fleet.queue.Quota(ctx, r.c.loop.Now(), r.tenant)
		if err != nil {
			return nil, err
		}
		month, met := quota.Month()
		near = append(near, month...)
		if over == nil && met != "" {
			// A page that came between the two readings is in the quota only.
			again, err := r.c.st.Counts(ctx, r.job)
			if err != nil {
				return nil, fmt.Errorf("count URLs: %w", err)
			}
			spent.Pages = again.Pages()
			over = r.cfg.Limits.UsedUp(met, spent.Of(met))
		}
	}
	return over, r.warn(ctx, near)
}

// warn tells what comes near: each mark of each ceiling once in the whole fleet.
func (r *run) warn(ctx context.Context, near []limit.Warning) error {
	for _, highest := range near {
		for _, w := range highest.Passed() {
			key := told{w.Limit, w.Max, w.Percent}
			if r.told[key] {
				continue
			}
			first, err := r.c.fleet.queue.Note(ctx, store.NoticeOf(r.job, r.c.loop.Now(), w))
			if err != nil {
				return err
			}
			if r.told[key] = true; first {
				r.c.cfg.Log.Warn("a limit comes near", "job", r.job, "limit", w.String())
			}
		}
	}
	return nil
}

// stopInTime starts nothing more for jobs whose time is up, whoever is to end them and
// whether he lives, and gives up what is in flight of them a moment later.
func (c *crawler) stopInTime(now time.Time) {
	c.upAt = time.Time{}
	for _, r := range c.runs {
		at, ok := r.budget.Deadline()
		switch {
		case !ok || r.state != job.Running:
		case now.Before(at):
			c.upAt = earliest(c.upAt, at)
		default:
			c.f.StopJob(now, r.job)
			if r.cancel != nil && !now.Before(at.Add(graceful)) {
				r.cancel(errEnded)
			}
		}
	}
}

// earliest is the earlier of two moments; zero is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// stoppedByLimit is the state that a limit brings to a job with work left, if it is
// met: what is in flight has a moment. The page limit leaves nothing in flight.
func (r *run) stoppedByLimit(ctx context.Context, counts *store.Counts, known limit.Use) (*Stop, error) {
	over, err := r.overLimit(ctx, counts, known)
	if err != nil || over == nil {
		return nil, err
	}
	if _, err := r.c.fleet.queue.Note(ctx, store.StopOf(r.job, r.c.loop.Now(), over)); err != nil {
		return nil, err
	}
	r.c.cfg.Log.Info("stopped by a limit", "job", r.job, "limit", over.Error())
	end := stopFor(over)
	if over.Limit != limit.Pages || over.Layer == limit.Usage {
		end.State = job.Draining
	}
	return end, nil
}
