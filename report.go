package headway

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"headway/ask"
	"headway/frontier"
	"headway/gauge"
	"headway/internal/control"
	"headway/internal/jobrun"
	"headway/internal/loop"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// Reasons of an end that programs look for.
const (
	DiscoveryStopped = jobrun.DiscoveryStopped // partial: it was told to follow no further links
	NothingInScope   = jobrun.NothingInScope   // failed: no URL that it saw belongs to it
)

// Report is how a crawl ended. It adds up: Counts.Seen is the sum of all
// outcomes.
type Report struct {
	Job     job.ID
	State   job.State // how it ended; running when it can be resumed
	Reason  string    // for people
	Success bool      // false for timeout, blocked, failed, cancelled
	Resumed bool      // it went on with an earlier run
	Again   bool      // it had ended before, and nothing was done
	Errors  []string  // limits that stopped it
	// Limit is the one that stopped it with work left; nil for none.
	Limit *limit.Ceiling

	Counts    store.Counts
	Spent     limit.Use     // all runs together
	Elapsed   time.Duration // this run
	Shares    []frontier.Share
	Requests  int64 // this run
	Pages     int64 // this run
	Incidents int64
	Refusals  int64 // answers of this run that said not now: 429, 503
	Warnings  []string
}

// Progress is how a crawl stands.
type Progress struct {
	At         time.Time
	Elapsed    time.Duration
	Counts     store.Counts // a moment old
	Spent      limit.Use
	Rate       float64 // pages per second, lately
	Frontier   frontier.Stats
	Shares     []frontier.Share // host-seconds so far
	Slowest    []ask.Host
	Resumed    bool      // it goes on with an earlier run
	Before     limit.Use // what earlier runs have spent
	AtLeast    bool      // one of them was killed, so that it may be more requests than that
	Warnings   []string
	Ceilings   []limit.Ceiling
	Stopping   string // why nothing more is sent
	Layers     []gauge.Layer
	Commits    int64
	CommitTime time.Duration // in all
	LastCommit time.Duration
}

// slowestEvery is how often the slowest hosts are looked for: that takes a look
// at all of them. So few as fewHosts are looked at each time.
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

// publish makes the progress known, with how the layers stand.
func (r *run) publish(now time.Time, layers []gauge.Layer) {
	commits := r.commits.Stats()
	p := &Progress{
		At: now, Elapsed: now.Sub(r.loop.Began().Round(0)), Counts: r.counts, Spent: r.budget.Spent(), Rate: r.tally.Rate(now),
		Frontier: r.f.Stats(), Shares: r.f.Account().Shares(now), Slowest: r.slowest(now), Warnings: r.tally.Warnings,
		Ceilings: r.cfg.Limits.Ceilings(), Resumed: r.resumed, Before: r.tally.Before, AtLeast: r.tally.AtLeast, Commits: commits.N, CommitTime: commits.Time, LastCommit: commits.Last, Layers: layers,
	}
	if r.stop != nil {
		p.Stopping = r.stop.Reason
	}
	r.progress.Store(p)
}

// count reads how the URLs stand, one question at a time.
func (r *run) count(ctx context.Context, now time.Time) {
	if r.counting {
		return
	}
	r.counting = true
	st := r.st
	loop.Once(ctx, r.loop, func(ctx context.Context) (store.Counts, error) {
		return st.Counts(ctx, r.ID)
	}, func(_ time.Time, counts store.Counts, err error) {
		if r.counting = false; err != nil {
			r.loop.FailUnless(ctx, fmt.Errorf("read counts: %w", err))
			return
		}
		r.counts = counts
	})
}

// pointsAtOnce bounds the points that are written together: whoever writes one of a
// job makes others wait who do.
const pointsAtOnce = 50

// recordPoints writes the time series of the runs whose span has ended.
func (js *jobs) recordPoints(ctx context.Context, now time.Time) {
	var list []store.Point
	for _, r := range js.runs {
		if p, ok := r.endSpan(now); ok {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return
	}
	js.loop.Go(func() {
		for some := range slices.Chunk(list, pointsAtOnce) {
			if err := js.loop.Retry(ctx, func() error { return js.st.Record(ctx, some) }); err != nil {
				js.loop.Post(func(time.Time) { js.loop.FailUnless(ctx, fmt.Errorf("record the time series: %w", err)) })
				return
			}
		}
	})
}

// endSpan is the point of a span that has ended, if there is anything to tell.
func (r *run) endSpan(now time.Time) (store.Point, bool) {
	p, ended := r.series.Next(now, func() store.Point { return r.point(now) })
	return p, ended && (!r.shared || p.Requests > 0 || len(p.Ended) > 0 || p.Ran > 0)
}

// point is what happened since the last one.
func (r *run) point(now time.Time) store.Point {
	p := r.series.Point(now, r.ID, &r.tally)
	if r.shared { // a worker's part of it. Host time is not told apart by job.
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

// record writes what happened since the last point at the end of a run.
func (r *run) record(ctx context.Context) error {
	if err := r.st.Record(ctx, []store.Point{r.point(r.loop.Now())}); err != nil {
		return fmt.Errorf("record the time series: %w", err)
	}
	return nil
}

// report says how the crawl ended.
func (r *run) report(ctx context.Context, failed error) (Report, error) {
	out := Report{Job: r.ID, Resumed: r.resumed, Elapsed: time.Since(r.loop.Began()), State: job.Running, Warnings: r.tally.Warnings, Incidents: r.tally.Incidents, Refusals: r.tally.Refusals}
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
