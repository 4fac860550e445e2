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
	"headway/survey"
	"headway/visit"
	"headway/weburl"
)

// Fetcher makes exchanges. [*fetch.Client] is one; its documentation says what
// a call promises.
type Fetcher interface {
	Do(ctx context.Context, req fetch.Request) (*fetch.Result, error)
	Robots(ctx context.Context, req fetch.Request) (last *fetch.Result, hops []weburl.URL, err error)
}

// Sitemaps says what is done with sitemaps.
type Sitemaps string

// The ways to treat sitemaps. The empty value is [SitemapsAuto].
const (
	SitemapsAuto Sitemaps = "auto" // read them beside following links
	SitemapsOnly Sitemaps = "only" // follow no links
	SitemapsOff  Sitemaps = "off"
)

// Defaults of [Config].
const (
	DefaultWorkers       = 512
	DefaultMinFree       = 1 << 30
	DefaultRobotsWorkers = 64
)

// Config is one crawl. Store, Fetcher and Seeds are required; the rest is
// useful when zero.
type Config struct {
	Store   store.Store
	Fetcher Fetcher
	Outputs []output.Writer // written while the crawl runs, finished when it has ended
	Journal string          // file of what is in flight; empty for none

	Name  string // of the job, for people
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
	Policy    politeness.Policy
	Strangers politeness.Policy
	Robots    robots.Policy
	Owned     func(u weburl.URL) bool // whose owner vouches; nil for none
	Secrets   []fetch.Secrets         // for owned hosts
	// IgnoreRobots leaves robots.txt of owned hosts unread; it is written into
	// the evidence.
	IgnoreRobots bool
	Agent        string                  // product token in robots.txt; "headway"
	OptedOut     func(u weburl.URL) bool // who asked not to be crawled; nil for none
	Sitemaps     Sitemaps
	Addresses    func(netip.Addr) bool // to which the interval per address applies; nil for none

	Workers       int           // requests under way at once
	Slow          int           // exchanges without progress, beyond Workers; 4096
	ParseWorkers  int           // bodies read at once; the number of CPUs
	RobotsWorkers int           // robots.txt asked for at once; 64
	RobotsTimeout time.Duration // of one robots.txt; that of the fetcher
	RobotsCache   int64         // bytes of compiled ones
	Ungoverned    bool          // keep all workers though the store falls behind
	MaxWaiting    int64         // waiting URLs beyond which new ones are deferred; 0 is no limit
	Head          int           // see package frontier
	HotHosts      int           // likewise
	SeenBytes     int64         // likewise
	CommitGap     time.Duration // commits start at least so far apart, unless many pages or a refusal wait
	Terms         store.Terms   // of leases

	// Strained tells whether response times are our own rather than the hosts',
	// as [Strain.Strained] does; nil means never.
	Strained func() bool

	// Lookups tells how the layer of name lookups stands; nil if nobody knows.
	Lookups func() guard.Layer

	// MemoryLimit is what the process may use; near it there are fewer fetches.
	// 0 is no limit.
	MemoryLimit int64

	// Free tells how much room the store has left; nil where that cannot run
	// out. Below MinFree nothing is fetched; zero is 1 GiB, below zero is no bound.
	Free    func() (int64, error)
	MinFree int64

	// Drain, when closed, ends the crawl after what is in flight. Cancelling the
	// context of [Crawl.Run] ends it at once. Either way it can be resumed.
	Drain <-chan struct{}

	// Mail brings questions and orders while the crawl runs; nil for none.
	Mail Mail

	Log   *slog.Logger // nil for none
	Gauge *gauge.Gauge // shows how it stands; nil for nobody who looks
	// Committed is told by the loop of each commit, and must not block; nil for
	// nobody.
	Committed func(began time.Time, took time.Duration, visits int)
	Trace     frontier.Trace // watches the schedule
}

// withDefaults returns the config with its defaults filled in.
func (c Config) withDefaults() Config {
	preset, _ := politeness.Preset(politeness.DefaultPreset)
	if c.Policy == (politeness.Policy{}) {
		c.Policy = preset
	}
	if c.Strangers == (politeness.Policy{}) {
		c.Strangers = preset
	}
	if c.Owned == nil {
		c.Owned = func(weburl.URL) bool { return false }
	}
	if c.OptedOut == nil {
		c.OptedOut = func(weburl.URL) bool { return false }
	}
	if c.Strained == nil {
		c.Strained = func() bool { return false }
	}
	if c.Agent == "" {
		c.Agent = "headway"
	}
	if c.Sitemaps == "" {
		c.Sitemaps = SitemapsAuto
	}
	if c.Closed {
		c.Sitemaps = SitemapsOff
	}
	if c.Workers <= 0 {
		c.Workers = DefaultWorkers
	}
	if c.Slow <= 0 {
		c.Slow = frontier.DefaultSlow
	}
	if c.ParseWorkers <= 0 {
		c.ParseWorkers = runtime.GOMAXPROCS(0)
	}
	if c.RobotsWorkers <= 0 {
		c.RobotsWorkers = DefaultRobotsWorkers
	}
	if c.MinFree == 0 {
		c.MinFree = DefaultMinFree
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Terms = c.Terms.WithDefaults()
	return c
}

// Survey is the config for a look at the hosts of the seeds before a crawl.
func (c Config) Survey() (survey.Config, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return survey.Config{}, fmt.Errorf("survey: %w", err)
	}
	c.Scope.Seeds, c.Scope.MaxDepth = c.Seeds, int(c.Limits.Max(limit.Depth))
	return survey.Config{
		Store: c.Store, Fetcher: c.Fetcher, Agent: c.Agent, Seeds: c.Seeds, Fallback: c.Fallback, Scope: c.Scope, Sitemaps: c.Sitemaps != SitemapsOff,
		Policy: c.Policy, Strangers: c.Strangers, Robots: c.Robots, RobotsTimeout: c.RobotsTimeout, IgnoreRobots: c.IgnoreRobots,
		Owned: c.Owned, OptedOut: c.OptedOut, Secrets: c.Secrets,
	}, nil
}

// validate joins all problems.
func (c *Config) validate() error {
	var problems []error
	if len(c.Seeds) == 0 {
		problems = append(problems, errors.New("no seed"))
	}
	problems = append(problems, c.validateWorker())
	switch c.Sitemaps {
	case SitemapsAuto, SitemapsOnly, SitemapsOff:
	default:
		problems = append(problems, fmt.Errorf("sitemaps %q: not auto, only or off", c.Sitemaps))
	}
	if err := c.Policy.Validate(); err != nil {
		problems = append(problems, fmt.Errorf("policy: %w", err))
	}
	return errors.Join(problems...)
}

// validateWorker joins the problems of what is no job's.
func (c *Config) validateWorker() error {
	var problems []error
	if c.Store == nil {
		problems = append(problems, errors.New("no store"))
	}
	if c.Fetcher == nil {
		problems = append(problems, errors.New("no fetcher"))
	}
	if err := c.Terms.Check(); err != nil {
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}
