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

// CrawlSpec is the specification of a crawl, as stored with its job. It is enough to decide
// again what the crawl would do with a URL.
type CrawlSpec struct {
	// Seeds are the first of SeedCount seeds, as many as fit.
	Seeds     []string `json:"seeds,omitempty"`
	SeedCount int      `json:"seed_count,omitempty"`

	Scope      string   `json:"scope"`
	ScopeHosts []string `json:"scope_hosts,omitempty"`
	Include    []string `json:"include,omitempty"`
	Exclude    []string `json:"exclude,omitempty"`
	Files      bool     `json:"files,omitempty"`  // also fetch non-HTML files, judged by extension
	Leaves     bool     `json:"leaves,omitempty"` // request out-of-scope links once, to check them
	Preset     string   `json:"preset"`
	Limits     []string `json:"limits,omitempty"` // for people

	Ceilings     []SpecCeiling `json:"ceilings,omitempty"`
	Sitemaps     string        `json:"sitemaps,omitempty"`
	Content      []string      `json:"content,omitempty"`       // forms of the main text that are kept
	Extract      string        `json:"extract,omitempty"`       // the rules for fields, as they name themselves
	Links        bool          `json:"links,omitempty"`         // every link of every page is kept
	IgnoreRobots bool          `json:"ignore_robots,omitempty"` // for owned hosts
	MaxWaiting   int64         `json:"max_waiting,omitempty"`   // more pending URLs than this are deferred

	Purpose string `json:"purpose,omitempty"` // the command, if it is not crawl

	// Flags are those of the last command line, as name=value, without those that
	// concern one run only; Withheld are the names of flags not stored because they
	// are secrets.
	Flags    []string `json:"flags,omitempty"`
	Withheld []string `json:"withheld,omitempty"`

	// Identity and treatment of hosts, for later inspection.
	UserAgent    string            `json:"user_agent,omitempty"`
	Contact      string            `json:"contact,omitempty"`
	Token        string            `json:"token,omitempty"` // the name in robots.txt
	Policy       politeness.Policy `json:"policy,omitzero"` // for owned hosts, and for others if it is allowed for them
	Owned        []string          `json:"owned,omitempty"`
	AllowPrivate []string          `json:"allow_private,omitempty"`
}

// SpecCeiling is a stored limit; [Ceiling] is how it is shown.
type SpecCeiling struct {
	Limit limit.Name  `json:"limit"`
	Layer limit.Level `json:"layer"`
	Max   int64       `json:"max"` // durations in nanoseconds
	Text  string      `json:"text"`
}

// maxSeedBytes limits how much of the seeds is stored.
const maxSeedBytes = 256 << 10

// SetSeeds stores the seeds, or the first of very many.
func (a *CrawlSpec) SetSeeds(seeds []weburl.URL) {
	a.Seeds, a.SeedCount = nil, len(seeds)
	size := 0
	for _, u := range seeds {
		if size += len(u.String()); size > maxSeedBytes {
			return
		}
		a.Seeds = append(a.Seeds, u.String())
	}
}

// SetLimits stores the limits in force.
func (a *CrawlSpec) SetLimits(e limit.Effective) {
	a.Limits, a.Ceilings = nil, nil
	for _, c := range e.Ceilings() {
		a.Limits = append(a.Limits, c.String())
		a.Ceilings = append(a.Ceilings, SpecCeiling{Limit: c.Limit, Layer: c.Layer, Max: c.Max, Text: c.String()})
	}
}

// CrawlSpecOf reads the specification of a job.
func CrawlSpecOf(j store.Job) (CrawlSpec, error) { return ReadCrawlSpec(j.Spec) }

// ReadCrawlSpec reads a stored specification. An empty text is an empty specification.
func ReadCrawlSpec(text []byte) (CrawlSpec, error) {
	var a CrawlSpec
	if len(text) == 0 {
		return a, nil
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return CrawlSpec{}, fmt.Errorf("read saved settings: %w", err)
	}
	return a, nil
}

// agent is the product token that robots.txt is read for.
func (a *CrawlSpec) agent() string { return cmp.Or(a.Token, "headway") }

// limit returns the limit with a name; 0 if there is none.
func (a *CrawlSpec) limit(n limit.Name) SpecCeiling {
	for _, c := range a.Ceilings {
		if c.Limit == n {
			return c
		}
	}
	return SpecCeiling{Limit: n}
}

// patience is how long the crawl waits for a host.
func (a *CrawlSpec) patience() time.Duration { return time.Duration(a.limit(limit.Patience).Max) }

// hasAllSeeds reports whether all seeds are stored.
func (a *CrawlSpec) hasAllSeeds() bool { return a.SeedCount > 0 && len(a.Seeds) == a.SeedCount }

// Check reports an invalid scope, such as a malformed pattern.
func (a *CrawlSpec) Check() error {
	_, _, err := a.rules()
	return err
}

// rules rebuilds the scope; nil if not all seeds are stored.
func (a *CrawlSpec) rules() (*scope.Rules, []weburl.URL, error) {
	c := scope.Config{
		Mode: scope.Mode(a.Scope), Hosts: a.ScopeHosts, Include: a.Include, Exclude: a.Exclude, Files: a.Files, Leaves: a.Leaves,
		MaxDepth: int(a.limit(limit.Depth).Max),
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

// Differences lists, for people, the settings of two crawls that differ and affect what
// is crawled: the later value and the earlier one.
func Differences(before, now *CrawlSpec) []string {
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
		if was, is := before.limit(n), now.limit(n); limit.Rules[i].Extent && was.Max != is.Max {
			add("limit", one(cmp.Or(was.Text, string(n)+" none")), one(cmp.Or(is.Text, string(n)+" none")))
		}
	}
	return list
}
