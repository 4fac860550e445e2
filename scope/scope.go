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

// Reason says why a URL is not crawled, in the words of the outcome "skipped".
type Reason string

// The reasons this package gives.
const (
	OutOfScope       Reason = "out_of_scope"      // another host or folder, or no include matches
	Excluded         Reason = "excluded"          // an exclude matches
	NonDocument      Reason = "non_document"      // its ending says that it is no page
	Depth            Reason = "depth"             // too many links away from a seed
	TrapPath         Reason = "trap_path"         // its path looks endless
	TrapQuery        Reason = "trap_query"        // its query looks endless
	DuplicateContent Reason = "duplicate_content" // pages like it had nothing new
)

// Decision is whether a URL is crawled, and the rule that decided.
type Decision struct {
	In     bool
	Reason Reason // why not; "" when In
	Leaf   bool   // it is asked for, but none of its links are followed; see [Config.Leaves]
	Rule   string // what decided, for people, such as "exclude /cart/**"
}

// The bounds of a Config and of what a crawl may add to it.
const (
	MaxPatterns = 1000    // includes and excludes together
	MaxPattern  = 512     // bytes of one of them
	MaxAdded    = 100_000 // hosts and folders added by Widen
)

// Config is what a person asks a crawl to be. The zero Config has no host in
// it.
type Config struct {
	Mode  Mode // "" is Host
	Seeds []weburl.URL
	// Hosts are in scope besides what follows from Mode and Seeds: the list of
	// mode List, and what [Rules.Hosts] gave before a crawl was resumed. They
	// are written "example.com" or "example.com:8080", and in mode Prefix also
	// "example.com/docs/"; they stand for themselves, with www as another host.
	Hosts   []string
	Include []string // patterns; with any, a URL must match one
	Exclude []string // patterns; stronger than Include
	// MaxDepth is how many links from a seed a URL may be; 0 is no limit.
	MaxDepth int
	// Files lets in what has the ending of an image, an archive and the like.
	Files bool
	// Leaves lets in what would be refused as [OutOfScope] or [NonDocument], as
	// leaves: a check of links asks once for what pages link to and goes no
	// further. Exclude holds for them, MaxDepth does not.
	Leaves bool
}

// Rules decides about URLs. It may be used by several goroutines at once.
type Rules struct {
	mode     Mode
	places   map[string]*place   // of the seeds, by host key; never changed after New
	domains  map[string]struct{} // of the seeds, in mode Domain
	include  []pattern
	exclude  []pattern
	files    bool
	leaves   bool
	maxDepth int

	outside string // the rules that refuse, said once
	tooDeep string

	mu      sync.RWMutex
	added   map[string]*place // by host key, to the letter: Config.Hosts, and by Widen
	addings int               // how often Widen did
}

// New makes rules. Its error joins all problems of the Config; each is a
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

// Decide decides about a URL that was found depth links away from a seed.
// Reasons that another link cannot change come before [Depth], which it can.
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

// DecideSeed decides about a seed, or the target of a seed's redirect: someone
// asked for it by name, so neither Include nor the table of endings applies.
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

// asLeaf turns a refusal into a leaf, where leaves are wanted.
func (r *Rules) asLeaf(u weburl.URL, d Decision) Decision {
	if !r.leaves || u.IsZero() || d.Reason != OutOfScope && d.Reason != NonDocument {
		return d
	}
	if p := matching(r.exclude, u); p != nil {
		return Decision{Reason: Excluded, Rule: p.rule}
	}
	return Decision{In: true, Leaf: true, Rule: "leaf: " + d.Rule}
}

// Foreign reports whether nothing of u's host is in scope, whatever the path.
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

// names reports whether an include that matches u also names the ending f.
func (r *Rules) names(f *file, u weburl.URL) bool {
	for i := range r.include {
		if p := &r.include[i]; strings.Contains(p.lower, f.dotted) && p.match(u) {
			return true
		}
	}
	return false
}
