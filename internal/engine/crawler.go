// Package engine crawls the hosts owned by this process, for one job or many: it loads
// waiting URLs into the schedule, hands requests to the worker pool, learns from the
// responses and commits the results. The files follow a URL: jobs, queue, load, loop, task,
// learn, commit. File solo is a crawl on one machine, member a worker of a fleet.
//
// Each part is a type that embeds [base] and holds the parts below it: hosts, then jobs,
// queues, loader and learner, then the mode, then the crawler. All of them belong to the
// loop: only its goroutine may use them. Background work is given the values it needs.
package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"headway/fetch/guard"
	"headway/frontier"
	"headway/gauge"
	"headway/governor"
	"headway/internal/committer"
	"headway/internal/control"
	"headway/internal/fetchpool"
	"headway/internal/loop"
	"headway/internal/ownership"
	"headway/internal/redirects"
	"headway/job"
	"headway/output"
	"headway/robots"
	"headway/store"
	"headway/store/journal"
	"headway/visit"
	"headway/weburl"
)

// crawler crawls the hosts of the slots it owns, for one job or many.
//
// One goroutine, the loop, owns the schedule and all state. Workers fetch and parse, and at
// most one commit, refill, claim and count run in the background. They post their results
// to the loop's channel.
type crawler struct {
	*base

	mode     mode
	hosts    *hosts
	jobs     *jobs
	queues   *queues
	loader   *loader
	learner  *learner
	suspects *suspects

	gov    *governor.Governor
	causes *causes
	outbox *committer.Outbox

	lowDisk  bool
	lowSince time.Time
	free     int64 // free disk space in bytes, as last measured
}

// mode is what differs between a crawl on one machine ([solo]) and a worker of a fleet
// ([member]).
type mode interface {
	// retryable reports whether a failed store request is worth a retry.
	retryable(err error) bool
	// listener returns the function that receives notifications in the background until
	// work ends.
	listener() func(work context.Context)
	// runFleetDuties is called in each round of the loop, tick a few times a second.
	runFleetDuties(work context.Context, now time.Time)
	tick(work context.Context, now time.Time)
	// permits reduces the number of requests that may start, and returns what the others
	// wait for.
	permits(n int, short visit.Wait) (int, visit.Wait)
	// publish makes the progress available to readers.
	publish(now time.Time, layers func(now time.Time) []gauge.Layer)
	// drain is called when no further requests are to be sent.
	drain(now time.Time)
	// finished reports whether the work is over. It is called when nothing is under way.
	finished(ctx context.Context) bool
	// newControl returns what answers questions about the work.
	newControl(cfg control.Config) *control.Control
}

// newCrawler returns a crawler without a mode: on one machine (solo) or in a fleet.
func newCrawler(cfg Worker, solo bool) *crawler {
	c := &crawler{
		base: newBase(cfg, solo), outbox: committer.NewOutbox(),
		gov: governor.New(governor.Config{Workers: cfg.Workers, CommitTarget: slowCommit, CommitPages: store.MaxVisits}),
	}
	c.loop = loop.New(loop.Config{Room: 4 * cfg.Workers, OnAttempt: c.meter.StoreAttempt, Retryable: c.retryable, Scarce: outOfDescriptors, Log: cfg.Log})
	c.read = &reader{
		st: c.st, loop: c.loop, solo: solo, agent: cfg.Agent, policy: cfg.Robots, sitemaps: true,
		rules: robots.NewCache(cfg.RobotsCache, robotsSource{cfg.Store}),
	}
	c.hosts = &hosts{base: c.base, versions: map[robots.Sum]bool{}}
	c.jobs = &jobs{base: c.base, hosts: c.hosts, runs: map[job.ID]*run{}}
	c.queues = &queues{base: c.base, hosts: c.hosts, jobs: c.jobs, rates: store.Timeline{}}
	c.causes = &causes{base: c.base, queues: c.queues}
	c.suspects = newSuspects(c.base)
	c.loader = &loader{base: c.base, hosts: c.hosts, jobs: c.jobs, queues: c.queues, suspects: c.suspects}
	c.learner = &learner{base: c.base, hosts: c.hosts, jobs: c.jobs, suspects: c.suspects, redirects: redirects.New(c.st, c.loop.Retry)}
	c.commits = c.newCommitter()
	return c
}

