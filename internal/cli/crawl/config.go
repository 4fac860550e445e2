package crawl

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"headway"
	"headway/answer"
	"headway/fetch/guard"
	"headway/internal/cli/command"
	"headway/limit"
	"headway/output"
	"headway/robots"
	"headway/scope"
	"headway/store"
)

// crawlName is the name of the one job in a folder.
const crawlName = "crawl"

// crawlConfig is a crawl of the command line: what is asked for, and what works on it.
type crawlConfig struct {
	headway.Worker
	headway.Job
}

// essentials are what a crawl of the settings would ask for and how, without where
// it is kept: all that a look ahead needs.
func (c *crawlRun) essentials() (crawlConfig, error) {
	s := c.Settings
	policy, err := s.Policy()
	if err != nil {
		return crawlConfig{}, command.Usage(err, "headway config shows every setting and where it was set")
	}
	secrets, err := c.secrets()
	if err != nil {
		return crawlConfig{}, err
	}
	optedOut, err := command.ReadOptOuts()
	if err != nil {
		return crawlConfig{}, err
	}
	product, _ := s.Product()
	return crawlConfig{
		headway.Worker{
			Fetcher: c.Client, Agent: cmp.Or(product, command.Product), Owned: c.Owns, OptedOut: optedOut, Secrets: secrets,
			Robots: robots.Policy{AllowUnreachable: policy.AllowUnreachableRobots}, IgnoreRobots: s.IgnoreRobots,
			Bounds: headway.Bounds{RobotsTimeout: s.Robots.Timeout}, Log: c.Log,
		},
		headway.Job{
			Name: crawlName, Seeds: c.seeds.URLs, Fallback: c.seeds.fallback,
			Scope:  scope.Config{Mode: scope.Mode(s.Scope), Hosts: s.ScopeHosts, Include: s.Include, Exclude: s.Exclude, Files: s.Files},
			Limits: limit.Resolve(s.Layers()...), Policy: policy, Sitemaps: headway.Sitemaps(s.Sitemaps), Content: s.ContentOptions(), Extract: s.Extract, Links: s.Links,
		},
	}, nil
}

// config makes the crawl that the settings ask for.
func (c *crawlRun) config(ctx context.Context, st store.Store) (crawlConfig, error) {
	s := c.Settings
	cfg, err := c.essentials()
	if err != nil {
		return cfg, err
	}
	for _, capped := range cfg.Limits.Capped() {
		fmt.Fprintf(c.Err, "headway: warning: %s\n", capped)
	}
	for _, l := range cfg.Limits.Ceilings() {
		if l.Limit.Rule().Extent {
			c.limits = append(c.limits, l.String())
		}
	}
	asked := answer.CrawlSpec{
		Scope: s.Scope, ScopeHosts: s.ScopeHosts, Include: s.Include, Exclude: s.Exclude, Files: s.Files, Preset: s.Preset, Sitemaps: s.Sitemaps, Content: s.Content, Extract: s.Extract.String(), Links: s.Links,
		IgnoreRobots: s.IgnoreRobots, MaxWaiting: s.Frontier.MaxWaiting,
		UserAgent: c.Identity.UserAgent(), Contact: c.Identity.Contact, Token: cfg.Agent, Policy: cfg.Policy, Owned: s.Owned, AllowPrivate: s.AllowPrivate,
	}
	asked.Purpose = c.purpose.name
	keepFlags(c.flags, s, &asked)
	asked.SetSeeds(c.seeds.URLs)
	asked.SetLimits(cfg.Limits)
	cfg.Store, cfg.Journal = st, filepath.Join(c.dir, "inflight.journal")
	cfg.Workers, cfg.ParseWorkers, cfg.Addresses = int(s.Workers), int(s.Parse.Workers), c.Addresses()
	cfg.Head, cfg.HotHosts, cfg.SeenBytes, cfg.MaxWaiting = int(s.Frontier.Head), int(s.Frontier.HotHosts), s.Frontier.SeenCache, s.Frontier.MaxWaiting
	cfg.CommitGap, cfg.MinFree = s.Store.CommitGap, cmp.Or(s.Store.MinFree, -1)
	cfg.Free = func() (int64, error) { return freeBytes(c.dir) }
	cfg.Slow, cfg.RobotsWorkers, cfg.RobotsCache = SlowLimit(s), int(s.Robots.Parallel), s.Robots.Cache
	cfg.Ungoverned, cfg.CPU = !s.Governor.Enabled, &c.CPU
	cfg.Lookups = func() guard.Layer { return c.Dialer.Stats().Lookups }
	if c.purpose.shape != nil {
		c.purpose.shape(&cfg)
	}
	asked.Leaves = cfg.Scope.Leaves
	if cfg.Spec, err = json.Marshal(asked); err != nil {
		return crawlConfig{}, command.Failed(err, "")
	}
	begun, ended, err := c.resume(ctx, st, &cfg, &asked)
	if err != nil || ended {
		c.over = ended
		return cfg, err
	}
	if c.purpose.output != nil {
		w, err := c.purpose.output(begun)
		cfg.Outputs = []output.Writer{w}
		return cfg, err
	}
	if cfg.Outputs, err = c.openOutputs(begun); err != nil {
		return crawlConfig{}, err
	}
	return cfg, nil
}
