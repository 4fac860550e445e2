package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"headway/ask"
	"headway/frontier"
	"headway/gauge"
	"headway/internal/control"
	"headway/internal/loop"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// slowestEvery is how often the slowest hosts are determined, which scans all hosts. Up to
// fewHosts they are determined each time.
const (
	slowestEvery = 2 * time.Second
	fewHosts     = 1000
)

// slowHosts are the slowest hosts as of a time.
type slowHosts struct {
	at   time.Time
	list []ask.Host
}

func (r *run) slowest(now time.Time) []ask.Host {
	if now.Sub(r.slow.at) >= slowestEvery || r.f.Stats().Hosts <= fewHosts {
		views := r.f.Slowest(control.MaxSlowest)
		list := make([]ask.Host, len(views))
		for i := range views {
			list[i] = control.DescribeHost(&views[i])
		}
		r.slow = slowHosts{now, list}
	}
	return r.slow.list
}

// publish updates the progress snapshot.
func (r *run) publish(now time.Time, layers []gauge.Layer) {
	commits := r.commits.Stats()
	p := &gauge.Progress{
		At: now, Elapsed: now.Sub(r.loop.Began().Round(0)), Counts: r.counts, Spent: r.budget.Spent(), Rate: r.tally.Rate(now),
		Frontier: r.f.Stats(), Shares: r.f.Account().Shares(now), Slowest: r.slowest(now), Warnings: r.tally.Warnings,
		Ceilings: r.cfg.Limits.Ceilings(), Resumed: r.resumed, Before: r.tally.Before, AtLeast: r.tally.AtLeast, Commits: commits.N, CommitTime: commits.Time, LastCommit: commits.Last, Layers: layers,
	}
	if r.stop != nil {
		p.Stopping = r.stop.Reason
	}
	r.progress.Store(p)
}

// count reads the counts of URLs, one query at a time.
func (r *run) count(ctx context.Context, now time.Time) {
	if r.counting {
		return
	}
	r.counting = true
	st, id := r.st, r.ID
	loop.Once(ctx, r.loop, func(ctx context.Context) (store.Counts, error) {
		return st.Counts(ctx, id)
	}, func(_ time.Time, counts store.Counts, err error) {
		if r.counting = false; err != nil {
			r.loop.FailUnless(ctx, fmt.Errorf("read counts: %w", err))
			return
		}
		r.counts = counts
	})
}

// endSpan returns the point of a span that has ended, or of part of it if the limits of the
// job need it sooner, if it is not empty.
func (r *run) endSpan(now time.Time) (store.Point, bool) {
	p, ended := r.series.Next(now, func() store.Point { return r.point(now) })
	if r.storesUsage(now) && !ended {
		p, ended = r.point(now), true
	}
	return p, ended && (!r.shared || p.Requests > 0 || len(p.Ended) > 0 || p.Ran > 0)
}

// point returns what happened since the last one.
func (r *run) point(now time.Time) store.Point {
	p := r.series.Point(now, r.ID, &r.tally)
	if r.shared { // only this worker's part; host time is not split by job
		if !r.owns(r.home) || r.state != job.Running {
			p.Ran = 0
			return p
		}
		p.Waiting = r.counts.Waiting
		return p
	}
	stats := r.f.Stats()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	p.Waits = map[visit.Wait]time.Duration{}
	p.Waiting, p.Hosts, p.InFlight, p.Memory = r.counts.Waiting, int64(stats.Hosts), int64(stats.InFlight), int64(mem.Sys-mem.HeapReleased)
	if r.shares == nil {
		r.shares = map[frontier.State]time.Duration{}
	}
	for _, s := range r.f.Account().Shares(now) {
		spent := s.Spent - r.shares[s.State]
		r.shares[s.State] = s.Spent
		if s.State == frontier.Fetching {
			p.Fetching = spent
		} else if spent > 0 {
			p.Waits[visit.Wait(s.State.String())] = spent
		}
	}
	return p
}

// record stores the last point at the end of a run.
func (r *run) record(ctx context.Context) error {
	if err := r.st.Record(ctx, []store.Point{r.point(r.loop.Now())}); err != nil {
		return fmt.Errorf("record the time series: %w", err)
	}
	return nil
}

// report says how the crawl ended.
func (r *run) report(ctx context.Context, failed error) (gauge.Report, error) {
	out := gauge.Report{Job: r.ID, Resumed: r.resumed, Elapsed: time.Since(r.loop.Began()), State: job.Running, Warnings: r.tally.Warnings, Incidents: r.tally.Incidents, Refusals: r.tally.Refusals}
	if r.ID == 0 {
		return out, failed
	}
	counts, err := r.Counts(ctx)
	if err != nil {
		return out, errors.Join(failed, err)
	}
	out.Counts = counts
	out.Requests, out.Pages = r.tally.Use.Requests, r.tally.Use.Pages
	if r.budget != nil {
		out.Spent = r.budget.Spent()
	}
	if r.f != nil {
		out.Shares = r.f.Account().Shares(r.loop.Now())
	}
	if r.stop != nil {
		out.State, out.Reason = r.stop.State, r.stop.Reason
		out.Again = r.f == nil
		if out.State == "" {
			out.State = job.Running
		}
		if r.stop.Limit != nil {
			out.Errors = append(out.Errors, r.stop.Limit.Error())
		}
		if out.State == job.Partial {
			if l := r.cfg.Limits.Of(limit.Name(out.Reason)); l.Limited() {
				out.Limit = &l
			}
		}
		out.Success = out.State.Success() && !r.stop.Timeout
	}
	return out, failed
}