// open joins the store and acquires slots.
func (c *crawler) open(ctx context.Context, now time.Time, slots int) error {
	host, err := os.Hostname()
	if err != nil {
		host = "?" // the name is only for display
	}
	c.worker, err = c.st.Join(ctx, now, fmt.Sprintf("%s %d", host, os.Getpid()))
	if err != nil {
		return fmt.Errorf("join the store: %w", err)
	}
	if c.cfg.Joined != nil {
		c.cfg.Joined(c.worker)
	}
	c.commits.Begin(c.worker)
	c.read.worker = c.worker
	sent := time.Now()
	// Use the current time: joining may have taken long.
	leases, err := c.st.Acquire(ctx, c.loop.Now(), c.worker, slots)
	if err != nil {
		return fmt.Errorf("acquire slots: %w", err)
	}
	c.slots.Own(leases)
	if _, err := c.loader.keep(ctx); err != nil {
		return err
	}
	c.lease = c.newLease(sent)

	var inFlight *journal.Journal
	var suspects []weburl.URL
	if c.cfg.Journal != "" {
		var list []journal.Suspect
		if inFlight, list, err = journal.Open(c.cfg.Journal); err != nil {
			return fmt.Errorf("open journal: %w", err)
		}
		for _, s := range list {
			suspects = append(suspects, s.URL)
		}
		c.suspects.addJournal(list)
	}
	c.f = frontier.New(frontier.Config{
		Head: c.cfg.Head, HotHosts: c.cfg.HotHosts, Robots: c.cfg.RobotsWorkers, Slow: c.cfg.Slow, Addresses: c.cfg.Addresses,
		Suspects: suspects, Forbidden: c.queues.forbidden, Trace: c.hosts.recordPromises(c.cfg.Trace),
	}, now)
	c.pool = c.newPool(inFlight)
	c.control = c.mode.newControl(control.Config{Loop: c.loop, Frontier: c.f, Commits: c.commits, Workers: c.cfg.Workers, Layers: c.layers, Log: c.log})
	return nil
}

// crawl runs the loop and its helpers until the work is over.
func (c *crawler) crawl(ctx context.Context) error {
	work := c.shutdown.begin(ctx)
	c.loop.During(work)
	c.lease.Begin(work)
	defer c.stopWork(nil)
	var helpers sync.WaitGroup
	lease, listen := c.lease, c.mode.listener()
	helpers.Go(func() { lease.Keep(work) })
	helpers.Go(func() { listen(work) })
	outputErr := make(chan error, 1)
	go func() {
		err := output.Run(context.WithoutCancel(ctx), c.outbox.Out(), c.cfg.Outputs...)
		if err != nil { // stored visits are no longer written
			c.loop.Offer(work, func(time.Time) { c.loop.Fail(fmt.Errorf("write output: %w", err)) })
		}
		outputErr <- err
	}()

	c.cycle(ctx, work)

	c.pool.Close()
	c.stopWork(errors.New("the crawl has ended"))
	c.loop.End(helpers.Wait)
	c.show(c.loop.Now(), true)
	c.outbox.Close()
	err := <-outputErr
	if fatal := c.loop.Err(); fatal != nil {
		return fatal
	}
	if err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// giveBack releases what the store counts as ours, except the slots.
func (c *crawler) giveBack(ctx context.Context, now time.Time) error {
	return errors.Join(c.jobs.returnTokens(ctx, now), c.loader.yieldAll(ctx, now))
}

// leave leaves the store cleanly.
func (c *crawler) leave(ctx context.Context) error {
	var err error
	if left := c.st.Leave(ctx, c.worker); left != nil {
		err = fmt.Errorf("leave the store: %w", left)
	}
	return errors.Join(err, c.pool.CloseJournal())
}

// newLease returns the lease of this process, last renewed at sent.
func (c *crawler) newLease(sent time.Time) *ownership.Lease {
	cfg := ownership.LeaseConfig{
		Terms: c.cfg.Terms, Resumes: c.solo, Lost: c.loader.onResumed, OnAttempt: c.meter.StoreAttempt, End: func(cause error) { c.stopWork(cause) },
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

// begin adds the only job of a crawl to the schedule.
func (c *crawler) begin(ctx context.Context, now time.Time, r *run) error {
	c.jobs.runs[r.ID] = r
	r.state = job.Running
	c.f.AddJob(r.frontierJob())
	return r.openBudget(ctx, now)
}

// newPool returns the worker pool. The schedule must exist.
func (c *crawler) newPool(j *journal.Journal) *fetchpool.Pool {
	return fetchpool.New(c.loop, fetchpool.Config{
		Workers: c.cfg.Workers, Slow: c.cfg.Slow, Parsers: c.cfg.ParseWorkers,
		Fetcher: c.cfg.Fetcher, Agent: c.cfg.Agent, Key: c.key,
		Robots: c.cfg.Robots, RobotsTimeout: c.cfg.RobotsTimeout, RobotsFiles: c.read.rules,
		OptedOut: c.cfg.OptedOut, Overloaded: c.cfg.Overloaded, Redirects: c.learner.redirects,
		Archives: fetchpool.ArchivesOf(c.cfg.Outputs), ReadLinks: fetchpool.ReadLinks(c.cfg.Outputs), Archive: c.cfg.Archive, Journal: j, Meter: c.meter, Log: c.cfg.Log,
		Schedule: c.f, Handlers: fetchpool.Handlers{Page: c.learner.onPage, Robots: c.learner.onRobots, Sitemap: c.learner.onSitemap},
	})
}

// retryable reports whether a failed store request is worth a retry.
func (c *crawler) retryable(err error) bool { return !isPermanent(err) && c.mode.retryable(err) }

// outOfDescriptors reports whether a store request failed for lack of file descriptors.
func outOfDescriptors(err error) bool {
	return errors.Is(err, store.ErrScarce) || guard.NoDescriptor(err)
}

// isPermanent reports whether a store error stays the same on a retry.
func isPermanent(err error) bool {
	for _, e := range []error{store.ErrFenced, store.ErrNotWaiting, store.ErrTokens, store.ErrNotFound, store.ErrConflict, store.ErrCorrupt, store.ErrNewer} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
