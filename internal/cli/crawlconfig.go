package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"headway"
	"headway/answer"
	"headway/fetch/guard"
	"headway/limit"
	"headway/output"
	"headway/robots"
	"headway/scope"
	"headway/store"
)

// crawlName is the name of the one job in a folder.
const crawlName = "crawl"

// config makes the crawl that the settings ask for.
func (c *crawlRun) config(ctx context.Context, st store.Store) (headway.Config, error) {
	s := c.set
	policy, err := s.Policy()
	if err != nil {
		return headway.Config{}, usage(err, "headway config shows what was set, and where")
	}
	limits := limit.Resolve(s.Layers()...)
	for _, capped := range limits.Capped() {
		fmt.Fprintf(c.err, "headway: warning: %s\n", capped)
	}
	secrets, err := c.secrets()
	if err != nil {
		return headway.Config{}, err
	}
	optedOut, err := readOptOuts()
	if err != nil {
		return headway.Config{}, err
	}
	product, _ := s.Product()
	if product == "" {
		product = productToken
	}
	asked := answer.Asked{
		Scope: s.Scope, ScopeHosts: s.ScopeHosts, Include: s.Include, Exclude: s.Exclude, Files: s.Files, Preset: s.Preset, Sitemaps: s.Sitemaps,
		IgnoreRobots: s.IgnoreRobots, MaxWaiting: s.Frontier.MaxWaiting,
		UserAgent: c.who.UserAgent(), Contact: c.who.Contact, Token: product, Policy: policy, Owned: s.Owned, AllowPrivate: s.AllowPrivate,
	}
	asked.Purpose = c.purpose.name
	keepFlags(c.flags, &asked)
	asked.SetSeeds(c.seeds.urls)
	asked.SetLimits(limits)
	cfg := headway.Config{
		Store: st, Fetcher: c.client, Journal: filepath.Join(c.dir, "inflight.journal"), Name: crawlName,
		Seeds: c.seeds.urls, Fallback: c.seeds.fallback,
		Scope:  scope.Config{Mode: scope.Mode(s.Scope), Hosts: s.ScopeHosts, Include: s.Include, Exclude: s.Exclude, Files: s.Files},
		Limits: limits, Policy: policy, Robots: robots.Policy{AllowUnreachable: policy.AllowUnreachableRobots},
		Owned: c.vouched, Secrets: secrets, IgnoreRobots: s.IgnoreRobots, Agent: product, Sitemaps: headway.Sitemaps(s.Sitemaps),
		Addresses: c.addresses(), Workers: int(s.Workers), ParseWorkers: int(s.Parse.Workers),
		Head: int(s.Frontier.Head), HotHosts: int(s.Frontier.HotHosts), SeenBytes: s.Frontier.SeenCache,
		CommitGap: s.Store.CommitGap, Free: func() (int64, error) { return freeBytes(c.dir) }, MinFree: cmp.Or(s.Store.MinFree, -1), Log: c.log,
		Strained: c.strain.Strained, RobotsWorkers: int(s.Robots.Parallel), RobotsTimeout: s.Robots.Timeout, RobotsCache: s.Robots.Cache,
		Ungoverned: !s.Governor.Enabled, MaxWaiting: s.Frontier.MaxWaiting,
		Lookups: func() guard.Layer { return c.dialer.Stats().Lookups }, OptedOut: optedOut,
	}
	if c.purpose.shape != nil {
		c.purpose.shape(&cfg)
	}
	asked.Leaves = cfg.Scope.Leaves
	if cfg.Spec, err = json.Marshal(asked); err != nil {
		return headway.Config{}, failed(err, "")
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
		return headway.Config{}, err
	}
	return cfg, nil
}
