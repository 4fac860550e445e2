package headway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"headway/frontier"
	"headway/governor"
	"headway/job"
	"headway/limit"
	"headway/output"
	"headway/politeness"
	"headway/robots"
	"headway/scope"
	"headway/store"
	"headway/store/journal"
	"headway/visit"
	"headway/weburl"
)

// Crawl is one run over seeds. Make one with [New] and call [Crawl.Run] once.
//
// One goroutine, the loop, owns the schedule and everything that is remembered;
// workers fetch and read, and at most one commit, one refill, one claim and one
// question for counts are under way. They tell the loop what came of it by
// posting to its channel.
type Crawl struct {
	cfg   Config
	st    store.Store
	key   weburl.Key
	scope *scope.Rules
	began time.Time

	job     job.ID
	resumed bool
	started time.Time // when the job last began to run
	worker  store.WorkerID
	leases  map[store.Slot]store.Lease
	tenure  atomic.Pointer[store.Tenure]

	f          *frontier.Frontier
	seen       *frontier.Seen
	traps      *scope.Traps
	duplicates scope.Duplicates
	rules      *robots.Cache
	sites      map[string]*site
	seedHosts  map[string]bool
	journal    *journal.Journal
	guilty     map[weburl.URL]bool
	versions   map[robots.Sum]bool // of robots.txt that are stored
	budget     *limit.Budget

	events   chan func(now time.Time)
	tasks    chan task
	gov      *governor.Governor
	queued   atomic.Int64  // bodies that wait for a parser
	parsing  chan struct{} // a place among the parsers
	hands    int           // workers started
	busy     int           // tasks they have
	stopWork context.CancelCauseFunc

	pending    []entry
	pages      int // visits and retries among them
	urgent     bool
	committing bool
	committed  time.Time // when the last commit began
	number     int64     // of the last commit
	touched    map[string]struct{}
	resting    []restingHost
	storing    []string // domains with hosts in the commit under way
	paces      []store.PaceChange

	archives   []output.ExchangeWriter // among the outputs
	out        chan []visit.Visit
	outbox     [][]visit.Visit
	refills    []frontier.Want
	refilling  bool
	tokens     int // reservations under way
	loader     loader
	background sync.WaitGroup

	stop     *Stop // why nothing more is sent; nil while it runs
	stopAt   time.Time
	lowDisk  bool
	lowSince time.Time
	counting bool
	counts   store.Counts
	tally    tally
	points   points
	progress atomic.Pointer[Progress]
	nextWake time.Time
	clean    map[string]bool // domains that were handed over cleanly since the start
	warming  bool
	enough   bool               // discovery was stopped: what is found from now on is deferred
	orders   map[string][]order // for hosts whose state is not in memory
	mailing  bool               // the mailbox is being looked into
	sifting  bool               // the page limit is met; see sift
	free     int64              // room on the disk, as last seen
	fatal    error
}

// New returns a crawl that is ready to run.
func New(cfg Config) (*Crawl, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("crawl: %w", err)
	}
	cfg.Scope.Seeds = cfg.Seeds
	cfg.Scope.MaxDepth = int(cfg.Limits.Max(limit.Depth))
	rules, err := scope.New(cfg.Scope)
	if err != nil {
		return nil, fmt.Errorf("scope: %w", err)
	}
	c := &Crawl{
		cfg: cfg, st: cfg.Store, key: cfg.Store.Key(), scope: rules,
		leases: map[store.Slot]store.Lease{}, sites: map[string]*site{}, seedHosts: map[string]bool{},
		guilty: map[weburl.URL]bool{}, versions: map[robots.Sum]bool{}, clean: map[string]bool{}, loader: loader{yields: map[string]bool{}, turns: map[string]time.Time{}}, touched: map[string]struct{}{}, orders: map[string][]order{},
		seen: frontier.NewSeen(cfg.SeenBytes), traps: scope.NewTraps(scope.TrapConfig{}),
		events: make(chan func(time.Time), 4*cfg.Workers), tasks: make(chan task, cfg.Workers),
		parsing: make(chan struct{}, cfg.ParseWorkers), out: make(chan []visit.Visit, 4),
	}
	c.gov = governor.New(governor.Config{Workers: cfg.Workers, CommitTarget: slowCommit, CommitPages: store.MaxVisits})
	c.rules = robots.NewCache(cfg.RobotsCache, robotsSource{c.st})
	for _, u := range cfg.Seeds {
		c.seedHosts[u.Host()] = true
	}
	for _, w := range cfg.Outputs {
		if a, ok := w.(output.ExchangeWriter); ok {
			c.archives = append(c.archives, a)
		}
	}
	return c, nil
}

