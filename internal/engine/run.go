package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"headway/frontier"
	"headway/gauge"
	"headway/internal/committer"
	"headway/internal/discovery"
	"headway/internal/jobrun"
	"headway/job"
	"headway/limit"
	"headway/politeness"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// run is a job that this crawler works on. It belongs to the loop; workers read only what
// never changes.
type run struct {
	*base
	cfg   Job
	rules *discovery.Rules
	*jobrun.Stored

	resumed    bool
	started    time.Time // when the job last started to run
	traps      *scope.Traps
	duplicates scope.Duplicates
	seedHosts  map[string]bool
	budget     *limit.Budget
	hostLimit

	shared bool // a job of a fleet
	fleetJob

	stop             *jobrun.End // why no further requests are sent; nil while it runs
	stopAt           time.Time
	discoveryStopped bool // URLs found from now on are deferred
	probing          bool // the page limit is reached; see probeRemaining
	resolving        jobrun.Resolving
	counting         bool
	counts           store.Counts
	tally            jobrun.Tally
	series           jobrun.Series
	shares           map[frontier.State]time.Duration // host time already in the time series
	slow             slowHosts
	progress         atomic.Pointer[gauge.Progress]
}

// fleetJob is the state of a fleet job, and of this worker's supervision of it. A crawl on
// one machine uses only state.
type fleetJob struct {
	owned       map[string]bool // hosts of its tenant when the run began
	state       job.State
	reason      string // of the state
	maxPages    int64
	settings    int64                         // version of the fleet's settings
	ranFor      func(time.Time) time.Duration // its running time, of all workers and runs
	layers      []limit.Layer
	pace        time.Duration
	home        store.Slot // its owner supervises the job
	seeded      bool       // we added its seeds
	supervision chore
	unspentAt   time.Time // when to check next for unused tokens
	usageAt     time.Time // when to store usage next; see storesUsage
	requests    *requests // nil without a request or byte limit
	hostTime    hostTime
	cancelled   bool            // a cancellation is being stored
	ctx         context.Context // of its requests
	cancel      context.CancelCauseFunc
}

func newRun(b *base, optedOut func(weburl.URL) bool, cfg Job) (*run, error) {
	cfg.Scope.Seeds = cfg.Seeds
	cfg.Scope.MaxDepth = int(cfg.Limits.Max(limit.Depth))
	belongs, err := scope.New(cfg.Scope)
	if err != nil {
		return nil, fmt.Errorf("scope: %w", err)
	}
	r := &run{base: b, cfg: cfg, seedHosts: map[string]bool{}, traps: scope.NewTraps(scope.TrapConfig{})}
	r.rules = &discovery.Rules{Scope: belongs, OptedOut: optedOut, Closed: cfg.Closed, Key: b.key}
	r.Stored = &jobrun.Stored{
		Spec: jobrun.Spec{
			Name: cfg.Name, Asked: cfg.Spec, Seeds: cfg.Seeds, Since: cfg.Since, Known: cfg.Known, Limits: cfg.Limits, Widened: cfg.Widened,
			Continue: cfg.Continue, DryRun: cfg.DryRun, Deferred: cfg.MaxWaiting > 0,
		},
		Rules: r.rules, Store: b.st, Log: b.log, Now: b.loop.Now,
	}
	for _, u := range cfg.Seeds {
		r.seedHosts[u.Host()] = true
	}
	return r, nil
}

// frontierJob returns the job as the schedule needs it.
func (r *run) frontierJob() frontier.Job {
	policy, strangers := r.cfg.Policy, r.cfg.Strangers
	fit := policy.ForPublicHosts()
	policy.Base, strangers.Base = max(policy.Base, r.pace), max(strangers.Base, r.pace)
	patience := time.Duration(r.cfg.Limits.Max(limit.Patience))
	if patience == 0 {
		patience = limit.CommandPatience
	}
	j := frontier.Job{
		ID: r.ID, Tenant: r.Tenant, Patience: patience, Limited: r.cfg.Limits.Of(limit.Pages).Limited() && !r.probing,
		RequestLimited: r.requests != nil, MaxPagesPerHost: r.maxPagesPerHost(), HostLimited: r.cfg.Limits.Of(limit.Hosts).Limited() || r.maxPagesPerHost() > 0,
		Rate: r.cfg.Limits.Max(limit.RequestsPerSecond),
		Policy: func(host string) *politeness.Policy {
			if s := r.sites[host]; fit || s != nil && s.owned || r.owned[host] {
				return &policy
			}
			return &strangers
		},
	}
	if r.cfg.DryRun { // a dry run fetches no pages
		j.DryRun, j.Limited = true, false
	}
	return j
}

