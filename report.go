package headway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"headway/ask"
	"headway/frontier"
	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// Stop is why a crawl sends nothing more. Without a State it can be resumed.
type Stop struct {
	State   job.State
	Reason  string               // for people
	Limit   *limit.ExceededError // what stopped it, if a limit did
	timeout bool
}

// DiscoveryStopped is the reason of a crawl that is partial because it was told to
// follow no further links.
const DiscoveryStopped = "discovery was stopped"

// stopFor is the end that a limit brings, if work is left.
func stopFor(over *limit.ExceededError) *Stop {
	return &Stop{State: job.Partial, Reason: string(over.Limit), Limit: over, timeout: over.Timeout()}
}

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
	Warnings   []string
	Ceilings   []limit.Ceiling
	Stopping   string // why nothing more is sent
	Layers     []Layer
	Commits    int64
	CommitTime time.Duration // in all
	LastCommit time.Duration
}

// Progress returns how the crawl stands, as of a moment ago; nil before it has
// begun. It may be called from any goroutine.
func (c *Crawl) Progress() *Progress { return c.progress.Load() }

// tally counts what this run did.
type tally struct {
	before     limit.Use
	use        limit.Use
	incidents  int64
	refusals   int64
	warnings   []string
	commits    int64
	commitTime time.Duration
	lastCommit time.Duration
	outcomes   map[visit.Outcome]int64 // since the last point
	slowest    []ask.Host
	slowestAt  time.Time
	rates      []sample
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
	if s := v.Answer.Status; s == http.StatusTooManyRequests || s == http.StatusServiceUnavailable {
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

func (c *Crawl) slowest(now time.Time) []ask.Host {
	if now.Sub(c.tally.slowestAt) >= slowestEvery || c.f.Stats().Hosts <= fewHosts {
		views := c.f.Slowest(slowest)
		list := make([]ask.Host, len(views))
		for i := range views {
			list[i] = describe(&views[i])
		}
		c.tally.slowestAt, c.tally.slowest = now, list
	}
	return c.tally.slowest
}

// publish makes the progress known.
func (c *Crawl) publish(now time.Time) {
	p := &Progress{
		At: now, Elapsed: now.Sub(c.began.Round(0)), Counts: c.counts, Spent: c.budget.Spent(), Rate: c.tally.rate(now),
		Frontier: c.f.Stats(), Shares: c.f.Account().Shares(now), Slowest: c.slowest(now), Warnings: c.tally.warnings,
		Ceilings: c.cfg.Limits.Ceilings(), Resumed: c.resumed, Before: c.tally.before, Commits: c.tally.commits, CommitTime: c.tally.commitTime, LastCommit: c.tally.lastCommit,
	}
	p.Layers = c.layers(now)
	if c.stop != nil {
		p.Stopping = c.stop.Reason
	}
	c.progress.Store(p)
}

// count reads how the URLs stand, one question at a time.
func (c *Crawl) count(ctx context.Context, now time.Time) {
	if c.counting {
		return
	}
	c.counting = true
	c.background.Go(func() {
		counts, err := c.st.Counts(ctx, c.job)
		c.post(func(time.Time) {
			c.counting = false
			if err == nil {
				c.counts = counts
			} else {
				c.failUnless(ctx, fmt.Errorf("read counts: %w", err))
			}
		})
	})
}

// points is what was told to the time series.
type points struct {
	span   time.Time // the beginning of the span that runs
	at     time.Time // when the last point was made
	use    limit.Use // at its beginning
	shares map[frontier.State]time.Duration
}

// recordPoint writes the time series when a span has ended.
func (c *Crawl) recordPoint(ctx context.Context, now time.Time) {
	start := store.SpanStart(now, store.MinSpan)
	if c.points.span.IsZero() {
		c.points.span = start
		return
	}
	if start.Equal(c.points.span) {
		return
	}
	p := c.point(now)
	c.points.span = start
	c.background.Go(func() {
		if err := c.st.Record(ctx, []store.Point{p}); err != nil {
			c.post(func(time.Time) { c.failUnless(ctx, fmt.Errorf("record the time series: %w", err)) })
		}
	})
}

// point is what happened since the last one.
func (c *Crawl) point(now time.Time) store.Point {
	stats := c.f.Stats()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	p := store.Point{
		Job: c.job, At: c.points.span, Span: store.MinSpan, Ended: c.tally.outcomes, Waits: map[visit.Wait]time.Duration{},
		Ran: now.Sub(c.points.at), Requests: c.tally.use.Requests - c.points.use.Requests, Bytes: c.tally.use.Bytes - c.points.use.Bytes,
		Waiting: c.counts.Waiting, Hosts: int64(stats.Hosts), InFlight: int64(stats.InFlight), Memory: int64(mem.Sys - mem.HeapReleased),
	}
	if c.points.shares == nil {
		c.points.shares = map[frontier.State]time.Duration{}
	}
	for _, s := range c.f.Account().Shares(now) {
		spent := s.Spent - c.points.shares[s.State]
		c.points.shares[s.State] = s.Spent
		if s.State == frontier.Fetching {
			p.Fetching = spent
		} else if spent > 0 {
			p.Waits[visit.Wait(s.State.String())] = spent
		}
	}
	c.points.use, c.points.at = c.tally.use, now
	c.tally.outcomes = nil
	return p
}

// record writes what happened since the last point at the end of a run.
func (c *Crawl) record(ctx context.Context) error {
	if c.points.span.IsZero() {
		c.points.span = store.SpanStart(c.now(), store.MinSpan)
	}
	if err := c.st.Record(ctx, []store.Point{c.point(c.now())}); err != nil {
		return fmt.Errorf("record the time series: %w", err)
	}
	return nil
}

// report says how the crawl ended.
func (c *Crawl) report(ctx context.Context, failed error) (Report, error) {
	r := Report{Job: c.job, Resumed: c.resumed, Elapsed: time.Since(c.began), State: job.Running, Warnings: c.tally.warnings, Incidents: c.tally.incidents, Refusals: c.tally.refusals}
	if c.job == 0 {
		return r, failed
	}
	counts, err := c.st.Counts(ctx, c.job)
	if err != nil {
		return r, errors.Join(failed, fmt.Errorf("read counts: %w", err))
	}
	r.Counts = counts
	r.Requests, r.Pages = c.tally.use.Requests, c.tally.use.Pages
	if c.budget != nil {
		r.Spent = c.budget.Spent()
	}
	if c.f != nil {
		r.Shares = c.f.Account().Shares(c.now())
	}
	if c.stop != nil {
		r.State, r.Reason = c.stop.State, c.stop.Reason
		r.Again = c.f == nil
		if r.State == "" {
			r.State = job.Running
		}
		if c.stop.Limit != nil {
			r.Errors = append(r.Errors, c.stop.Limit.Error())
		}
		r.Success = r.State.Success() && !c.stop.timeout
	}
	return r, failed
}

// verdict names the end of a crawl that has nothing left: complete, unless
// nobody let it in, nobody could be reached, or a host was given up on.
func verdict(c store.Counts) (job.State, string) {
	var forbidden, optedOut, lost, deferred, other int64
	for e, n := range c.Ended {
		switch {
		case e.Reason == visit.RobotsDisallow, e.Outcome == visit.Blocked:
			forbidden += n
		case e.Reason == visit.OptedOut:
			optedOut += n
		case e.Outcome == visit.Failed, e.Reason == visit.PrivateAddress, e.Reason == visit.BadPort:
			lost += n
		case e.Outcome == visit.Deferred, e.Reason == visit.RobotsUnreachable:
			deferred += n
		case e.Reason == visit.OutOfScope, e.Reason == visit.Excluded, e.Reason == visit.NonDocument, e.Reason == visit.Nofollow,
			e.Reason == visit.Depth, e.Outcome == visit.Redirected:
		default:
			other += n
		}
	}
	switch {
	case deferred > 0:
		return job.Partial, "patience"
	case other == 0 && forbidden > 0:
		return job.Blocked, "robots.txt or a firewall forbids everything"
	case other == 0 && optedOut > 0:
		return job.Blocked, "all of it is on the list of those who asked not to be crawled"
	case other == 0 && lost > 0:
		return job.Failed, "no host could be reached"
	default:
		return job.Complete, "nothing is left"
	}
}