// Run crawls until nothing is left, a limit is met, or it is told to stop, and
// reports how it ended. The error is the crawler's own: it could not do its
// work. What was committed until then is kept, and the crawl can be resumed.
func Run(ctx context.Context, cfg Config) (Report, error) {
	c, err := New(cfg)
	if err != nil {
		return Report{}, err
	}
	return c.Run(ctx)
}

// Run is [Run].
func (c *Crawl) Run(ctx context.Context) (Report, error) {
	c.began = time.Now()
	done, err := c.open(ctx)
	if err != nil || done {
		return c.report(context.WithoutCancel(ctx), err)
	}
	err = c.crawl(ctx)
	if left := c.leave(context.WithoutCancel(ctx)); err == nil {
		err = left
	}
	return c.report(context.WithoutCancel(ctx), err)
}

// now is the time by which everything is scheduled: it never runs backwards.
func (c *Crawl) now() time.Time { return c.steady(time.Now()) }

// steady turns a moment of this process into one that is counted from its
// beginning, so that a clock that is set does no harm.
func (c *Crawl) steady(t time.Time) time.Time {
	return c.began.Round(0).Add(t.Sub(c.began)).UTC()
}

// open finds or makes the job and takes possession of the store.
func (c *Crawl) open(ctx context.Context) (done bool, err error) {
	now := c.now()
	if done, err = c.openJob(ctx, now); err != nil || done {
		return done, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "?" // the name is for people
	}
	c.worker, err = c.st.Join(ctx, now, fmt.Sprintf("%s %d", host, os.Getpid()))
	if err != nil {
		return false, fmt.Errorf("join the store: %w", err)
	}
	sent := time.Now()
	leases, err := c.st.Acquire(ctx, now, c.worker, store.SlotCount)
	if err != nil {
		return false, fmt.Errorf("acquire slots: %w", err)
	}
	for _, l := range leases {
		c.leases[l.Slot] = l
	}
	tenure := store.NewTenure(c.cfg.Terms, sent)
	c.tenure.Store(&tenure)

	var suspects []weburl.URL
	if c.cfg.Journal != "" {
		j, list, err := journal.Open(c.cfg.Journal)
		if err != nil {
			return false, fmt.Errorf("open journal: %w", err)
		}
		c.journal = j
		for _, s := range list {
			if s.Job != c.job {
				continue
			}
			suspects = append(suspects, s.URL)
			if s.Guilty() {
				c.guilty[s.URL] = true
			}
		}
	}
	c.f = frontier.New(frontier.Config{Head: c.cfg.Head, HotHosts: c.cfg.HotHosts, Robots: c.cfg.RobotsWorkers, Addresses: c.cfg.Addresses, Suspects: suspects, Trace: c.cfg.Trace}, now)
	c.f.AddJob(c.frontierJob())
	return false, c.openBudget(ctx, now)
}

// frontierJob is the job as the schedule sees it.
func (c *Crawl) frontierJob() frontier.Job {
	policy, strangers := c.cfg.Policy, c.cfg.Strangers
	fit := forStrangers(&policy)
	patience := time.Duration(c.cfg.Limits.Max(limit.Patience))
	if patience == 0 {
		patience = limit.CommandPatience
	}
	return frontier.Job{
		ID: c.job, Patience: patience, Limited: c.cfg.Limits.Of(limit.Pages).Limited(),
		MaxPagesPerHost: int(c.cfg.Limits.Max(limit.PagesPerHost)),
		Policy: func(host string) *politeness.Policy {
			if s := c.sites[host]; fit || s != nil && s.owned {
				return &policy
			}
			return &strangers
		},
	}
}

