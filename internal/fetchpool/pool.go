// Package fetchpool is the workers that fetch. The loop starts a [Task]: a page, a
// robots.txt or a sitemap whose turn it is. A worker makes the request, reads the answer,
// and hands what came of it to the loop.
//
// The schedule has decided that the host may be contacted now. What can change between
// that decision and the first byte is checked again right before the byte leaves: the
// lease, a refusal of the host, an opt-out. A request that was not answered because of us
// ends as our own trouble, which says nothing about the host.
//
// Workers see only the task and the [Config]. Everything the engine remembers stays on
// the loop: [Landings], [Listing] and [Schedule] are called there and nowhere else.
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
	"headway/robots"
	"headway/store/journal"
	"headway/weburl"
)

// Config is what the workers need. Workers use it concurrently.
type Config struct {
	Workers int // requests under way at once
	Slow    int // exchanges without progress, beyond Workers
	Parsers int // bodies parsed at once

	Fetcher       fetch.Fetcher
	Agent         string     // our product token in robots.txt
	Key           weburl.Key // of fingerprints and slots
	Robots        robots.Policy
	RobotsTimeout time.Duration // of one robots.txt; 0 for that of the fetcher
	RobotsFiles   *robots.Cache
	OptedOut      func(weburl.URL) bool // hosts that asked not to be crawled
	Strained      func() bool           // response times are our own rather than the hosts'
	Redirects     *redirects.Redirects
	Archives      Archives
	Journal       *journal.Journal // of the pages under way; nil for none
	Meter         *gauge.Meter
	Log           *slog.Logger

	Schedule Schedule
	Landings Landings
}

// Schedule learns how requests go while they are under way. It is called on the loop.
type Schedule interface {
	// Sent reports that a request left.
	Sent(at time.Time, r frontier.Request)
	// Looking reports that the name of the host is looked up, or is no longer.
	Looking(now time.Time, r frontier.Request, looking bool)
	// Slow reports that a request makes no progress. It returns false if there is no
	// place left for it among the slow ones.
	Slow(now time.Time, r frontier.Request) bool
	// Heard reports when something last answered.
	Heard(now, at time.Time)
}

// Landings take what came of the tasks. They are called on the loop.
type Landings struct {
	Page    func(now time.Time, l Page)
	Robots  func(now time.Time, l Robots)
	Sitemap func(now time.Time, l Sitemap)
}

// Pool is the workers. Its methods belong to the loop, except where they say otherwise.
type Pool struct {
	loop    *loop.Loop
	cfg     Config
	tasks   chan *underway
	parsers parsers
	heard   atomic.Int64 // when something last answered, in Unix nanoseconds

	started  int // workers
	busy     int // tasks they have, except those without progress
	dragging int // tasks they have that make no progress
}

// New returns a pool without workers: they are started as they are needed.
func New(l *loop.Loop, cfg Config) *Pool {
	return &Pool{loop: l, cfg: cfg, tasks: make(chan *underway, cfg.Workers), parsers: parsers{places: make(chan struct{}, cfg.Parsers)}}
}

// Busy is how many tasks are under way and make progress.
func (p *Pool) Busy() int { return p.busy }

// Dragging is how many tasks are under way and make no progress.
func (p *Pool) Dragging() int { return p.dragging }

// Parsing is how many bodies are being parsed.
func (p *Pool) Parsing() int { return len(p.parsers.places) }

// WaitingToParse is how many bodies wait for a parser.
func (p *Pool) WaitingToParse() int64 { return p.parsers.waiting.Load() }

// Start gives a task to a worker. The context is that of its work: when it ends, so does
// the request.
func (p *Pool) Start(ctx context.Context, t Task) {
	if p.started == p.busy+p.dragging && p.started < p.cfg.Workers+p.cfg.Slow {
		p.started++
		p.loop.Go(p.work)
	}
	p.tasks <- &underway{Task: t, ctx: ctx, place: p.takePlace(t.Apart)}
}

// Close ends the workers after the tasks they have.
func (p *Pool) Close() { close(p.tasks) }

// CloseJournal closes the journal, if there is one: nothing is under way any more.
func (p *Pool) CloseJournal() error {
	if p.cfg.Journal == nil {
		return nil
	}
	if err := p.cfg.Journal.Close(); err != nil {
		return fmt.Errorf("close the journal: %w", err)
	}
	return nil
}

// work is one worker: it makes requests until there are no more.
func (p *Pool) work() {
	for t := range p.tasks {
		switch t.Request.Kind {
		case frontier.Robots:
			l := p.fetchRobots(t)
			p.loop.Post(func(now time.Time) { p.leavePlace(t.place); p.cfg.Landings.Robots(now, l) })
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
			p.loop.Post(func(now time.Time) { p.leavePlace(t.place); p.landPage(now, l) })
		}
	}
}
