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
	"headway/internal/jobrun"
	"headway/internal/loop"
	"headway/job"
	"headway/limit"
	"headway/politeness"
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

// tally counts what this run did.
type tally struct {
	before    limit.Use
	atLeast   bool  // of requests before
	largest   int64 // page so far, as sent
	use       limit.Use
	incidents int64
	refusals  int64
	warnings  []string
	outcomes  map[visit.Outcome]int64 // since the last point
	slowest   []ask.Host
	slowestAt time.Time
	rates     []sample
}

// sample is a count of pages at a time.
type sample struct {
	at    time.Time
	pages int64
}

// rateOver is how far back the rate looks.
const rateOver = 10 * time.Second

func (t *tally) add(u limit.Use) {
	t.use.Pages += u.Pages
	t.use.Requests += u.Requests
	t.use.Bytes += u.Bytes
}

func (t *tally) ended(v *visit.Visit) {
	if t.outcomes == nil {
		t.outcomes = map[visit.Outcome]int64{}
	}
	t.outcomes[v.Outcome]++
	t.attempted(v)
}

// attempted counts what was answered, also where it is asked again.
func (t *tally) attempted(v *visit.Visit) {
	if politeness.IsRefusal(v.Answer.Status) {
		t.refusals++
	}
}

// rate is how many pages a second there were lately.
func (t *tally) rate(now time.Time) float64 {
	t.rates = append(t.rates, sample{now, t.use.Pages})
	for len(t.rates) > 2 && now.Sub(t.rates[0].at) > rateOver {
		t.rates = t.rates[1:]
	}
	first := t.rates[0]
	if span := now.Sub(first.at); span > 0 {
		return float64(t.use.Pages-first.pages) / span.Seconds()
	}
	return 0
}

// slowest is how many hosts progress names.
const slowest = 8

// slowestEvery is how often the slowest hosts are looked for: that takes a look
// at all of them. So few as fewHosts are looked at each time.
const (
	slowestEvery = 2 * time.Second
	fewHosts     = 1000
)

func (r *run) slowest(now time.Time) []ask.Host {
	if now.Sub(r.tally.slowestAt) >= slowestEvery || r.c.f.Stats().Hosts <= fewHosts {
		views := r.c.f.Slowest(slowest)
		list := make([]ask.Host, len(views))
		for i := range views {
			list[i] = describe(&views[i])
		}
		r.tally.slowestAt, r.tally.slowest = now, list
	}
	return r.tally.slowest
}

// publish makes the progress known.
func (r *run) publish(now time.Time) {
	commits := r.c.commits.Stats()
	p := &Progress{
		At: now, Elapsed: now.Sub(r.c.loop.Began().Round(0)), Counts: r.counts, Spent: r.budget.Spent(), Rate: r.tally.rate(now),
		Frontier: r.c.f.Stats(), Shares: r.c.f.Account().Shares(now), Slowest: r.slowest(now), Warnings: r.tally.warnings,
		Ceilings: r.cfg.Limits.Ceilings(), Resumed: r.resumed, Before: r.tally.before, AtLeast: r.tally.atLeast, Commits: commits.N, CommitTime: commits.Time, LastCommit: commits.Last,
	}
	p.Layers = r.c.layers(now)
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
	st := r.c.st
	loop.Once(ctx, r.c.loop, func(ctx context.Context) (store.Counts, error) {
		return st.Counts(ctx, r.ID)
	}, func(_ time.Time, counts store.Counts, err error) {
		if r.counting = false; err != nil {
			r.c.loop.FailUnless(ctx, fmt.Errorf("read counts: %w", err))
			return
		}
		r.counts = counts
	})
}

// points is what was told to the time series.
type points struct {
	span   time.Time // the beginning of the span that runs
	at     time.Time // when the last point was made
	use    limit.Use // at its beginning
	shares map[frontier.State]time.Duration
}

// pointsAtOnce bounds the points that are written together: whoever writes one of a
// job makes others wait who do.
const pointsAtOnce = 50

