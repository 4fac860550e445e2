package scope

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"headway/weburl"
)

// Mode says which hosts belong to a crawl.
type Mode string

// The modes; see the package comment. The empty Mode is Host.
const (
	Host   Mode = "host"
	Domain Mode = "domain"
	Prefix Mode = "prefix"
	List   Mode = "list"
	Any    Mode = "any"
)

// Modes lists the modes, the default first.
var Modes = []Mode{Host, Domain, Prefix, List, Any}

// Reason is a reason code of the outcome "skipped".
type Reason string

// The reasons this package gives.
const (
	OutOfScope       Reason = "out_of_scope"      // another host or folder, or no include matches
	Excluded         Reason = "excluded"          // an exclude matches
	NonDocument      Reason = "non_document"      // file extension of a non-HTML file
	Depth            Reason = "depth"             // too many links away from a seed
	TrapPath         Reason = "trap_path"         // its path looks endless
	TrapQuery        Reason = "trap_query"        // its query looks endless
	DuplicateContent Reason = "duplicate_content" // similar pages had the same text
)

// Decision is whether a URL is crawled, and the rule that decided.
type Decision struct {
	In     bool
	Reason Reason // why not; "" when In
	Leaf   bool   // it is fetched, but its links are not followed; see [Config.Leaves]
	Rule   string // what decided, for people, such as "exclude /cart/**"
}

// The limits of a Config and of what a crawl may add to it.
const (
	MaxPatterns = 1000    // includes and excludes together
	MaxPattern  = 512     // bytes of one of them
	MaxAdded    = 100_000 // hosts and folders added by Widen
)

// Config configures the scope of a crawl. The zero Config has no host in scope.
type Config struct {
	Mode  Mode // "" means Host
	Seeds []weburl.URL
	// Hosts are in scope in addition to Mode and Seeds: the list of mode List, and
	// what [Rules.Hosts] returned before a crawl was resumed. They are written
	// "example.com" or "example.com:8080", and in mode Prefix also "example.com/docs/".
	// They are literal: www is another host.
	Hosts   []string
	Include []string // patterns; with any, a URL must match one
	Exclude []string // patterns; override Include
	// MaxDepth is the maximum number of links from a seed; 0 means no limit.
	MaxDepth int
	// Files also includes non-HTML files, judged by extension.
	Files bool
	// Leaves includes what would be refused as [OutOfScope] or [NonDocument], as
	// leaves: a link check fetches link targets once, without following their links.
	// Exclude applies to them, MaxDepth does not.
	Leaves bool
}

// Rules decides which URLs are in scope. It is safe for concurrent use.
type Rules struct {
	mode     Mode
	places   map[string]*place   // of the seeds, by host key; immutable
	domains  map[string]struct{} // of the seeds, in mode Domain
	include  []pattern
	exclude  []pattern
	files    bool
	leaves   bool
	maxDepth int

	outside string // the rule text of a refusal
	tooDeep string

	mu         sync.RWMutex
	added      map[string]*place // by host key, literal: Config.Hosts, and from Widen
	addedCount int               // number added by Widen
}

