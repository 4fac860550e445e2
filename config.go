package headway

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/netip"
	"runtime"
	"time"

	"headway/ask"
	"headway/fetch"
	"headway/fetch/guard"
	"headway/frontier"
	"headway/gauge"
	"headway/internal/engine"
	"headway/limit"
	"headway/output"
	"headway/politeness"
	"headway/robots"
	"headway/scope"
	"headway/store"
	"headway/survey"
	"headway/visit"
	"headway/weburl"
)

// Sitemaps says what is done with sitemaps.
type Sitemaps string

// The ways to treat sitemaps. The empty value is [SitemapsAuto].
const (
	SitemapsAuto Sitemaps = "auto" // read them beside following links
	SitemapsOnly Sitemaps = "only" // follow no links
	SitemapsOff  Sitemaps = "off"
)

// Job is what a crawl is asked for. Seeds are required; the rest is useful when zero.
// Nothing in it is the operator's: a worker of a fleet takes jobs from tenants.
type Job struct {
	Name  string // for people
	Spec  []byte // what was asked for, kept with the job; JSON
	Seeds []weburl.URL
	Scope scope.Config // Seeds and MaxDepth are filled in
	// Fallback has another seed for the host of a seed that nobody answers at:
	// http where https was only a guess.
	Fallback map[string]weburl.URL
	// Since are the URLs of an earlier crawl, asked for again with what is known
	// of them: what did not change ends as not modified. Nil for none.
	Since iter.Seq2[visit.Item, error]
	// Known tells what the earlier crawl, or an earlier run of this one, recorded
	// of a URL, nil where that is nothing: it is asked whether it changed, and a
	// page that did not is what it was. It is called by many goroutines at once.
	// Nil for nobody to ask.
	Known func(ctx context.Context, u weburl.URL) (*visit.Visit, error)
	// Widened says that what belongs to the crawl differs from when it last ran: what
	// was skipped for that and belongs to it now is crawled.
	Widened bool
	// Limits are the ceilings in force.
	Limits limit.Effective
	// Continue goes on with a job that has ended as partial.
	Continue bool
	// Anew counts time, requests and bytes towards the limits from when the job
	// last began to run, not from its first run. Pages are those it has.
	Anew bool
	// Closed looks for nothing new: what waits is all that is asked, and where a
	// redirect leads.
	Closed bool
	// DryRun asks for robots.txt and sitemaps alone. Every page that would be
	// fetched ends as deferred, and the crawl as complete.
	DryRun bool
	// Policy is how hosts are treated; zero means the default preset. One that
	// is only fit for owned hosts is not used for others: they get Strangers,
	// zero for the default preset.
	Policy     politeness.Policy
	Strangers  politeness.Policy
	Sitemaps   Sitemaps
	MaxWaiting int64 // waiting URLs beyond which new ones are deferred; 0 is no limit
}

// withDefaults returns the job with its defaults filled in.
func (j Job) withDefaults() Job {
	preset, _ := politeness.Preset(politeness.DefaultPreset)
	if j.Policy == (politeness.Policy{}) {
		j.Policy = preset
	}
	if j.Strangers == (politeness.Policy{}) {
		j.Strangers = preset
	}
	if j.Sitemaps == "" {
		j.Sitemaps = SitemapsAuto
	}
	if j.Closed {
		j.Sitemaps = SitemapsOff
	}
	return j
}

// validate joins all problems.
func (j *Job) validate() error {
	var problems []error
	if len(j.Seeds) == 0 {
		problems = append(problems, errors.New("no seed"))
	}
	switch j.Sitemaps {
	case SitemapsAuto, SitemapsOnly, SitemapsOff:
	default:
		problems = append(problems, fmt.Errorf("sitemaps %q: not auto, only or off", j.Sitemaps))
	}
	if err := j.Policy.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("policy: %w", err))
	}
	return errors.Join(problems...)
}

// Defaults of [Bounds].
const (
	DefaultWorkers       = 512
	DefaultMinFree       = 1 << 30
	DefaultRobotsWorkers = 64
)

// Bounds are how much a worker does at once, and keeps. Zero is the default.
type Bounds struct {
	Workers       int           // requests under way at once; [DefaultWorkers]
	Slow          int           // exchanges without progress, beyond Workers; 4096
	ParseWorkers  int           // bodies read at once; the number of CPUs
	RobotsWorkers int           // robots.txt asked for at once; [DefaultRobotsWorkers]
	RobotsTimeout time.Duration // of one robots.txt; that of the fetcher
	RobotsCache   int64         // bytes of compiled ones
	Head          int           // see package frontier
	HotHosts      int           // likewise
	SeenBytes     int64         // likewise
	CommitGap     time.Duration // commits start at least so far apart, unless many pages or a refusal wait
	// MemoryLimit is what the process may use; near it there are fewer fetches.
	// 0 is no limit.
	MemoryLimit int64
	// MinFree is how much room the store must have for anything to be fetched; below
	// zero there is no bound.
	MinFree    int64
	Ungoverned bool // keep all workers though the store falls behind
}