// recordPoints writes the time series of the runs whose span has ended.
func (c *crawler) recordPoints(ctx context.Context, now time.Time) {
	var list []store.Point
	for _, r := range c.runs {
		if p, ok := r.endSpan(now); ok {
			list = append(list, p)
		}
	}
	if len(list) == 0 {
		return
	}
	c.loop.Go(func() {
		for some := range slices.Chunk(list, pointsAtOnce) {
			if err := c.loop.Retry(ctx, func() error { return c.st.Record(ctx, some) }); err != nil {
				c.loop.Post(func(time.Time) { c.loop.FailUnless(ctx, fmt.Errorf("record the time series: %w", err)) })
				return
			}
		}
	})
}

// endSpan is the point of a span that has ended, if there is anything to tell.
func (r *run) endSpan(now time.Time) (store.Point, bool) {
	start := store.SpanStart(now, store.MinSpan)
	if r.points.span.IsZero() {
		r.points.span = start
	}
	if start.Equal(r.points.span) {
		return store.Point{}, false
	}
	p := r.point(now)
	r.points.span = start
	return p, r == r.c.alone || p.Requests > 0 || len(p.Ended) > 0 || p.Ran > 0
}

// point is what happened since the last one.
func (r *run) point(now time.Time) store.Point {
	if r != r.c.alone {
		return r.share(now)
	}
	stats := r.c.f.Stats()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	p := store.Point{
		Job: r.ID, At: r.points.span, Span: store.MinSpan, Ended: r.tally.outcomes, Waits: map[visit.Wait]time.Duration{},
		Ran: now.Sub(r.points.at), Requests: r.tally.use.Requests - r.points.use.Requests, Bytes: r.tally.use.Bytes - r.points.use.Bytes,
		Waiting: r.counts.Waiting, Hosts: int64(stats.Hosts), InFlight: int64(stats.InFlight), Memory: int64(mem.Sys - mem.HeapReleased),
	}
	if r.points.shares == nil {
		r.points.shares = map[frontier.State]time.Duration{}
	}
	for _, s := range r.c.f.Account().Shares(now) {
		spent := s.Spent - r.points.shares[s.State]
		r.points.shares[s.State] = s.Spent
		if s.State == frontier.Fetching {
			p.Fetching = spent
		} else if spent > 0 {
			p.Waits[visit.Wait(s.State.String())] = spent
		}
	}
	r.points.use, r.points.at = r.tally.use, now
	r.tally.outcomes = nil
	return p
}

// share is a worker's part of what happened to a job since the last point. Host
// time is not told apart by job.
func (r *run) share(now time.Time) store.Point {
	p := store.Point{
		Job: r.ID, At: r.points.span, Span: store.MinSpan, Ended: r.tally.outcomes,
		Requests: r.tally.use.Requests - r.points.use.Requests, Bytes: r.tally.use.Bytes - r.points.use.Bytes,
	}
	if r.c.owns(r.home) && r.state == job.Running {
		p.Ran, p.Waiting = now.Sub(r.points.at), r.counts.Waiting
	}
	r.points.use, r.points.at = r.tally.use, now
	r.tally.outcomes = nil
	return p
}

// lastPoint is what happened since the last one at the end of a run.
func (r *run) lastPoint(now time.Time) store.Point {
	if r.points.span.IsZero() {
		r.points.span = store.SpanStart(now, store.MinSpan)
	}
	return r.point(now)
}

// record writes what happened since the last point at the end of a run.
func (r *run) record(ctx context.Context) error {
	if err := r.c.st.Record(ctx, []store.Point{r.lastPoint(r.c.loop.Now())}); err != nil {
		return fmt.Errorf("record the time series: %w", err)
	}
	return nil
}

// report says how the crawl ended.
func (r *run) report(ctx context.Context, failed error) (Report, error) {
	out := Report{Job: r.ID, Resumed: r.resumed, Elapsed: time.Since(r.c.loop.Began()), State: job.Running, Warnings: r.tally.warnings, Incidents: r.tally.incidents, Refusals: r.tally.refusals}
	if r.ID == 0 {
		return out, failed
	}
	counts, err := r.Counts(ctx)
	if err != nil {
		return out, errors.Join(failed, err)
	}
	out.Counts = counts
	out.Requests, out.Pages = r.tally.use.Requests, r.tally.use.Pages
	if r.budget != nil {
		out.Spent = r.budget.Spent()
	}
	if r.c.f != nil {
		out.Shares = r.c.f.Account().Shares(r.c.loop.Now())
	}
	if r.stop != nil {
		out.State, out.Reason = r.stop.State, r.stop.Reason
		out.Again = r.c.f == nil
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
