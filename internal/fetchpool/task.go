package fetchpool

import (
	"context"
	"time"

	"headway/frontier"
	"headway/internal/discovery"
	"headway/internal/exchange"
	"headway/robots"
	"headway/visit"
	"headway/weburl"
)

// Task is one request with what a worker needs to know of its host and its job.
type Task struct {
	Request frontier.Request
	Apart   bool // it has a place among the slow exchanges from the beginning
	Lease   Lease

	Host         exchange.Host
	Gate         *exchange.Gate
	Departures   *Departures
	Promise      Promise // what the schedule promised to the host
	Robots       robots.State
	IgnoreRobots bool

	Job       Job     // of a page or a sitemap
	Listing   Listing // of a sitemap
	First     bool    // of a page: the first of its job on the host, so its sitemaps are wanted
	JudgeOnly bool    // of a page: ask robots.txt about it and no more
}

// Job is what a worker needs to know of a job. None of it changes while the job runs.
type Job struct {
	Rules    *discovery.Rules
	Known    Known
	DryRun   bool  // pages are not requested
	Leaves   bool  // some pages are requested once, and their links not followed
	MaxBytes int64 // of one body: a larger one exceeds the job's limit; 0 for no limit
}

// Known is what an earlier crawl recorded.
type Known interface {
	// Remember gives an item the validators of its last visit.
	Remember(ctx context.Context, item *visit.Item) error
	// Recall gives the visit of a page that did not change what was read of it then.
	Recall(ctx context.Context, v *visit.Visit) error
}

// Lease is the right to send requests, as a task has it. It may be called from any
// goroutine.
type Lease interface {
	// Context is that of a request: ctx, or one that ends with the lease.
	Context(ctx context.Context) context.Context
	// MayStart is called right before the first byte of a request. An error stops it.
	MayStart(now time.Time) error
	// Fence is called before bytes leave on a connection that requests share. An error
	// closes the connection.
	Fence() error
	// Trouble returns our own trouble behind the error of a request: nil, unless the
	// lease ran out.
	Trouble(err error) error
	// Interrupted reports that the process was stopped since the task was handed out,
	// so that nobody knows how long an answer took.
	Interrupted() bool
}

// Listing takes what a sitemap lists. It is called on the loop.
type Listing interface {
	// Store stores links, and calls stored when that is done.
	Store(now time.Time, links []discovery.Link, stored func())
	// Moved has the sitemap fetched from where it is now.
	Moved(to weburl.URL)
	// Nested has the sitemaps fetched that an index lists.
	Nested(sitemaps []weburl.URL)
	// Done reports that the sitemap was read as far as it can be, and need not be
	// fetched again.
	Done()
}

// underway is a task that a worker has, or waits for one.
type underway struct {
	Task
	ctx   context.Context // of its work
	place *place
}
