package fetchpool

import (
	"context"
	"sync/atomic"
	"time"

	"headway/content"
	"headway/extract"
	"headway/frontier"
	"headway/internal/discovery"
	"headway/internal/exchange"
	"headway/robots"
	"headway/visit"
	"headway/weburl"
)

// Task is one request with what a worker needs to know about its host and job.
type Task struct {
	Request frontier.Request
	Apart   bool // it uses a slow place from the start
	Lease   Lease

	Host         exchange.Host
	Gate         *exchange.Gate
	Departures   *Departures
	Promise      Promise // what the schedule promised the host
	Robots       robots.State
	IgnoreRobots bool

	Job       Job     // of a page or a sitemap
	Listing   Listing // of a sitemap
	First     bool    // of a page: the first of its job on the host, so its sitemaps are wanted
	JudgeOnly bool    // of a page: check robots.txt, but do not fetch
	// Follow, of a robots.txt, reserves another request before a redirect is followed. It may
	// block. Nil means that there is no limit.
	Follow func(ctx context.Context) error
}

// Job is what a worker needs to know about a job. It does not change while the job runs.
type Job struct {
	Rules    *discovery.Rules
	Known    Known
	DryRun   bool  // pages are not requested
	Leaves   bool  // some pages are fetched once and their links not followed
	MaxBytes int64 // of one body: a larger one exceeds the job's limit; 0 for no limit
	Content  content.Options
	Extract  *extract.Rules
	Links    bool // the links of pages are kept
	Raw      bool // the exchanges of pages are kept, in the archive
}

// Known is what an earlier crawl recorded.
type Known interface {
	// Remember adds the validators of the last visit to an item.
	Remember(ctx context.Context, item *visit.Item) error
	// Recall copies the recorded page to a visit that was not modified.
	Recall(ctx context.Context, v *visit.Visit) error
}

// Lease is a task's right to send requests. It may be used from any goroutine.
type Lease interface {
	// Context is the context of a request: ctx, or one that ends with the lease.
	Context(ctx context.Context) context.Context
	// MayStart is called right before the first byte of a request. An error stops it.
	MayStart(now time.Time) error
	// Fence is called before bytes leave on a shared connection. An error closes the
	// connection.
	Fence() error
	// LocalError returns the local error behind a failed request: nil, unless the lease
	// expired.
	LocalError(err error) error
	// Interrupted reports that the process was suspended since the task was handed out, so
	// that latencies are unknown.
	Interrupted() bool
}

// Listing receives what a sitemap lists. It is called on the loop.
type Listing interface {
	// Store stores links, then calls stored.
	Store(now time.Time, links []discovery.Link, stored func())
	// Moved requests the sitemap at its new location.
	Moved(to weburl.URL)
	// Nested requests the sitemaps that an index lists.
	Nested(sitemaps []weburl.URL)
	// Done reports that the sitemap was read as far as possible and need not be fetched
	// again.
	Done()
}

// underway is a task that has been started.
type underway struct {
	Task
	ctx   context.Context // of its work
	place *place

	followed  atomic.Int64 // redirects of robots.txt, each reserved with Follow
	maybeSent atomic.Int64 // requests that may have been sent
}
