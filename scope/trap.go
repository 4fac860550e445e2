package scope

import (
	"container/list"
	"fmt"
	"strings"
	"time"

	"headway/weburl"
)

// TrapConfig has the numbers of [Traps]. Each that is zero has its default.
type TrapConfig struct {
	MaxSegments  int // folders a path may be deep
	MaxParams    int // parameters a query may have
	MaxSpellings int // session ids and tracking codes one page may be asked for under
	// Grace is how many suspicious URLs a host may have before it has shown
	// any ordinary ones; each four ordinary ones allow one more.
	Grace int
	// DateGrace is how many months of the past a host may have a page for
	// before it has shown any ordinary URL. A day counts as four months, and
	// each ordinary URL allows one day more: an archive that is real has at
	// least an article for each of its pages.
	DateGrace int

	MaxHosts     int // hosts remembered; the one not asked about for longest is forgotten
	MaxMarks     int // facts remembered of all hosts; beyond it hosts are forgotten
	MaxHostMarks int // facts remembered of one host; beyond it they start anew
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

// What is fixed in the rules.
const (
	ordinaryPerSuspicious = 4
	sameSegment           = 4                    // times in a row that one segment may not stand
	sameCycle             = 3                    // times in a row that several may not
	sameParam             = 3                    // times that one parameter may not stand
	maxAhead              = 400 * 24 * time.Hour // of a date with an article behind it
	maxYearsAhead         = 50                   // beyond it a number of four digits is no year
	monthsPerDay          = 4                    // see TrapConfig.DateGrace
	nearDates             = 14                   // dates within maxAhead that any calendar may have
	numericIDs            = 12                   // numbers under one key, from which on it names things and filters nothing
	textIDs               = 64                   // the same for words
	viewsOfID             = 4                    // combinations allowed for each thing named
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

// Traps refuses URLs of spaces that have no end, by the look of the URLs alone:
// so that on a host full of traps at least half of the pages fetched are real,
// and on an ordinary one nothing real is refused. It belongs to one crawl and
// one goroutine.
//
// Some things no ordinary URL does, and they are refused at once: a path that
// repeats itself, one that is absurdly deep, a query of very many parameters,
// the parameters of a known URL in another order, and a further session id for
// a page that was asked for under some already.
//
// Others are suspicious only in numbers: filters and orders of a list combined
// again and again, and calendar pages that lie ahead. Of these a host may have
// a few ([TrapConfig.Grace]), and the more the more ordinary URLs it has shown.
// A combination is only counted when each of its parameters has been seen at
// that path before: what is new in a catalogue, such as the number of an
// article, is never refused. Numbers of pages and languages do not count.
//
// What it knows of a host is lost when the host was not asked about for long
// and when a crawl is resumed; a trap then has its grace once more.
type Traps struct {
	cfg   TrapConfig
	hosts map[string]*list.Element // of *trapHost
	lru   list.List                // most recently asked about first
	marks int                      // of all hosts

	query query // of the URL looked at
}

// trapHost is what is known of a host.
type trapHost struct {
	key        string
	ordinary   int
	suspicious int
	dates      int               // calendar pages of the past, in months
	datePages  int               // the same in pages
	marks      map[uint64]uint32 // facts by hash, with a count
}

// NewTraps makes the traps of one crawl.
func NewTraps(c TrapConfig) *Traps {
	return &Traps{cfg: c.withDefaults(), hosts: map[string]*list.Element{}}
}

// Look decides about a URL that is in scope and has not been seen before, and
// learns from it. Each URL is to be looked at once: a second look takes it for
// another spelling of the first. Seeds are not looked at.
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

// look decides about what can only be told with the host's other URLs in mind.
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

// dated decides about calendar pages; ok is false for anything else.
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
		// What is on in the next days.
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
	// The other parameters of a calendar page are views of it, and count with
	// its date.
	return Decision{In: true}, true
}

// filtered decides about a query that narrows or arranges what is at its path.
func (t *Traps) filtered(h *trapHost, path string, at uint64) Decision {
	q := &t.query
	full := at ^ q.sum() ^ saltFull
	if len(q.parts)+len(q.neutral) > 1 && t.count(h, full) > 1 {
		return Decision{Reason: TrapQuery, Rule: "has the same parameters as another URL in a different order"}
	}
	// How many things the keys name, and whether all of them are known here.
	known, things := true, 0
	for i := range q.parts {
		p := &q.parts[i]
		key := mixString(at^saltKey, p.key)
		if t.count(h, mixString(key, p.value)) == 1 {
			known = false
			t.count(h, key)
		}
		if isArrangement(p.key) {
			continue // names nothing
		}
		if n := int(h.marks[key]); n >= textIDs || n >= numericIDs && p.numeric() {
			things = max(things, n)
		}
	}
	if things > 0 && !known {
		h.ordinary++ // one thing more, as good as a path of its own
	}
	base := at ^ q.filterSum() ^ saltBase
	if t.has(h, base) {
		return Decision{In: true} // another page or language of it
	}
	if q.arranged || known && len(q.parts) > 1 {
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

// shape says what no ordinary path looks like, or "".
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

// repeatedCycle finds segments that stand in a path several times in a row.
// Short numbers may: they are dates and pages.
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
		run := 0 // segments that equal the one a cycle before them
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

// maxShown bounds how much of a path or parameter a rule repeats.
const maxShown = 60

func short(s string) string {
	if len(s) > maxShown {
		return s[:maxShown] + "…"
	}
	return s
}

// host finds or makes the record of a host and forgets others for it.
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

// forget drops the host that was not asked about for longest.
func (t *Traps) forget() {
	h := t.lru.Remove(t.lru.Back()).(*trapHost)
	delete(t.hosts, h.key)
	t.marks -= len(h.marks)
}

// count counts a fact about a host, and returns how often it was counted.
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

// Different facts about the same text.
const (
	saltSpelling = 0x9e3779b97f4a7c15
	saltFull     = 0xbf58476d1ce4e5b9
	saltKey      = 0x94d049bb133111eb
	saltBase     = 0xd6e8feb86659fd93
	saltCombined = 0xa0761d6478bd642f
	saltDates    = 0xe7037ed1a0b428db
)

// mixString hashes s into h: FNV-1a, and a round of mixing so that sums of
// hashes are as good as hashes. It need not withstand anybody: a host that
// makes its own URLs collide only gets them refused or let in as it likes,
// within the bounds of what it may have anyway.
func mixString(h uint64, s string) uint64 {
	h ^= 0xcbf29ce484222325
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
