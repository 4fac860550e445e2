package scope

import (
	"container/list"
	"fmt"
	"strings"
	"time"

	"headway/weburl"
)

// TrapConfig has the parameters of [Traps]. Zero means the default.
type TrapConfig struct {
	MaxSegments  int // maximum number of segments of a path
	MaxParams    int // maximum number of parameters of a query
	MaxSpellings int // session IDs and tracking codes one page may be requested with
	// Grace is how many suspicious URLs a host may have before it has shown any
	// ordinary ones; every four ordinary ones allow one more.
	Grace int
	// DateGrace is how many months in the past a host may have calendar pages for
	// before it has shown any ordinary URL. A day counts as four months, and each
	// ordinary URL allows one more day: a real archive has at least one article per
	// page.
	DateGrace int

	MaxHosts     int // hosts in memory; the least recently used is forgotten
	MaxMarks     int // facts in memory for all hosts; beyond it hosts are forgotten
	MaxHostMarks int // facts in memory for one host; beyond it they are cleared
}

// The defaults of [TrapConfig].
const (
	DefaultMaxSegments  = 20
	DefaultMaxParams    = 20
	DefaultMaxSpellings = 2
	DefaultGrace        = 16
	DefaultDateGrace    = 400
	DefaultTrapHosts    = 100_000
	DefaultMarks        = 2_000_000 // about 64 MiB
	DefaultHostMarks    = 100_000
)

// Fixed parameters of the rules.
const (
	ordinaryPerSuspicious = 4
	sameSegment           = 4                    // consecutive repetitions of one segment that are a trap
	sameCycle             = 3                    // consecutive repetitions of several segments that are a trap
	sameParam             = 3                    // repetitions of one parameter that are a trap
	maxAhead              = 400 * 24 * time.Hour // for a date followed by an article name
	maxYearsAhead         = 50                   // larger numbers are not years
	monthsPerDay          = 4                    // see TrapConfig.DateGrace
	nearDates             = 14                   // dates within maxAhead that any calendar may have
	numericIDs            = 12                   // from this many numbers on, a key identifies things instead of filtering
	textIDs               = 64                   // the same for words
	viewsOfID             = 4                    // combinations allowed per identified thing
)

func (c TrapConfig) withDefaults() TrapConfig {
	set := func(n *int, value int) {
		if *n <= 0 {
			*n = value
		}
	}
	set(&c.MaxSegments, DefaultMaxSegments)
	set(&c.MaxParams, DefaultMaxParams)
	set(&c.MaxSpellings, DefaultMaxSpellings)
	set(&c.Grace, DefaultGrace)
	set(&c.DateGrace, DefaultDateGrace)
	set(&c.MaxHosts, DefaultTrapHosts)
	set(&c.MaxMarks, DefaultMarks)
	set(&c.MaxHostMarks, DefaultHostMarks)
	c.MaxHostMarks = min(c.MaxHostMarks, c.MaxMarks)
	return c
}

// Traps refuses URLs of endless URL spaces by the URLs alone. The aim: on a host full of
// traps at least half of the fetched pages are real, and on an ordinary one nothing real is
// refused. Use one per crawl, in one goroutine.
//
// Some patterns never occur in ordinary URLs and are refused at once: a path that repeats
// itself, a very deep path, a query with very many parameters, the parameters of a known
// URL in another order, and further session IDs for a page already requested with some.
//
// Others are suspicious only in numbers: repeated combinations of filters and sort orders,
// and calendar pages in the future. A host may have a few of these ([TrapConfig.Grace]), and
// more with each ordinary URL. A combination counts only if each of its parameters was seen
// at that path before: new values in a catalogue, such as an article number, are never
// refused. Page numbers and languages do not count.
//
// The state of a host is lost when the host was not used for long and when a crawl is
// resumed; a trap then gets its grace again.
type Traps struct {
	cfg   TrapConfig
	hosts map[string]*list.Element // of *trapHost
	lru   list.List                // most recently used first
	marks int                      // of all hosts

	query query // of the current URL
}

// trapHost is the state of a host.
type trapHost struct {
	key        string
	ordinary   int
	suspicious int
	dates      int               // calendar pages in the past, in months
	datePages  int               // the same, in pages
	marks      map[uint64]uint32 // facts by hash, with a count
}

// NewTraps returns the traps of one crawl.
func NewTraps(c TrapConfig) *Traps {
	return &Traps{cfg: c.withDefaults(), hosts: map[string]*list.Element{}}
}