// openJob finds the job to go on with, or makes one and adds its seeds.
func (c *Crawl) openJob(ctx context.Context, now time.Time) (done bool, err error) {
	var last *store.Job
	for after := job.ID(0); ; {
		list, err := c.st.JobList(ctx, after, store.MaxPage)
		if err != nil {
			return false, fmt.Errorf("list jobs: %w", err)
		}
		for i := range list {
			if list[i].Name == c.cfg.Name {
				last = &list[i]
			}
			after = list[i].ID
		}
		if len(list) < store.MaxPage {
			break
		}
	}
	pages := c.cfg.Limits.Max(limit.Pages)
	c.started = now
	if last == nil {
		c.job, err = c.st.CreateJob(ctx, store.Job{Name: c.cfg.Name, State: job.Running, MaxPages: pages, Spec: c.cfg.Spec, CreatedAt: now, StartedAt: now})
		if err != nil {
			return false, fmt.Errorf("create job: %w", err)
		}
		return false, c.addFirst(ctx, now)
	}
	c.job, c.resumed = last.ID, true
	if last.State.Ended() && !(last.State == job.Partial && c.cfg.Continue) {
		c.stop = &Stop{State: last.State, Reason: last.Reason}
		return true, nil
	}
	again, err := c.putOff(ctx)
	if err != nil {
		return false, err
	}
	if last.State == job.Partial || last.MaxPages != pages || again {
		if err := c.st.Extend(ctx, now, c.job, pages); err != nil {
			return false, fmt.Errorf("set the page limit to %d: %w", pages, err)
		}
	}
	if last.State == job.Running {
		c.started = last.StartedAt
	}
	for _, to := range []job.State{job.Queued, job.Running} {
		if last.State == job.Partial && to == job.Queued || last.State == job.Queued && to == job.Running {
			if err := c.st.SetState(ctx, now, c.job, last.State, to, ""); err != nil {
				return false, fmt.Errorf("resume: %w", err)
			}
			last.State = to
		}
	}
	if err := c.widenAgain(ctx); err != nil {
		return false, err
	}
	return false, c.addFirst(ctx, now)
}

// putOff tells whether URLs of the job were put off: they are asked for when it
// goes on.
func (c *Crawl) putOff(ctx context.Context) (bool, error) {
	counts, err := c.st.Counts(ctx, c.job)
	if err != nil {
		return false, fmt.Errorf("read counts: %w", err)
	}
	return counts.Ended[store.Ending{Outcome: visit.Deferred}] > 0, nil
}

// addFirst makes seen what is known before anything was fetched.
func (c *Crawl) addFirst(ctx context.Context, now time.Time) error {
	if err := c.addKnown(ctx, now); err != nil {
		return err
	}
	return c.addSeeds(ctx, now)
}

// addSeeds makes the seeds seen. Those seen before are left alone.
func (c *Crawl) addSeeds(ctx context.Context, now time.Time) error {
	for seeds := range slices.Chunk(c.cfg.Seeds, 10_000) {
		found := make([]store.Found, 0, len(seeds))
		for _, u := range seeds {
			f := store.Found{Item: visit.Item{Job: c.job, URL: u, Found: visit.FoundSeed}}
			switch d := c.scope.DecideSeed(u); {
			case !d.In:
				f.Outcome, f.Reason = visit.Skipped, visit.Reason(d.Reason)
			case c.cfg.OptedOut(u):
				f.Outcome, f.Reason = visit.Skipped, visit.OptedOut
			}
			found = append(found, f)
		}
		if _, err := c.st.Add(ctx, now, found); err != nil {
			return fmt.Errorf("add seeds: %w", err)
		}
	}
	return nil
}

// widenAgain learns from a resumed job where its seeds had redirected to.
func (c *Crawl) widenAgain(ctx context.Context) error {
	q := store.Query{Job: c.job, Outcome: visit.Redirected, Max: store.MaxPage}
	for {
		page, err := c.st.List(ctx, q)
		if err != nil {
			return fmt.Errorf("read redirects: %w", err)
		}
		for i := range page.Entries {
			if e := &page.Entries[i]; e.Item.Depth == 0 && e.Visit != nil && !e.Visit.Answer.Location.IsZero() {
				c.scope.Widen(e.Item.URL, e.Visit.Answer.Location)
			}
		}
		if page.Next == "" {
			return nil
		}
		q.After = page.Next
	}
}

// openBudget counts from what the runs before have spent.
func (c *Crawl) openBudget(ctx context.Context, now time.Time) error {
	counts, err := c.st.Counts(ctx, c.job)
	if err != nil {
		return fmt.Errorf("read counts: %w", err)
	}
	list, err := c.st.Points(ctx, c.job)
	if err != nil {
		return fmt.Errorf("read time series: %w", err)
	}
	spent := limit.Use{Pages: counts.Pages()}
	for i := range list {
		if c.cfg.Anew && list[i].At.Before(c.started) {
			continue
		}
		spent.Requests += list[i].Requests
		spent.Bytes += list[i].Bytes
		spent.Time += list[i].Ran
	}
	c.counts = counts
	c.budget = limit.NewBudget(c.cfg.Limits, now, spent)
	c.tally.before = spent
	c.points.at = now
	return nil
}