// New returns rules. Its error joins all problems of the Config; each is a
// [*PatternError], a [*HostError] or names its field, and most have a hint.
func New(c Config) (*Rules, error) {
	r := &Rules{
		mode: c.Mode, files: c.Files, leaves: c.Leaves, maxDepth: c.MaxDepth, outside: outside[c.Mode],
		tooDeep: fmt.Sprintf("more than %d links from a seed", c.MaxDepth),
		places:  make(map[string]*place, len(c.Seeds)),
		added:   make(map[string]*place, len(c.Hosts)),
	}
	if c.Mode == "" {
		r.mode, r.outside = Host, outside[Host]
	}
	var problems []error
	if !slices.Contains(Modes, r.mode) {
		problems = append(problems, fmt.Errorf("invalid scope mode %q; choose one of %s", c.Mode, modeNames()))
	}
	if c.MaxDepth < 0 {
		problems = append(problems, fmt.Errorf("invalid max depth %d: must not be negative", c.MaxDepth))
	}
	if n := len(c.Include) + len(c.Exclude); n > MaxPatterns {
		return nil, errors.Join(append(problems, fmt.Errorf("too many include and exclude patterns: %d, maximum %d", n, MaxPatterns))...)
	}
	r.include, problems = compileAll("include", c.Include, problems)
	r.exclude, problems = compileAll("exclude", c.Exclude, problems)
	for _, entry := range c.Hosts {
		if err := r.addEntry(entry); err != nil {
			problems = append(problems, err)
		}
	}
	for _, seed := range c.Seeds {
		if seed.IsZero() {
			problems = append(problems, errors.New("seeds: one of them is the zero URL"))
			continue
		}
		r.addSeed(seed)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	for _, places := range []map[string]*place{r.places, r.added} {
		for _, p := range places {
			p.settle()
		}
	}
	return r, nil
}

var outside = map[Mode]string{
	Host:   "host is not a seed host",
	Domain: "domain is not a seed domain",
	Prefix: "path is outside the seed folders",
	List:   "host is not in the host list",
	Any:    "not a URL",
}

func modeNames() string {
	names := make([]string, len(Modes))
	for i, m := range Modes {
		names[i] = string(m)
	}
	return strings.Join(names, ", ")
}

// Decide decides about a URL found depth links away from a seed. Final reasons come before
// [Depth], which another link may change.
func (r *Rules) Decide(u weburl.URL, depth int) Decision { return r.asLeaf(u, r.decide(u, depth)) }

func (r *Rules) decide(u weburl.URL, depth int) Decision {
	if !r.hosts(u) {
		return Decision{Reason: OutOfScope, Rule: r.outside}
	}
	if p := matching(r.exclude, u); p != nil {
		return Decision{Reason: Excluded, Rule: p.rule}
	}
	rule := string(r.mode)
	if len(r.include) > 0 {
		p := matching(r.include, u)
		if p == nil {
			return Decision{Reason: OutOfScope, Rule: "no include pattern matches"}
		}
		rule = p.rule
	}
	if !r.files {
		if f := fileOf(u.Path()); f != nil && !r.names(f, u) {
			return Decision{Reason: NonDocument, Rule: f.rule}
		}
	}
	if r.maxDepth > 0 && depth > r.maxDepth {
		return Decision{Reason: Depth, Rule: r.tooDeep}
	}
	return Decision{In: true, Rule: rule}
}

// DecideSeed decides about a seed, or the target of a seed's redirect: it was requested
// explicitly, so neither Include nor file extensions apply.
func (r *Rules) DecideSeed(u weburl.URL) Decision { return r.asLeaf(u, r.decideSeed(u)) }

func (r *Rules) decideSeed(u weburl.URL) Decision {
	if !r.hosts(u) {
		return Decision{Reason: OutOfScope, Rule: r.outside}
	}
	if p := matching(r.exclude, u); p != nil {
		return Decision{Reason: Excluded, Rule: p.rule}
	}
	return Decision{In: true, Rule: "seed"}
}

// asLeaf turns a refusal into a leaf, if Leaves is set.
func (r *Rules) asLeaf(u weburl.URL, d Decision) Decision {
	if !r.leaves || u.IsZero() || d.Reason != OutOfScope && d.Reason != NonDocument {
		return d
	}
	if p := matching(r.exclude, u); p != nil {
		return Decision{Reason: Excluded, Rule: p.rule}
	}
	return Decision{In: true, Leaf: true, Rule: "leaf: " + d.Rule}
}

// Foreign reports whether no path of u's host is in scope.
func (r *Rules) Foreign(u weburl.URL) bool {
	if r.mode == Any || r.hosts(u) {
		return false
	}
	key := hostKey(u)
	if r.seeded(key) != nil {
		return false
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.added[key] == nil
}

// names reports whether an include that matches u also has the extension f.
func (r *Rules) names(f *file, u weburl.URL) bool {
	for i := range r.include {
		if p := &r.include[i]; strings.Contains(p.lower, f.dotted) && p.match(u) {
			return true
		}
	}
	return false
}