// readOwned reads which hosts the tenant owns. The job itself has no say in that.
func (r *run) readOwned(ctx context.Context) error {
	st, ok := r.st.(store.OwnedHosts)
	if !ok || r.cfg.Policy.ForPublicHosts() {
		return nil
	}
	list, err := st.OwnedHosts(ctx, r.Tenant)
	if err != nil {
		return err
	}
	r.owned = map[string]bool{}
	for i := range list {
		if h := &list[i]; h.Owned() {
			r.owned[h.Host] = true
		}
	}
	return nil
}

// openBudget starts the budget from what earlier runs have spent.
func (r *run) openBudget(ctx context.Context, now time.Time) error {
	counts, err := r.Counts(ctx)
	if err != nil {
		return err
	}
	list, err := r.st.Points(ctx, r.ID)
	if err != nil {
		return fmt.Errorf("read time series: %w", err)
	}
	spent := limit.Use{Pages: counts.Pages()}
	if r.shared {
		spent.Time = r.ranFor(now)
	}
	for i := range list {
		if r.cfg.ResetUsage && list[i].At.Before(r.started) {
			continue
		}
		spent.Requests += list[i].Requests
		spent.Bytes += list[i].Bytes
		if !r.shared {
			spent.Time += list[i].Ran
		}
	}
	if least := requestsOf(counts); !r.cfg.ResetUsage && !r.shared && spent.Requests < least {
		spent.Requests, r.tally.AtLeast = least, true // a killed run had not recorded all of them
	}
	hosts, err := r.openHosts(ctx)
	if err != nil {
		return err
	}
	if r.resumed {
		spent.Hosts = hosts
	}
	r.counts = counts
	r.budget = limit.NewBudget(r.cfg.Limits, now, spent)
	r.budget.Observe(now, limit.Use{Hosts: hosts - spent.Hosts}) // hosts of its seeds count as new
	r.tally.Before = spent
	r.series.Begin(now)
	return nil
}

// requestsOf is the minimum number of requests behind the stored outcomes.
func requestsOf(c store.Counts) (n int64) {
	for e, ended := range c.Ended {
		switch e.Outcome {
		case visit.Fetched, visit.NotModified, visit.Redirected, visit.Dead, visit.ServerError, visit.Throttled, visit.Blocked:
			n += ended
		}
	}
	return n
}

// unwanted returns the visit of a waiting page that must not be fetched, nil for others.
func (r *run) unwanted(item visit.Item) *visit.Visit {
	if r.rules.OptedOut(item.URL) {
		return &visit.Visit{Item: item, Outcome: visit.Skipped, Reason: visit.OptedOut}
	}
	d := scope.Decision{In: true}
	if r.resumed || r.cfg.Scope.Leaves {
		d = r.rules.Still(item)
	}
	if d.In && !d.Leaf && item.Found != visit.FoundSeed {
		d = r.duplicates.Look(item.URL)
	}
	if d.In {
		return nil
	}
	return &visit.Visit{Item: item, Outcome: visit.Skipped, Reason: visit.Reason(d.Reason), Detail: d.Rule}
}

// spend counts usage for the limits and the time series.
func (r *run) spend(now time.Time, pages, requests, bytes int64) {
	use := limit.Use{Pages: pages, Requests: requests, Bytes: bytes}
	r.budget.Observe(now, use)
	r.tally.Spend(use)
	if r.requests != nil {
		r.requests.report(bytes)
	}
	if !r.shared {
		r.holdToLimits(now)
	}
}

// bytesLeft is how many requests may start in addition to the busy ones without exceeding
// max_bytes. It is not ok if there is no such limit.
func (r *run) bytesLeft(busy int) (n int, ok bool) {
	l := r.cfg.Limits.Of(limit.Bytes)
	if !l.Limited() {
		return 0, false
	}
	return r.tally.BytesLeft(l.Max-r.budget.Spent().Bytes, busy), true
}

// holdToLimits stops a crawl on one machine when a limit is reached. The page limit is
// enforced by tokens. In a fleet that of requests and bytes is, too, and the supervising
// worker enforces the others.
func (r *run) holdToLimits(now time.Time) {
	over := r.budget.Exceeded()
	if over == nil || r.stop != nil || over.Limit == limit.Pages {
		return
	}
	if over.Limit == limit.Requests && !r.f.Ready() && r.resolving.Continue(now, r.counts.Waiting) {
		return // no request is sent, and if all that is left ends without one, the crawl is complete
	}
	r.halt(now, jobrun.EndFor(over))
}