// Worker is what works on jobs, and all that is the operator's. Store and Fetcher are
// required; the rest is useful when zero.
type Worker struct {
	Store   store.Store
	Fetcher fetch.Fetcher
	Outputs []output.Writer // written while a crawl runs, finished when it has ended
	Journal string          // file of what is in flight; empty for none
	Bounds
	Terms store.Terms // of leases

	Agent     string                  // product token in robots.txt; "headway"
	Owned     func(u weburl.URL) bool // whose owner vouches; nil for none
	OptedOut  func(u weburl.URL) bool // who asked not to be crawled; nil for none
	Secrets   []fetch.Secrets         // for owned hosts
	Addresses func(netip.Addr) bool   // to which the interval per address applies; nil for none
	Robots    robots.Policy
	// IgnoreRobots leaves robots.txt of owned hosts unread; it is written into
	// the evidence.
	IgnoreRobots bool

	// Strained tells whether response times are our own rather than the hosts',
	// as Strain of package governor does; nil means never.
	Strained func() bool
	// Lookups tells how the layer of name lookups stands; nil if nobody knows.
	Lookups func() guard.Layer
	// Free tells how much room the store has left; nil where that cannot run out.
	Free func() (int64, error)
	// Drain, when closed, ends the work after what is in flight. Cancelling the
	// context ends it at once. Either way it can be resumed.
	Drain <-chan struct{}
	// Mail brings questions and orders to a crawl; nil for none. A worker of a fleet
	// has those of its store.
	Mail ask.Mail

	Log   *slog.Logger // nil for none
	Gauge *gauge.Gauge // shows how it stands; nil for nobody who looks
	// Joined is called with the id of the worker each time it has joined the store;
	// nil for none.
	Joined func(id store.WorkerID)
	// Committed is told by the loop of each commit, and must not block; nil for
	// nobody.
	Committed func(began time.Time, took time.Duration, visits int)
	Trace     frontier.Trace // watches the schedule
}

// withDefaults returns the worker with its defaults filled in.
func (w Worker) withDefaults() Worker {
	if w.Owned == nil {
		w.Owned = func(weburl.URL) bool { return false }
	}
	if w.OptedOut == nil {
		w.OptedOut = func(weburl.URL) bool { return false }
	}
	if w.Strained == nil {
		w.Strained = func() bool { return false }
	}
	if w.Agent == "" {
		w.Agent = "headway"
	}
	if w.Workers <= 0 {
		w.Workers = DefaultWorkers
	}
	if w.Slow <= 0 {
		w.Slow = frontier.DefaultSlow
	}
	if w.ParseWorkers <= 0 {
		w.ParseWorkers = runtime.GOMAXPROCS(0)
	}
	if w.RobotsWorkers <= 0 {
		w.RobotsWorkers = DefaultRobotsWorkers
	}
	if w.MinFree == 0 {
		w.MinFree = DefaultMinFree
	}
	if w.Log == nil {
		w.Log = slog.New(slog.DiscardHandler)
	}
	w.Terms = w.Terms.WithDefaults()
	return w
}

// validate joins all problems.
func (w *Worker) validate() error {
	var problems []error
	if w.Store == nil {
		problems = append(problems, errors.New("no store"))
	}
	if w.Fetcher == nil {
		problems = append(problems, errors.New("no fetcher"))
	}
	if err := w.Terms.Check(); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// prepare fills in the defaults of a worker and a job, and joins all problems.
func prepare(w Worker, j Job) (Worker, Job, error) {
	w, j = w.withDefaults(), j.withDefaults()
	return w, j, errors.Join(j.validate(), w.validate())
}

// engine is the job as the engine takes it.
func (j *Job) engine() engine.Job {
	return engine.Job{
		Name: j.Name, Spec: j.Spec, Seeds: j.Seeds, Scope: j.Scope, Fallback: j.Fallback, Since: j.Since, Known: j.Known, Widened: j.Widened,
		Limits: j.Limits, Continue: j.Continue, Anew: j.Anew, Closed: j.Closed || j.Sitemaps == SitemapsOnly, DryRun: j.DryRun,
		Policy: j.Policy, Strangers: j.Strangers, Sitemaps: j.Sitemaps != SitemapsOff, MaxWaiting: j.MaxWaiting,
	}
}

// engine is the worker as the engine takes it.
func (w *Worker) engine() engine.Worker {
	return engine.Worker{
		Store: w.Store, Fetcher: w.Fetcher, Outputs: w.Outputs, Journal: w.Journal, Bounds: engine.Bounds(w.Bounds), Terms: w.Terms,
		Agent: w.Agent, Owned: w.Owned, OptedOut: w.OptedOut, Secrets: w.Secrets, Addresses: w.Addresses, Robots: w.Robots, IgnoreRobots: w.IgnoreRobots,
		Strained: w.Strained, Lookups: w.Lookups, Free: w.Free, Drain: w.Drain, Mail: w.Mail,
		Log: w.Log, Gauge: w.Gauge, Joined: w.Joined, Committed: w.Committed, Trace: w.Trace,
	}
}

// Survey is the config for a look at the hosts of a job's seeds before it is begun.
func Survey(w Worker, j Job) (survey.Config, error) {
	w, j, err := prepare(w, j)
	if err != nil {
		return survey.Config{}, fmt.Errorf("survey: %w", err)
	}
	j.Scope.Seeds, j.Scope.MaxDepth = j.Seeds, int(j.Limits.Max(limit.Depth))
	return survey.Config{
		Store: w.Store, Fetcher: w.Fetcher, Agent: w.Agent, Seeds: j.Seeds, Fallback: j.Fallback, Scope: j.Scope, Sitemaps: j.Sitemaps != SitemapsOff,
		Policy: j.Policy, Strangers: j.Strangers, Robots: w.Robots, RobotsTimeout: w.RobotsTimeout, IgnoreRobots: w.IgnoreRobots,
		Owned: w.Owned, OptedOut: w.OptedOut, Secrets: w.Secrets,
	}, nil
}
