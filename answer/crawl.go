package answer

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"headway/ask"
	"headway/fetch/guard"
	"headway/politeness"
	"headway/store"
)

// Crawl is a crawl to inspect: its specification, its stored state and, while it runs,
// its live state.
type Crawl struct {
	Store   store.Reader
	Job     store.Job
	Spec    CrawlSpec
	Fleet   bool // a job of a fleet, not a local crawl
	Running bool
	Asker   ask.Asker // answers questions while the crawl runs

	// MaxHosts limits the hosts that are read; 0 means all.
	MaxHosts int
	// Warn is called with a sentence about missing data; may be nil.
	Warn func(text string)
}

// answerTime is how long to wait for a running crawl before using stored data.
const answerTime = 2 * time.Second

func (c *Crawl) warn(format string, args ...any) {
	if c.Warn != nil {
		c.Warn(fmt.Sprintf(format, args...))
	}
}

// Policy returns the policy that applied to a host: one that is only allowed for owned
// hosts did not apply to others.
func (c *Crawl) Policy(host string) politeness.Policy {
	preset, _ := politeness.Preset(politeness.DefaultPreset)
	policy := c.Spec.Policy
	if policy == (politeness.Policy{}) {
		if policy, _ = politeness.Preset(c.Spec.Preset); policy == (politeness.Policy{}) {
			return preset
		}
	}
	if policy.ForPublicHosts() || c.owned(host) {
		return policy
	}
	return preset
}

// owned reports whether a host counted as owned.
func (c *Crawl) owned(host string) bool {
	u, err := store.ParseHost(host)
	if err != nil {
		return false
	}
	if slices.ContainsFunc(c.Spec.Owned, func(name string) bool { return strings.EqualFold(name, u.Hostname()) }) {
		return true
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if err != nil && (u.Hostname() == "localhost" || strings.HasSuffix(u.Hostname(), ".localhost")) {
		addr, err = netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
	}
	return err == nil && slices.ContainsFunc(c.Spec.AllowPrivate, func(text string) bool {
		r, err := guard.ParseRange(text)
		return err == nil && r.Opens(addr) // it was validated when the crawl started
	})
}

// live queries the running crawl about one host, or about all with work, by name.
func (c *Crawl) live(ctx context.Context, host string) map[string]ask.Host {
	if !c.Running {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	a, err := c.Asker.Ask(ctx, ask.Question{Kind: ask.KindHosts, Job: c.Job.ID, Host: host})
	if errors.Is(err, ask.ErrNoAnswer) {
		c.warn("the crawl is running but does not respond; showing its stored state")
	}
	if a.Answered < a.Asked {
		c.warn("%d of %d workers responded; showing the stored state for hosts of the others", a.Answered, a.Asked)
	}
	live := make(map[string]ask.Host, len(a.Hosts))
	for _, h := range a.Hosts {
		live[h.Host] = h
	}
	return live
}

// Hosts lists the hosts of the crawl.
func (c *Crawl) Hosts(ctx context.Context, q HostQuery, now time.Time) (*Hosts, error) {
	live := c.live(ctx, "")
	list := NewHostLister(q, now, c.Running, c.Job)
	looked := 0
	for query := (store.HostListQuery{Job: c.Job.ID, Max: store.MaxPage}); ; {
		if c.MaxHosts > 0 {
			query.Max = min(query.Max, c.MaxHosts-looked)
		}
		page, err := c.Store.HostList(ctx, query)
		if err != nil {
			return nil, err
		}
		for i := range page.Hosts {
			h, err := c.host(&page.Hosts[i], live, now)
			if err != nil {
				return nil, err
			}
			if h.Known || h.Waiting > 0 {
				list.Add(h)
			}
		}
		query.After = page.Next
		if looked += len(page.Hosts); query.After != "" && looked == c.MaxHosts {
			c.warn("only the first %d hosts were inspected; there are more", looked)
			query.After = ""
		}
		if query.After == "" {
			return list.Hosts(), nil
		}
	}
}

// host describes one host.
func (c *Crawl) host(e *store.HostEntry, live map[string]ask.Host, now time.Time) (Host, error) {
	var running *ask.Host
	if h, ok := live[e.Host.Host]; ok {
		running = &h
	}
	h, err := NewHost(e, c.Policy(e.Host.Host), running, now)
	if err != nil {
		return h, err
	}
	if h.Domain == "" {
		if u, err := store.ParseHost(h.Host.Host); err == nil {
			h.Domain = u.Domain()
		}
	}
	return h, nil
}

// HostStory is the state of a host with its pace changes.
type HostStory struct {
	Host
	PaceChanges []PaceStep `json:"pace_changes"` // the latest, oldest first
}

// Host describes one host. It returns store.ErrNotFound if nothing is known about it.
func (c *Crawl) Host(ctx context.Context, host string, now time.Time) (HostStory, error) {
	live := c.live(ctx, host)
	paces, err := c.Store.PaceChanges(ctx, host)
	if err != nil {
		return HostStory{}, err
	}
	stored, err := c.Store.Host(ctx, host)
	if known := len(live) > 0 || len(paces) > 0; err != nil && !(known && errors.Is(err, store.ErrNotFound)) {
		return HostStory{}, err
	}
	stored.Host = host
	e := store.HostEntry{Host: stored}
	s := HostStory{PaceChanges: []PaceStep{}}
	for _, p := range paces {
		s.PaceChanges = append(s.PaceChanges, newPaceStep(p))
		if p.Cause == "incident" || p.Cause == "probe_failed" {
			e.Incidents++
		}
	}
	s.Host, err = c.host(&e, live, now)
	return s, err
}

// status queries the state of the running crawl; nil if it does not respond.
func (c *Crawl) status(ctx context.Context) *ask.Status {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	a, err := c.Asker.Ask(ctx, ask.Question{Kind: ask.KindStatus, Job: c.Job.ID})
	if err != nil {
		return nil
	}
	return a.Status
}
