package engine

import (
	"context"
	"iter"
	"log/slog"
	"net/netip"
	"time"

	"headway/ask"
	"headway/content"
	"headway/extract"
	"headway/fetch"
	"headway/fetch/guard"
	"headway/frontier"
	"headway/gauge"
	"headway/governor"
	"headway/limit"
	"headway/output"
	"headway/politeness"
	"headway/robots"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Job describes a crawl, with all defaults filled in. The type of the same name in package
// headway documents the fields.
type Job struct {
	Name       string
	Spec       []byte
	Seeds      []weburl.URL
	Scope      scope.Config
	Fallback   map[string]weburl.URL
	Since      iter.Seq2[visit.Item, error]
	Known      func(ctx context.Context, u weburl.URL) (*visit.Visit, error)
	Widened    bool
	Limits     limit.Effective
	Continue   bool
	ResetUsage bool
	Closed     bool // links are not followed
	DryRun     bool
	Policy     politeness.Policy
	Strangers  politeness.Policy
	Sitemaps   bool // read sitemaps
	MaxWaiting int64
	Content    content.Options
	Extract    *extract.Rules
	Links      bool
	Raw        bool
}

// Bounds limits the concurrency and memory of a worker.
type Bounds struct {
	Workers       int
	Slow          int
	ParseWorkers  int
	RobotsWorkers int
	RobotsTimeout time.Duration
	RobotsCache   int64
	Head          int
	HotHosts      int
	SeenBytes     int64
	CommitGap     time.Duration
	MemoryLimit   int64
	MinFree       int64
	Ungoverned    bool
}

// Worker configures what works on jobs, with all defaults filled in. The type of the same
// name in package headway documents the fields.
type Worker struct {
	Store   store.Store
	Fetcher fetch.Fetcher
	Outputs []output.Writer
	Archive output.Archive
	Journal string
	Bounds
	Terms store.Terms

	Agent        string
	Owned        func(u weburl.URL) bool
	OptedOut     func(u weburl.URL) bool
	Secrets      []fetch.Secrets
	Addresses    func(netip.Addr) bool
	Robots       robots.Policy
	IgnoreRobots bool

	Overloaded func() bool
	Demand     func() governor.Demand
	Lookups    func() guard.Layer
	Free       func() (int64, error)
	Drain      <-chan struct{}
	Mail       ask.Mail

	Log       *slog.Logger
	Gauge     *gauge.Gauge
	Joined    func(id store.WorkerID)
	Committed func(began time.Time, took time.Duration, visits int)
	Trace     frontier.Trace
}
