package headway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/netip"
	"runtime"
	"slices"
	"time"

	"headway/ask"
	"headway/content"
	"headway/extract"
	"headway/fetch"
	"headway/fetch/guard"
	"headway/frontier"
	"headway/gauge"
	"headway/governor"
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

// Sitemaps selects how sitemaps are used.
type Sitemaps string

// The ways to use sitemaps. The empty value is [SitemapsAuto].
const (
	SitemapsAuto Sitemaps = "auto" // read them and follow links
	SitemapsOnly Sitemaps = "only" // follow no links
	SitemapsOff  Sitemaps = "off"
)

// Job describes a crawl. Seeds are required; zero values of the rest are useful. It has no
// operator settings: a worker of a fleet takes jobs from tenants.
type Job struct {
	Name  string // for people
	Spec  []byte // the request, stored with the job; JSON
	Seeds []weburl.URL
	Scope scope.Config // Seeds and MaxDepth are filled in
	// Fallback has an alternative seed for the host of a seed that cannot be connected to:
	// http where https was only a guess.
	Fallback map[string]weburl.URL
	// Since are the URLs of an earlier crawl, for an incremental crawl: they are requested
	// again with their validators, and unchanged ones end as not modified. Nil for none.
	Since iter.Seq2[visit.Item, error]
	// Known returns what the earlier crawl, or an earlier run of this one, recorded about a
	// URL, nil if nothing. It is used for conditional requests and for the content of
	// unchanged pages. It is called concurrently. Nil for none.
	Known func(ctx context.Context, u weburl.URL) (*visit.Visit, error)
	// Widened says that the scope differs from the last run: skipped URLs that are in scope
	// now are crawled.
	Widened bool
	// Limits are the ceilings in force.
	Limits limit.Effective
	// Continue resumes a job that ended as partial.
	Continue bool
	// ResetUsage counts time, requests and bytes towards the limits from the last start of
	// the job, not from its first run. Pages are counted over all runs.
	ResetUsage bool
	// Closed stops discovery: only waiting URLs and redirect targets are fetched.
	Closed bool
	// DryRun fetches robots.txt and sitemaps only. Every page that would be fetched ends as
	// deferred, and the crawl as complete.
	DryRun bool
	// Policy is the politeness policy; zero means the default preset. A policy that is only
	// fit for owned hosts is not used for others: they get Strangers, whose zero value is
	// the default preset.
	Policy     politeness.Policy
	Strangers  politeness.Policy
	Sitemaps   Sitemaps
	MaxWaiting int64 // waiting URLs beyond which new ones are deferred; 0 is no limit
	// Content says what to keep of the main text of pages; zero keeps nothing.
	Content content.Options
	// Extract are the rules for the fields of pages; nil for none.
	Extract *extract.Rules
	// Links keeps every link of every fetched page, with its text, in the store.
	Links bool
	// Raw keeps what servers sent for each page in the archive of the worker, which must have
	// one. Responses to attempts that are retried are not kept.
	Raw bool
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

// Bounds limits the concurrency and memory of a worker. Zero values mean the default.
type Bounds struct {
	Workers       int           // concurrent requests; [DefaultWorkers]
	Slow          int           // exchanges without progress, in addition to Workers; 4096
	ParseWorkers  int           // bodies parsed at once; the number of CPUs
	RobotsWorkers int           // robots.txt fetched at once; [DefaultRobotsWorkers]
	RobotsTimeout time.Duration // for one robots.txt; that of the fetcher
	RobotsCache   int64         // bytes of parsed robots.txt files
	Head          int           // see package frontier
	HotHosts      int           // likewise
	SeenBytes     int64         // likewise
	CommitGap     time.Duration // least time between commits, unless many pages or a refusal wait
	// MemoryLimit is the memory the process may use; near it there are fewer fetches. 0 is
	// no limit.
	MemoryLimit int64
	// MinFree is the free disk space below which nothing is fetched; negative for no bound.
	MinFree    int64
	Ungoverned bool // disable the governor's back-pressure
}

// Worker configures what works on jobs, including all operator settings. Store and Fetcher
// are required; zero values of the rest are useful.
type Worker struct {
	Store   store.Store
	Fetcher fetch.Fetcher
	Outputs []output.Writer // written during the crawl, finished at its end
	// OnPage is called for each fetched page, with its body, one page after the other, before
	// the page is stored; nil for none. The crawl waits if it is slow, and ends if it returns
	// an error or panics: see [output.BodyWriter], which has more settings.
	OnPage func(ctx context.Context, p *output.Page) error
	// Archive is where the exchanges of jobs with Raw go; nil for none. The store must be one
	// for fleets.
	Archive output.Archive
	Journal string // file of the requests in flight; empty for none
	Bounds
	Terms store.Terms // of leases

	Agent     string                  // product token in robots.txt; "headway"
	Owned     func(u weburl.URL) bool // owned hosts; nil for none
	OptedOut  func(u weburl.URL) bool // opt-outs; nil for none
	Secrets   []fetch.Secrets         // for owned hosts
	Addresses func(netip.Addr) bool   // addresses that the interval per address applies to; nil for none
	Robots    robots.Policy
	// IgnoreRobots skips the robots.txt of owned hosts; it is recorded in the evidence.
	IgnoreRobots bool

	// CPU measures how much CPU this process lacks; nil means that it lacks none.
	CPU CPU
	// Lookups returns the state of the layer of DNS lookups; nil for none.
	Lookups func() guard.Layer
	// Free returns the free space of the store; nil if it cannot run out.
	Free func() (int64, error)
	// Drain, when closed, ends the work after the requests in flight. Cancelling the
	// context ends it at once. Either way it can be resumed.
	Drain <-chan struct{}
	// Mail receives questions and orders for a crawl; nil for none. A worker of a fleet
	// receives them from its store.
	Mail ask.Mail

	Log   *slog.Logger // nil for none
	Gauge *gauge.Gauge // publishes its state; nil for none
	// Joined is called with the id of the worker each time it has joined the store; nil for
	// none.
	Joined func(id store.WorkerID)
	// Committed is called by the loop after each commit, and must not block; nil for none.
	Committed func(began time.Time, took time.Duration, visits int)
	Trace     frontier.Trace // observes the schedule
}

// CPU measures how much CPU a process needs. [governor.CPU] implements it.
type CPU interface {
	// Overloaded reports whether response times measure our own lack of CPU rather than the
	// hosts. It may be called from several goroutines.
	Overloaded() bool
	// Demand returns how many goroutines have used a CPU or waited for one since the last
	// call. It tells which part of host time was spent on that.
	Demand() governor.Demand
}

// plentyOfCPU is the CPU of a process that does not measure it.
type plentyOfCPU struct{}

func (plentyOfCPU) Overloaded() bool        { return false }
func (plentyOfCPU) Demand() governor.Demand { return governor.Demand{} }

// withDefaults returns the worker with its defaults filled in.
func (w Worker) withDefaults() Worker {
	if w.Owned == nil {
		w.Owned = func(weburl.URL) bool { return false }
	}
	if w.OptedOut == nil {
		w.OptedOut = func(weburl.URL) bool { return false }
	}
	if w.CPU == nil {
		w.CPU = plentyOfCPU{}
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

// takeBodies adds the output that calls OnPage, and returns what is to be closed at the end.
func (w *Worker) takeBodies() io.Closer {
	if w.OnPage == nil {
		return io.NopCloser(nil)
	}
	bodies := output.NewBodyWriter(w.OnPage, output.BodyConfig{})
	w.Outputs = append(slices.Clip(w.Outputs), bodies)
	return bodies
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

// fits reports whether the worker has what a job needs.
func (w *Worker) fits(j *Job) error {
	if j.Raw && w.Archive == nil {
		return errors.New("the job keeps raw responses, but this worker has no archive; start it with --archive (in Go, set Worker.Archive)")
	}
	return nil
}

// prepare fills in the defaults of a worker and a job, and joins all problems.
func prepare(w Worker, j Job) (Worker, Job, error) {
	w, j = w.withDefaults(), j.withDefaults()
	return w, j, errors.Join(j.validate(), w.validate(), w.fits(&j))
}

// engine converts the job for the engine.
func (j *Job) engine() engine.Job {
	return engine.Job{
		Name: j.Name, Spec: j.Spec, Seeds: j.Seeds, Scope: j.Scope, Fallback: j.Fallback, Since: j.Since, Known: j.Known, Widened: j.Widened,
		Limits: j.Limits, Continue: j.Continue, ResetUsage: j.ResetUsage, Closed: j.Closed || j.Sitemaps == SitemapsOnly, DryRun: j.DryRun,
		Policy: j.Policy, Strangers: j.Strangers, Sitemaps: j.Sitemaps != SitemapsOff, MaxWaiting: j.MaxWaiting, Content: j.Content, Extract: j.Extract, Links: j.Links, Raw: j.Raw,
	}
}

// engine converts the worker for the engine.
func (w *Worker) engine() engine.Worker {
	return engine.Worker{
		Store: w.Store, Fetcher: w.Fetcher, Outputs: w.Outputs, Archive: w.Archive, Journal: w.Journal, Bounds: engine.Bounds(w.Bounds), Terms: w.Terms,
		Agent: w.Agent, Owned: w.Owned, OptedOut: w.OptedOut, Secrets: w.Secrets, Addresses: w.Addresses, Robots: w.Robots, IgnoreRobots: w.IgnoreRobots,
		Overloaded: w.CPU.Overloaded, Demand: w.CPU.Demand, Lookups: w.Lookups, Free: w.Free, Drain: w.Drain, Mail: w.Mail,
		Log: w.Log, Gauge: w.Gauge, Joined: w.Joined, Committed: w.Committed, Trace: w.Trace,
	}
}

// Survey returns the config for a survey of a job's hosts before it is started.
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
