package headway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"headway/frontier"
	"headway/governor"
	"headway/internal/committer"
	"headway/internal/control"
	"headway/internal/fetchpool"
	"headway/internal/loop"
	"headway/internal/redirects"
	"headway/job"
	"headway/limit"
	"headway/output"
	"headway/robots"
	"headway/store"
	"headway/store/journal"
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

	runs  map[job.ID]*run
	alone *run   // the only one there will be; nil in a fleet
	fleet *fleet // what is shared with other workers; nil for one alone

	worker store.WorkerID

	rules    *robots.Cache
	suspects []journal.Suspect
	versions map[robots.Sum]bool // of robots.txt that are stored

	pool      *fetchpool.Pool
	gov       *governor.Governor
	redirects *redirects.Redirects
	control   *control.Control

	outbox     *committer.Outbox
	refills    []frontier.Want
	refilling  bool
	sifts      []frontier.Sift // queues to be judged by a robots.txt that is new
	sifting    bool
	siftStored func()         // called when what it ended is stored
	tokens     int            // reservations under way
	rates      store.Timeline // of tenants, where nobody shares the store

	upAt     time.Time // when the time of the next job is up; zero: of none
	lowDisk  bool
	lowSince time.Time
	reading  bool              // hosts are being read
	reads    []store.HostQuery // further hosts to be read
	free     int64             // room on the disk, as last seen
}

func newCrawler(cfg Worker) *crawler {
	c := &crawler{
		base: newBase(cfg), runs: map[job.ID]*run{}, versions: map[robots.Sum]bool{},
		rates: store.Timeline{}, rules: robots.NewCache(cfg.RobotsCache, robotsSource{cfg.Store}),
		outbox: committer.NewOutbox(),
		gov:    governor.New(governor.Config{Workers: cfg.Workers, CommitTarget: slowCommit, CommitPages: store.MaxVisits}),
	}
	c.loop = loop.New(loop.Config{Room: 4 * cfg.Workers, Asked: c.meter.Stored, Again: c.again, Scarce: scarce, Log: cfg.Log})
	c.commits = c.newCommitter()
	c.redirects = redirects.New(c.st, c.loop.Retry)
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
	c.commits.Begin(c.worker)
	sent := time.Now()
	// By the time of now, not of before: joining may have taken long.
	leases, err := c.st.Acquire(ctx, c.loop.Now(), c.worker, slots)
	if err != nil {
		return fmt.Errorf("acquire slots: %w", err)
	}
	c.slots.Own(leases)
	if _, err := c.keep(ctx); err != nil {
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
		Suspects: suspects, Forbidden: c.forbidden, Trace: c.watching(c.cfg.Trace),
	}, now)
	c.pool = c.newPool(inFlight)
	c.control = c.newControl()
	return nil
}

// crawl runs the loop and everything it needs.
func (c *crawler) crawl(ctx context.Context) error {
	work := c.shutdown.begin(ctx)
	c.loop.During(work)
	c.lease.Begin(work)
	defer c.stopWork(nil)
	var helpers sync.WaitGroup
	helpers.Go(func() { c.lease.Keep(work) })
	if c.fleet != nil {
		helpers.Go(func() { c.await(work) })
	}
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
	return errors.Join(c.returnTokens(ctx, now), c.yieldAll(ctx, now))
}

// leave ends the part in the store cleanly.
func (c *crawler) leave(ctx context.Context) error {
	var err error
	if left := c.st.Leave(ctx, c.worker); left != nil {
		err = fmt.Errorf("leave the store: %w", left)
	}
	return errors.Join(err, c.pool.CloseJournal())
}

// returnTokens gives back page tokens that were not used.
func (c *crawler) returnTokens(ctx context.Context, now time.Time) error {
	var list []store.Return
	for id, r := range c.runs {
		if n := c.f.Unused(id); n > 0 && r.cfg.Limits.Of(limit.Pages).Limited() {
			list = append(list, store.Return{Job: id, Tokens: n})
		}
	}
	return c.commits.Return(ctx, now, list)
}
