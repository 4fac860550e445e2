// Package engine works on the hosts that are ours, for one job or for many: it puts what
// waits on the schedule, hands requests to the workers that fetch, learns from what came
// of them, and has it committed. Its files tell the way of a URL: jobs, queue, load, loop,
// task, learn, commit; solo is a crawl on one machine, member a worker of a fleet.
//
// Each part is a type that has [base], what all of them share, and the parts below it:
// hosts, then jobs, queues, loader and learner, then the mode, then the crawler. All of
// them belong to the loop. What runs in the background is given what it needs.
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

// crawler works on the hosts of the slots it owns, for one job or for many.
//
// One goroutine, the loop, owns the schedule and everything that is remembered;
// workers fetch and read, and at most one commit, one refill, one claim and one
// question for counts are under way. They tell the loop what came of it by
// posting to its channel.
type crawler struct {
	*base

	mode    mode
	hosts   *hosts
	jobs    *jobs
	queues  *queues
	loader  *loader
	learner *learner

	gov      *governor.Governor
	outbox   *committer.Outbox
	suspects []journal.Suspect

	lowDisk  bool
	lowSince time.Time
	free     int64 // room on the disk, as last seen
}

// mode is how the work is shared: with nobody, or with a fleet. It is one of [solo] and
// [member].
type mode interface {
	// again tells whether a question to the store that failed is put again.
	again(err error) bool
	// listener is what hears news, in the background, until work ends.
	listener() func(work context.Context)
	// tend is called in each round of the loop, look a few times a second.
	tend(work context.Context, now time.Time)
	look(work context.Context, now time.Time)
	// permits is how many more requests may start where so many could, and what those
	// wait for that may not.
	permits(n int, short visit.Wait) (int, visit.Wait)
	// publish makes it known how the work stands.
	publish(now time.Time, layers func(now time.Time) []gauge.Layer)
	// drain is called when nothing more is to be sent after what is in flight.
	drain(now time.Time)
	// finished tells whether the work is over, once nothing is under way.
	finished(ctx context.Context) bool
	// newControl answers questions about the work.
	newControl(cfg control.Config) *control.Control
}

// newCrawler returns a crawler without a mode yet: one alone, or one of a fleet.
func newCrawler(cfg Worker, alone bool) *crawler {
	c := &crawler{
		base: newBase(cfg, alone), outbox: committer.NewOutbox(),
		gov: governor.New(governor.Config{Workers: cfg.Workers, CommitTarget: slowCommit, CommitPages: store.MaxVisits}),
	}
	c.loop = loop.New(loop.Config{Room: 4 * cfg.Workers, Asked: c.meter.Stored, Again: c.again, Scarce: scarce, Log: cfg.Log})
	c.read = &reader{
		st: c.st, loop: c.loop, alone: alone, agent: cfg.Agent, policy: cfg.Robots, sitemaps: true,
		rules: robots.NewCache(cfg.RobotsCache, robotsSource{cfg.Store}),
	}
	c.hosts = &hosts{base: c.base, versions: map[robots.Sum]bool{}}
	c.jobs = &jobs{base: c.base, hosts: c.hosts, runs: map[job.ID]*run{}}
	c.queues = &queues{base: c.base, hosts: c.hosts, jobs: c.jobs, rates: store.Timeline{}}
	c.loader = &loader{base: c.base, hosts: c.hosts, jobs: c.jobs, queues: c.queues}
	c.learner = &learner{base: c.base, hosts: c.hosts, jobs: c.jobs, redirects: redirects.New(c.st, c.loop.Retry)}
	c.commits = c.newCommitter()
	return c
}

// open takes possession of the store: a place among its workers, and slots.
func (c *crawler) open(ctx context.Context, now time.Time, slots int) error {
	host, err := os.Hostname()
	if err != nil {
		host = "?" // the name is for people
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
	// By the time of now, not of before: joining may have taken long.
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
		inFlight, c.suspects, err = journal.Open(c.cfg.Journal)
		if err != nil {
			return fmt.Errorf("open journal: %w", err)
		}
		for _, s := range c.suspects {
			suspects = append(suspects, s.URL)
		}
	}
	c.f = frontier.New(frontier.Config{
		Head: c.cfg.Head, HotHosts: c.cfg.HotHosts, Robots: c.cfg.RobotsWorkers, Slow: c.cfg.Slow, Addresses: c.cfg.Addresses,
		Suspects: suspects, Forbidden: c.queues.forbidden, Trace: c.hosts.watching(c.cfg.Trace),
	}, now)
	c.pool = c.newPool(inFlight)
	c.control = c.mode.newControl(control.Config{Loop: c.loop, Frontier: c.f, Commits: c.commits, Workers: c.cfg.Workers, Layers: c.layers, Log: c.log})
	return nil
}

// crawl runs the loop and everything it needs.
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
		if err != nil { // nobody takes what is stored any more
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

// giveBack returns what the store counts as ours, except the slots.
func (c *crawler) giveBack(ctx context.Context, now time.Time) error {
	return errors.Join(c.jobs.returnTokens(ctx, now), c.loader.yieldAll(ctx, now))
}

// leave ends the part in the store cleanly.
func (c *crawler) leave(ctx context.Context) error {
	var err error
	if left := c.st.Leave(ctx, c.worker); left != nil {
		err = fmt.Errorf("leave the store: %w", left)
	}
	return errors.Join(err, c.pool.CloseJournal())
}

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

// begin puts the only job of a crawl on the schedule.
func (c *crawler) begin(ctx context.Context, now time.Time, r *run) error {
	for _, s := range c.suspects {
		if s.Job == r.ID && s.Guilty() {
			r.guilty[s.URL] = true
		}
	}
	c.jobs.runs[r.ID] = r
	r.state = job.Running
	c.f.AddJob(r.frontierJob())
	return r.openBudget(ctx, now)
}

// newPool makes the workers that fetch, once there is a schedule.
func (c *crawler) newPool(j *journal.Journal) *fetchpool.Pool {
	return fetchpool.New(c.loop, fetchpool.Config{
		Workers: c.cfg.Workers, Slow: c.cfg.Slow, Parsers: c.cfg.ParseWorkers,
		Fetcher: c.cfg.Fetcher, Agent: c.cfg.Agent, Key: c.key,
		Robots: c.cfg.Robots, RobotsTimeout: c.cfg.RobotsTimeout, RobotsFiles: c.read.rules,
		OptedOut: c.cfg.OptedOut, Strained: c.cfg.Strained, Redirects: c.learner.redirects,
		Archives: fetchpool.ArchivesOf(c.cfg.Outputs), Journal: j, Meter: c.meter, Log: c.cfg.Log,
		Schedule: c.f, Landings: fetchpool.Landings{Page: c.learner.tookPage, Robots: c.learner.tookRobots, Sitemap: c.learner.tookSitemap},
	})
}

// again tells whether a question to the store that failed is put again.
func (c *crawler) again(err error) bool { return !lasting(err) && c.mode.again(err) }

// scarce tells whether there was no descriptor for a question to the store.
func scarce(err error) bool { return errors.Is(err, store.ErrScarce) || guard.NoDescriptor(err) }

// lasting tells whether an error of the store stays what it is when it is tried
// again.
func lasting(err error) bool {
	for _, e := range []error{store.ErrFenced, store.ErrNotWaiting, store.ErrTokens, store.ErrNotFound, store.ErrConflict, store.ErrCorrupt, store.ErrNewer} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