// Look decides about a URL that is in scope and has not been seen before, and learns from
// it. Call it once per URL: a second call would count as another spelling. Do not call it
// for seeds.
func (t *Traps) Look(u weburl.URL, now time.Time) Decision {
	path, noise := cleanPath(u.Path())
	if rule := t.shape(path); rule != "" {
		return Decision{Reason: TrapPath, Rule: rule}
	}
	q := &t.query
	if q.read(u.Query(), t.cfg.MaxParams) == tooMany {
		return Decision{Reason: TrapQuery, Rule: fmt.Sprintf("more than %d parameters", t.cfg.MaxParams)}
	}
	if p := q.repeated(); p != "" {
		return Decision{Reason: TrapQuery, Rule: fmt.Sprintf("repeats the parameter %s %d times or more", short(p), sameParam)}
	}
	h := t.host(hostKey(u))
	d := t.look(h, path, noise, now)
	if len(h.marks) > t.cfg.MaxHostMarks {
		t.marks -= len(h.marks)
		h.marks = nil
	}
	return d
}

// look makes the decisions that depend on the host's other URLs.
func (t *Traps) look(h *trapHost, path string, noise bool, now time.Time) Decision {
	q := &t.query
	at := mixString(0, path)
	if noise || q.noise {
		if t.count(h, at^q.sum()^saltSpelling) > t.cfg.MaxSpellings {
			reason := TrapQuery
			if noise {
				reason = TrapPath
			}
			return Decision{Reason: reason, Rule: fmt.Sprintf("more than %d session IDs or tracking codes for one page", t.cfg.MaxSpellings)}
		}
	}
	if d, ok := t.dated(h, path, now); ok {
		return d
	}
	if len(q.filters) == 0 {
		if len(q.neutral) == 0 {
			h.ordinary++
		}
		return Decision{In: true}
	}
	return t.filtered(h, path, at)
}

// dated decides about calendar pages; ok is false for other URLs.
func (t *Traps) dated(h *trapHost, path string, now time.Time) (d Decision, ok bool) {
	reason := TrapPath
	date, before, bare := pathDate(path)
	if date.IsZero() {
		if date = t.query.date(); date.IsZero() {
			return Decision{}, false
		}
		reason, before, bare = TrapQuery, path, true
	}
	if date.Year() > now.Year()+maxYearsAhead {
		return Decision{}, false
	}
	far := date.After(now.Add(maxAhead))
	switch {
	case !bare && !far:
		return Decision{}, false // an article with its date
	case !far && date.After(now) && t.count(h, mixString(saltDates, before)) <= nearDates:
		// Events in the next days.
	case date.After(now):
		if max := t.allowance(h); h.suspicious >= max {
			return Decision{Reason: reason, Rule: fmt.Sprintf("more than %d future dates or parameter combinations on this host", max)}, true
		}
		h.suspicious++
	default:
		if max := t.cfg.DateGrace + monthsPerDay*h.ordinary; h.dates >= max {
			return Decision{Reason: reason, Rule: fmt.Sprintf("more than %d calendar pages on this host", h.datePages)}, true
		}
		h.datePages++
		h.dates++
		if date.Day() > 1 {
			h.dates += monthsPerDay - 1
		}
	}
	// The other parameters of a calendar page are views of it, and count with its
	// date.
	return Decision{In: true}, true
}

// filtered decides about a query that narrows or sorts the content of its path.
func (t *Traps) filtered(h *trapHost, path string, at uint64) Decision {
	q := &t.query
	full := at ^ q.sum() ^ saltFull
	if len(q.parts)+len(q.neutral) > 1 && t.count(h, full) > 1 {
		return Decision{Reason: TrapQuery, Rule: "has the same parameters as another URL in a different order"}
	}
	// How many things the keys identify, and whether all parameters are known here.
	known, things := true, 0
	for i := range q.parts {
		p := &q.parts[i]
		key := mixString(at^saltKey, p.key)
		if t.count(h, mixString(key, p.value)) == 1 {
			known = false
			t.count(h, key)
		}
		if isSortKey(p.key) {
			continue // identifies nothing
		}
		if n := int(h.marks[key]); n >= textIDs || n >= numericIDs && p.numeric() {
			things = max(things, n)
		}
	}
	if things > 0 && !known {
		h.ordinary++ // one more thing, as good as a separate path
	}
	base := at ^ q.filterSum() ^ saltBase
	if t.has(h, base) {
		return Decision{In: true} // another page or language of it
	}
	if q.sorted || known && len(q.parts) > 1 {
		combined := at ^ saltCombined
		switch max := t.allowance(h); {
		case things > 0 && int(h.marks[combined]) < viewsOfID*things:
			t.count(h, combined)
		case h.suspicious >= max:
			return Decision{Reason: TrapQuery, Rule: fmt.Sprintf("more than %d parameter combinations or future dates on this host, this one at %s", max, short(path))}
		default:
			h.suspicious++
		}
	}
	t.count(h, base)
	return Decision{In: true}
}

