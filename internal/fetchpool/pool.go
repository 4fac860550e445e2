// Package fetchpool is the worker pool. The loop starts a [Task] for a page, a robots.txt
// or a sitemap when it is due. A worker sends the request, parses the response and posts
// the result to the loop.
//
// The schedule has decided that the host may be contacted now. What can change until the
// first byte is checked again right before it is sent: the lease, a refusal by the host, an
// opt-out. A request that fails because of us ends with a local error, which says nothing
// about the host.
//
// Workers see only the task and the [Config]. All engine state stays on the loop:
// [Handlers], [Listing] and [Schedule] are called only there.
package fetchpool

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"headway/fetch"
	"headway/frontier"
	"headway/gauge"
	"headway/internal/loop"
	"headway/internal/redirects"
	"headway/output"
	"headway/robots"
	"headway/store/journal"
	"headway/weburl"
)

// Config is what the workers need. They use it concurrently.
type Config struct {
	Workers int // concurrent requests
	Slow    int // exchanges without progress, in addition to Workers
	Parsers int // bodies parsed at once

	Fetcher       fetch.Fetcher
	Agent         string     // our product token in robots.txt
	Key           weburl.Key // of fingerprints and slots
	Robots        robots.Policy
	RobotsTimeout time.Duration // for one robots.txt; 0 for that of the fetcher
	RobotsFiles   *robots.Cache
	OptedOut      func(weburl.URL) bool // hosts on the opt-out list
	Overloaded    func() bool           // our own CPU is short, so latencies say little about hosts
	Redirects     *redirects.Redirects
	Archives      Archives
	ReadLinks     bool             // outputs may read the links of visits
	Archive       output.Archive   // for jobs that keep raw responses; nil for none
	Journal       *journal.Journal // of the pages under way; nil for none
	Meter         *gauge.Meter
	Log           *slog.Logger

	Schedule Schedule
	Handlers Handlers
}

// Schedule is informed of the progress of requests. It is called on the loop.
type Schedule interface {
	// Sent reports that a request was sent.
	Sent(at time.Time, r frontier.Request)
	// Looking reports the start and end of the DNS lookup of the host.
	Looking(now time.Time, r frontier.Request, looking bool)
	// Slow reports that a request makes no progress. It returns false if there is no slow
	// place left.
	Slow(now time.Time, r frontier.Request) bool
	// Heard reports when a response last began.
	Heard(now, at time.Time)
}

// Handlers receive the results of tasks. They are called on the loop.
type Handlers struct {
	Page    func(now time.Time, l Page)
	Robots  func(now time.Time, l Robots)
	Sitemap func(now time.Time, l Sitemap)
}

// Pool is the worker pool. Its methods belong to the loop, except where they say otherwise.
type Pool struct {
	loop    *loop.Loop
	cfg     Config
	tasks   chan *underway
	parsers parsers
	heard   atomic.Int64 // when a response last began, in Unix nanoseconds

	started int // workers
	busy    int // tasks under way, except stalled ones
	stalled int // tasks without progress
}

// New returns a pool. Workers are started as needed.
func New(l *loop.Loop, cfg Config) *Pool {
	return &Pool{loop: l, cfg: cfg, tasks: make(chan *underway, cfg.Workers), parsers: parsers{places: make(chan struct{}, cfg.Parsers)}}
}

// Busy is how many tasks are under way and make progress.
func (p *Pool) Busy() int { return p.busy }

// Stalled is how many tasks are under way without progress.
func (p *Pool) Stalled() int { return p.stalled }

// Parsing is how many bodies are being parsed.
func (p *Pool) Parsing() int { return len(p.parsers.places) }

// WaitingToParse is how many bodies wait for a parser.
func (p *Pool) WaitingToParse() int64 { return p.parsers.waiting.Load() }

// Start hands a task to a worker. When ctx ends, so does the request.
func (p *Pool) Start(ctx context.Context, t Task) {
	if p.started == p.busy+p.stalled && p.started < p.cfg.Workers+p.cfg.Slow {
		p.started++
		p.loop.Go(p.work)
	}
	p.tasks <- &underway{Task: t, ctx: ctx, place: p.takePlace(t.Apart)}
}

// Close ends the workers after their current tasks.
func (p *Pool) Close() { close(p.tasks) }

// CloseJournal closes the journal, if there is one. No task may be under way.
func (p *Pool) CloseJournal() error {
	if p.cfg.Journal == nil {
		return nil
	}
	if err := p.cfg.Journal.Close(); err != nil {
		return fmt.Errorf("close the journal: %w", err)
	}
	return nil
}

// work is one worker: it runs tasks until the pool is closed.
func (p *Pool) work() {
	for t := range p.tasks {
		switch t.Request.Kind {
		case frontier.Robots:
			l := p.fetchRobots(t)
			p.loop.Post(func(now time.Time) { p.leavePlace(t.place); p.cfg.Handlers.Robots(now, l) })
		case frontier.Sitemap:
			done := p.fetchSitemap(t)
			p.loop.Post(func(time.Time) {
				p.leavePlace(t.place)
				if done {
					t.Listing.Done()
				}
			})
		case frontier.Page:
			l := p.fetchPage(t)
			p.loop.Post(func(now time.Time) { p.leavePlace(t.place); p.finishPage(now, l) })
		}
	}
}