// crawl runs the loop and everything it needs.
func (c *Crawl) crawl(ctx context.Context) error {
	work, stop := context.WithCancelCause(ctx)
	c.stopWork = stop
	defer stop(nil)
	var helpers sync.WaitGroup
	helpers.Go(func() { c.renew(work) })
	outputErr := make(chan error, 1)
	go func() {
		err := output.Run(context.WithoutCancel(ctx), c.out, c.cfg.Outputs...)
		if err != nil { // nobody takes what is stored any more
			select {
			case c.events <- func(time.Time) { c.fail(fmt.Errorf("write output: %w", err)) }:
			case <-work.Done():
			}
		}
		outputErr <- err
	}()

	c.loop(ctx, work)

	close(c.tasks)
	stop(errors.New("the crawl has ended"))
	drained := make(chan struct{})
	go func() { // whoever still wants to post is heard and ignored
		for {
			select {
			case <-c.events:
			case <-drained:
				return
			}
		}
	}()
	c.background.Wait()
	helpers.Wait()
	close(drained)
	close(c.out)
	err := <-outputErr
	if c.fatal != nil {
		return c.fatal
	}
	if err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// renew keeps the lease alive, and ends what is in flight when that fails for
// too long.
func (c *Crawl) renew(ctx context.Context) {
	tick := time.NewTicker(c.cfg.Terms.Renew)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		sent := time.Now()
		err := c.st.Renew(ctx, c.worker)
		switch {
		case err == nil:
			tenure := store.NewTenure(c.cfg.Terms, sent)
			c.tenure.Store(&tenure)
		case errors.Is(err, store.ErrFenced):
			c.stopWork(err)
			c.post(func(time.Time) { c.fail(fmt.Errorf("renew the lease: %w", err)) })
			return
		case c.tenure.Load().MustCancel(time.Now()):
			c.stopWork(errNotOurs)
			c.post(func(time.Time) { c.fail(fmt.Errorf("renew the lease: %w", err)) })
			return
		}
	}
}

// leave gives everything back cleanly and writes how the job ended.
func (c *Crawl) leave(ctx context.Context) error {
	var errs []error
	now := c.now()
	if c.fatal == nil {
		if err := c.returnTokens(ctx, now); err != nil {
			errs = append(errs, err)
		}
		if err := c.yieldAll(ctx, now); err != nil {
			errs = append(errs, err)
		}
		if err := c.record(ctx); err != nil {
			errs = append(errs, err)
		}
		// The files are finished before the job ends, so that a crawl that is
		// killed between the two finishes them again.
		if c.stop.State != "" {
			if err := c.finish(ctx); err != nil {
				errs = append(errs, err)
			} else if err := c.st.SetState(ctx, now, c.job, job.Running, c.stop.State, c.stop.Reason); err != nil {
				errs = append(errs, fmt.Errorf("end the job: %w", err))
			}
		}
		if err := c.st.Leave(ctx, c.worker); err != nil {
			errs = append(errs, fmt.Errorf("leave the store: %w", err))
		}
	}
	if c.journal != nil {
		if err := c.journal.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close the journal: %w", err))
		}
	}
	return errors.Join(errs...)
}

// returnTokens gives back page tokens that were not used.
func (c *Crawl) returnTokens(ctx context.Context, now time.Time) error {
	n := c.f.Unused(c.job)
	if n == 0 || !c.cfg.Limits.Of(limit.Pages).Limited() {
		return nil
	}
	c.number++
	_, err := c.st.Commit(ctx, store.Commit{Worker: c.worker, Number: c.number, At: now, Returns: []store.Return{{Job: c.job, Tokens: n}}})
	if err != nil {
		return fmt.Errorf("return page tokens: %w", err)
	}
	return nil
}

// finish completes the files people asked for.
func (c *Crawl) finish(ctx context.Context) error {
	for _, w := range c.cfg.Outputs {
		if f, ok := w.(output.Finisher); ok {
			if err := f.Finish(ctx, ledger{c.st, c.job}); err != nil {
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