// usageLimits are the limits for which requests are reserved in a fleet, and whose usage
// workers store often.
var usageLimits = []limit.Name{limit.Requests, limit.Bytes}

// storesUsage reports whether this worker should store its usage of a fleet job now: as often
// as its limits are checked, if there is such a limit.
func (r *run) storesUsage(now time.Time) bool {
	limited := slices.ContainsFunc(usageLimits, func(n limit.Name) bool { return r.cfg.Limits.Of(n).Limited() })
	if !r.shared || !limited || now.Before(r.usageAt) {
		return false
	}
	r.usageAt = now.Add(superviseEvery)
	return true
}

// probeRemaining checks whether the page limit keeps any URL from being fetched. Waiting
// URLs are still checked against robots.txt, which costs no page, until the first one that
// would be fetched.
func (r *run) probeRemaining(now time.Time) {
	r.probing = true
	r.f.AddJob(r.frontierJob())
	r.f.Wake(now, r.ID)
}

// stopAtPageLimit ends a crawl at its page limit: a further page would have been fetched.
func (r *run) stopAtPageLimit(now time.Time) {
	if r.stop == nil {
		r.halt(now, jobrun.EndFor(r.cfg.Limits.Of(limit.Pages).Exceeded(r.budget.Spent().Pages)))
	}
}

// halt stops sending. Requests in flight may finish; after a time limit only for a moment.
func (r *run) halt(now time.Time, s *jobrun.End) {
	if r.stop == nil {
		r.stop = s
		r.f.StopJob(now, r.ID)
		if s.Limit != nil {
			r.log.Info("job stopped by a limit", "job", r.ID, "limit", s.Limit.Error())
		}
	}
	if s.Timeout {
		r.stopAt = now.Add(graceful)
	}
	if !r.shared {
		r.halted = true
	}
}

// complete ends a crawl that has no work left.
func (r *run) complete(ctx context.Context) bool {
	counts, err := r.Counts(context.WithoutCancel(ctx))
	if err != nil {
		r.loop.Fail(err)
		return true
	}
	end, err := r.Ending(context.WithoutCancel(ctx), counts, r.discoveryStopped)
	if err != nil {
		r.loop.Fail(err)
		return true
	}
	if end != nil {
		r.stop = end
	}
	return end != nil
}

// concluded ends a stopped crawl. If a limit stopped it and no work is left, it is
// complete.
func (r *run) concluded(ctx context.Context) bool {
	if r.stop.State != job.Partial {
		return true
	}
	idle, err := r.st.Idle(context.WithoutCancel(ctx), r.ID)
	if err != nil {
		r.loop.Fail(fmt.Errorf("check for waiting URLs: %w", err))
		return true
	}
	if idle.None {
		return r.complete(ctx)
	}
	return true
}

var errTimeUp = errors.New("time limit of the crawl reached")

// returnUnspent returns tokens that were unused for a while: their host may belong to
// another worker by now.
func (r *run) returnUnspent(now time.Time) {
	if now.Before(r.unspentAt) {
		return
	}
	r.unspentAt = now.Add(superviseEvery)
	if back, ok := r.unused(r.f.Unspent(r.ID)); ok {
		r.enqueue(committer.Entry{Tokens: &back})
	}
}

// unused is the return of tokens that were not used; not ok if there is nothing to return.
func (r *run) unused(pages, requests int) (back store.Return, ok bool) {
	back = store.Return{Job: r.ID, Requests: requests}
	if r.cfg.Limits.Of(limit.Pages).Limited() {
		back.Tokens = pages
	}
	return back, back.Tokens+back.Requests > 0
}

// tick runs a few times a second for the job of a single machine: limits and counts.
func (r *run) tick(work context.Context, now time.Time) {
	r.budget.Observe(now, limit.Use{})
	for _, w := range r.budget.Warnings() {
		r.tally.Warnings = append(r.tally.Warnings, w.String())
		r.log.Warn("limit usage", "limit", w.String())
	}
	r.holdToLimits(now)
	if r.stop == nil && !r.probing && r.cfg.Limits.Of(limit.Pages).Limited() && r.f.Exhausted(r.ID) {
		r.probeRemaining(now)
	}
	if !r.stopAt.IsZero() && !now.Before(r.stopAt) {
		r.stopWork(errTimeUp)
		r.stopAt = time.Time{}
	}
	r.count(work, now)
}
