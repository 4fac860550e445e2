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

// Crawl is a crawl to look at: as it was asked for, as it is stored and, while it
// runs, as it says itself.
type Crawl struct {
	Store   store.Reader
	Job     store.Job
	Asked   Asked
	Fleet   bool // a job of a fleet, not a crawl of this machine alone
	Running bool
	Asker   ask.Asker // who answers while it runs

	// MaxHosts bounds the hosts that are looked at; 0 is all.
	MaxHosts int
	// Warn is told what an answer lacks, in a sentence; nil for nobody.
	Warn func(text string)
}

// answerTime is how long a running crawl is given to answer before what is stored
// must do.
const answerTime = 2 * time.Second

func (c *Crawl) warn(format string, args ...any) {
	if c.Warn != nil {
		c.Warn(fmt.Sprintf(format, args...))
	}
}

// Policy is how a host was treated: a policy that is only fit for owned hosts did
// not apply to others.
func (c *Crawl) Policy(host string) politeness.Policy {
	preset, _ := politeness.Preset(politeness.DefaultPreset)
	policy := c.Asked.Policy
	if policy == (politeness.Policy{}) {
		if policy, _ = politeness.Preset(c.Asked.Preset); policy == (politeness.Policy{}) {
			return preset
		}
	}
	if policy.ForStrangers() || c.owned(host) {
		return policy
	}
	return preset
}

// owned tells whether a host counted as the operator's own.
func (c *Crawl) owned(host string) bool {
	u, err := store.ParseHost(host)
	if err != nil {
		return false
	}
	if slices.ContainsFunc(c.Asked.Owned, func(name string) bool { return strings.EqualFold(name, u.Hostname()) }) {
		return true
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if err != nil && (u.Hostname() == "localhost" || strings.HasSuffix(u.Hostname(), ".localhost")) {
		addr, err = netip.AddrFrom4([4]byte{127, 0, 0, 1}), nil
	}
	return err == nil && slices.ContainsFunc(c.Asked.AllowPrivate, func(text string) bool {
		r, err := guard.ParseRange(text)
		return err == nil && r.Opens(addr) // it was checked when it was asked for
	})
}

// live asks the crawl, if it runs, about one host or all with work, by name.
func (c *Crawl) live(ctx context.Context, host string) map[string]ask.Host {
	if !c.Running {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	a, err := c.Asker.Ask(ctx, ask.Question{Kind: ask.KindHosts, Job: c.Job.ID, Host: host})
	if errors.Is(err, ask.ErrNobody) {
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

// Hosts lists the hosts that have a part in the crawl.
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

// HostStory is how a host stands, and how its pace came about.
type HostStory struct {
	Host
	PaceChanges []PaceStep `json:"pace_changes"` // the latest, oldest first
}

// Host tells how one host stands. ErrNotFound of package store says that nothing
// is known of it.
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

// status asks the crawl how it stands; nil if it does not answer.
func (c *Crawl) status(ctx context.Context) *ask.Status {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	a, err := c.Asker.Ask(ctx, ask.Question{Kind: ask.KindStatus, Job: c.Job.ID})
	if err != nil {
		return nil
	}
	return a.Status
}
