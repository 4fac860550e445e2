package engine

import (
	"context"
	"iter"
	"log/slog"
	"net/netip"
	"time"

	"headway/ask"
	"headway/fetch"
	"headway/fetch/guard"
	"headway/frontier"
	"headway/gauge"
	"headway/limit"
	"headway/output"
	"headway/politeness"
	"headway/robots"
	"headway/scope"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// Job is what a crawl is asked for, complete: there are no defaults. The type of the same
// name in package headway says what each field means.
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
	Anew       bool
	Closed     bool // links are not followed
	DryRun     bool
	Policy     politeness.Policy
	Strangers  politeness.Policy
	Sitemaps   bool // are read
	MaxWaiting int64
}

// Bounds are how much a worker does at once, and keeps.
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

// Worker is what works on jobs, complete: there are no defaults. The type of the same
// name in package headway says what each field means.
type Worker struct {
	Store   store.Store
	Fetcher fetch.Fetcher
	Outputs []output.Writer
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

	Strained func() bool
	Lookups  func() guard.Layer
	Free     func() (int64, error)
	Drain    <-chan struct{}
	Mail     ask.Mail

	Log       *slog.Logger
	Gauge     *gauge.Gauge
	Joined    func(id store.WorkerID)
	Committed func(began time.Time, took time.Duration, visits int)
	Trace     frontier.Trace
}