// allowance is how many suspicious URLs a host may have.
func (t *Traps) allowance(h *trapHost) int { return t.cfg.Grace + h.ordinary/ordinaryPerSuspicious }

// shape says what is suspicious about the form of a path, or "".
func (t *Traps) shape(path string) string {
	depth := strings.Count(path, "/")
	if depth > t.cfg.MaxSegments {
		return fmt.Sprintf("more than %d folders deep", t.cfg.MaxSegments)
	}
	if depth < sameSegment {
		return ""
	}
	if cycle := repeatedCycle(path); cycle != "" {
		return "repeats " + short(cycle)
	}
	return ""
}

// repeatedCycle finds segments that repeat several times in a row. Short numbers may: they
// are dates and page numbers.
func repeatedCycle(path string) string {
	var store [DefaultMaxSegments + 2]string
	segments := store[:0]
	for s := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		segments = append(segments, s)
	}
	for length := 1; length*sameCycle <= len(segments); length++ {
		times := sameCycle
		if length == 1 {
			times = sameSegment
		}
		run := 0 // segments equal to the one a cycle earlier
		for i := length; i < len(segments); i++ {
			if segments[i] != segments[i-length] {
				run = 0
				continue
			}
			if run++; run < length*(times-1) {
				continue
			}
			cycle := segments[i-length+1 : i+1]
			if !allShortNumbers(cycle) {
				return "/" + strings.Join(cycle, "/")
			}
		}
	}
	return ""
}

func allShortNumbers(segments []string) bool {
	for _, s := range segments {
		if len(s) == 0 || len(s) > 2 || !allDigits(s) {
			return false
		}
	}
	return true
}

// maxShown limits how much of a path or parameter a rule repeats.
const maxShown = 60

func short(s string) string {
	if len(s) > maxShown {
		return s[:maxShown] + "…"
	}
	return s
}

// host returns or creates the state of a host, and may forget others.
func (t *Traps) host(key string) *trapHost {
	if e := t.hosts[key]; e != nil {
		t.lru.MoveToFront(e)
		return e.Value.(*trapHost)
	}
	h := &trapHost{key: strings.Clone(key)}
	t.hosts[h.key] = t.lru.PushFront(h)
	if t.lru.Len() > t.cfg.MaxHosts {
		t.forget()
	}
	return h
}

// forget drops the least recently used host.
func (t *Traps) forget() {
	h := t.lru.Remove(t.lru.Back()).(*trapHost)
	delete(t.hosts, h.key)
	t.marks -= len(h.marks)
}

// count counts a fact about a host, and returns its count.
func (t *Traps) count(h *trapHost, mark uint64) int {
	if h.marks == nil {
		h.marks = map[uint64]uint32{}
	}
	n := h.marks[mark] + 1
	h.marks[mark] = n
	if n == 1 {
		t.marks++
		for t.marks > t.cfg.MaxMarks && t.lru.Len() > 1 {
			t.forget()
		}
	}
	return int(n)
}

// has reports whether a fact was counted.
func (t *Traps) has(h *trapHost, mark uint64) bool { return h.marks[mark] > 0 }

// Kinds of facts about the same text.
const (
	saltSpelling = 0x9e3779b97f4a7c15
	saltFull     = 0xbf58476d1ce4e5b9
	saltKey      = 0x94d049bb133111eb
	saltBase     = 0xd6e8feb86659fd93
	saltCombined = 0xa0761d6478bd642f
	saltDates    = 0xe7037ed1a0b428db
)

// mixString hashes s into h: FNV-1a, and a round of mixing so that sums of hashes are good
// hashes. It need not resist attacks: a host that makes its own URLs collide only affects
// which of its URLs are refused, within its allowance.
func mixString(h uint64, s string) uint64 {
	h ^= 0xcbf29ce484222325
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
