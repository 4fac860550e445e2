package answer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"headway/limit"
	"headway/politeness"
	"headway/scope"
	"headway/store"
	"headway/weburl"
)

// Asked is what a crawl was asked for, as it is kept with its job: enough to ask
// again what the crawl would do with a URL.
type Asked struct {
	// Seeds are the first of SeedCount seeds, as many as fit.
	Seeds     []string `json:"seeds,omitempty"`
	SeedCount int      `json:"seed_count,omitempty"`

	Scope      string   `json:"scope"`
	ScopeHosts []string `json:"scope_hosts,omitempty"`
	Include    []string `json:"include,omitempty"`
	Exclude    []string `json:"exclude,omitempty"`
	Files      bool     `json:"files,omitempty"`  // also what has the ending of a file
	Leaves     bool     `json:"leaves,omitempty"` // links out of scope are asked once
	Preset     string   `json:"preset"`
	Limits     []string `json:"limits,omitempty"` // for people

	Ceilings     []Ceiling `json:"ceilings,omitempty"`
	Sitemaps     string    `json:"sitemaps,omitempty"`
	IgnoreRobots bool      `json:"ignore_robots,omitempty"` // of owned hosts
	MaxWaiting   int64     `json:"max_waiting,omitempty"`   // beyond it new URLs are deferred

	Purpose string `json:"purpose,omitempty"` // the command, where that is not crawl

	// Flags are those of the last call, as name=value, without those that are
	// about one call alone; Withheld are the names of others that were not kept:
	// secrets.
	Flags    []string `json:"flags,omitempty"`
	Withheld []string `json:"withheld,omitempty"`

	// Who asked, and how hosts were treated, for those who look back.
	UserAgent    string            `json:"user_agent,omitempty"`
	Contact      string            `json:"contact,omitempty"`
	Token        string            `json:"token,omitempty"` // the name in robots.txt
	Policy       politeness.Policy `json:"policy,omitzero"` // of owned hosts, and of others where it is fit for them
	Owned        []string          `json:"owned,omitempty"`
	AllowPrivate []string          `json:"allow_private,omitempty"`
}

// Ceiling is a limit that was in force.
type Ceiling struct {
	Limit limit.Name  `json:"limit"`
	Layer limit.Level `json:"layer"`
	Max   int64       `json:"max"` // durations in nanoseconds
	Text  string      `json:"text"`
}

// maxSeedBytes is how much of the seeds is kept.
const maxSeedBytes = 256 << 10

// SetSeeds keeps the seeds, or the first of very many.
func (a *Asked) SetSeeds(seeds []weburl.URL) {
	a.Seeds, a.SeedCount = nil, len(seeds)
	size := 0
	for _, u := range seeds {
		if size += len(u.String()); size > maxSeedBytes {
			return
		}
		a.Seeds = append(a.Seeds, u.String())
	}
}

// SetLimits keeps the limits in force.
func (a *Asked) SetLimits(e limit.Effective) {
	a.Limits, a.Ceilings = nil, nil
	for _, c := range e.Ceilings() {
		a.Limits = append(a.Limits, c.String())
		a.Ceilings = append(a.Ceilings, Ceiling{Limit: c.Limit, Layer: c.Layer, Max: c.Max, Text: c.String()})
	}
}

// AskedOf reads what a job was asked for.
func AskedOf(j store.Job) (Asked, error) { return ReadAsked(j.Spec) }

// ReadAsked reads what was asked for. An empty text asks for nothing in
// particular.
func ReadAsked(text []byte) (Asked, error) {
	var a Asked
	if len(text) == 0 {
		return a, nil
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return Asked{}, fmt.Errorf("read saved settings: %w", err)
	}
	return a, nil
}

// agent is the name that robots.txt is read for.
func (a *Asked) agent() string { return cmp.Or(a.Token, "headway") }

// of returns the ceiling of a kind; one of 0 where there is none.
func (a *Asked) of(n limit.Name) Ceiling {
	for _, c := range a.Ceilings {
		if c.Limit == n {
			return c
		}
	}
	return Ceiling{Limit: n}
}

// patience is how long a host was waited for.
func (a *Asked) patience() time.Duration { return time.Duration(a.of(limit.Patience).Max) }

// whole tells whether all seeds are known.
func (a *Asked) whole() bool { return a.SeedCount > 0 && len(a.Seeds) == a.SeedCount }

// Check reports a scope that cannot be, such as a pattern that is none.
func (a *Asked) Check() error {
	_, _, err := a.rules()
	return err
}

// rules rebuilds the scope; nil where the seeds are not known.
func (a *Asked) rules() (*scope.Rules, []weburl.URL, error) {
	c := scope.Config{
		Mode: scope.Mode(a.Scope), Hosts: a.ScopeHosts, Include: a.Include, Exclude: a.Exclude, Files: a.Files, Leaves: a.Leaves,
		MaxDepth: int(a.of(limit.Depth).Max),
	}
	for _, raw := range a.Seeds {
		u, err := weburl.Parse(raw)
		if err != nil {
			return nil, nil, fmt.Errorf("seed: %w", err)
		}
		c.Seeds = append(c.Seeds, u)
	}
	if len(c.Seeds) == 0 && c.Mode != scope.Any {
		return nil, nil, nil
	}
	r, err := scope.New(c)
	if err != nil {
		return nil, nil, fmt.Errorf("scope: %w", err)
	}
	return r, c.Seeds, nil
}

// Differences names the settings of two crawls that differ and decide what is
// crawled, for people: what the later one has, and what the earlier one had.
func Differences(before, now *Asked) []string {
	var list []string
	add := func(what string, before, now []string) {
		if !slices.Equal(before, now) {
			list = append(list, fmt.Sprintf("%s %s, was %s", what, cmp.Or(strings.Join(now, ", "), "none"), cmp.Or(strings.Join(before, ", "), "none")))
		}
	}
	one := func(text string) []string { return []string{text} }
	yes := func(b bool) []string { return []string{strconv.FormatBool(b)} }
	if !slices.Equal(before.Seeds, now.Seeds) || before.SeedCount != now.SeedCount {
		list = append(list, fmt.Sprintf("%d seeds, different from the %d before", now.SeedCount, before.SeedCount))
	}
	add("scope", one(before.Scope), one(now.Scope))
	add("scope_hosts", before.ScopeHosts, now.ScopeHosts)
	add("include", before.Include, now.Include)
	add("exclude", before.Exclude, now.Exclude)
	add("files", yes(before.Files), yes(now.Files))
	add("sitemaps", one(before.Sitemaps), one(now.Sitemaps))
	add("ignore_robots", yes(before.IgnoreRobots), yes(now.IgnoreRobots))
	for i := range limit.Rules {
		n := limit.Rules[i].Name
		if was, is := before.of(n), now.of(n); limit.Rules[i].Extent && was.Max != is.Max {
			add("limit", one(cmp.Or(was.Text, string(n)+" none")), one(cmp.Or(is.Text, string(n)+" none")))
		}
	}
	return list
}
