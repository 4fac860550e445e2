package scope

import (
	"container/list"
	"fmt"
	"strings"

	"headway/weburl"
)

// The parameters of [Duplicates].
const (
	// SameInARow is after how many consecutive pages of one template with the same
	// text the template is skipped.
	SameInARow = 8
	// ProbeEvery is how often a URL of a skipped template is fetched anyway, to check
	// for new content: the host may have served an error page with status 200.
	ProbeEvery = 16
	// MaxTemplates limits the templates in memory; the least recently used is
	// forgotten.
	MaxTemplates = 100_000
)

// Duplicates detects templates whose pages all have the same text, so that the rest of them
// need not be fetched. URLs have the same template if they differ only in digits,
// hexadecimal names, and parameter values. Use one per crawl, in one goroutine; the zero
// value is ready.
//
// Same means the same visible text, or the same SimHash of it. Similar is not enough:
// measured with package parse, two articles of ten words among five hundred words of
// boilerplate differ by 2 bits in the median, while months of an empty calendar differ by
// 6. A threshold that finds the one would skip the other. Pages without text are ignored.
type Duplicates struct {
	templates map[uint64]*list.Element // of *template
	lru       list.List                // most recently used first
}

// template is the state of one template.
type template struct {
	key     uint64
	simhash uint64
	digest  string
	run     int // consecutive pages with this text
	asked   int // URLs since it was skipped
}

// Observe records a fetched page: the SimHash of its visible text, 0 without text, and its
// digest, "" if there is none. Only successful responses count: that a page is gone or
// failed is specific to each URL, however similar the responses are.
func (d *Duplicates) Observe(u weburl.URL, simhash uint64, digest string) {
	if simhash == 0 {
		return
	}
	t := d.template(templateOf(u))
	if t.run > 0 && (t.simhash == simhash || digest != "" && t.digest == digest) {
		t.run++
		return
	}
	t.simhash, t.digest, t.run, t.asked = simhash, strings.Clone(digest), 1, 0
}

// Look decides about a pending URL right before it is fetched.
func (d *Duplicates) Look(u weburl.URL) Decision {
	e := d.templates[templateOf(u)]
	if e == nil {
		return Decision{In: true}
	}
	t := e.Value.(*template)
	if t.run < SameInARow {
		return Decision{In: true}
	}
	if t.asked++; t.asked%ProbeEvery == 0 {
		return Decision{In: true}
	}
	return Decision{Reason: DuplicateContent, Rule: fmt.Sprintf("the last %d similar pages had the same text", t.run)}
}

// template returns or creates the state of a template.
func (d *Duplicates) template(key uint64) *template {
	if e := d.templates[key]; e != nil {
		d.lru.MoveToFront(e)
		return e.Value.(*template)
	}
	if d.templates == nil {
		d.templates = map[uint64]*list.Element{}
	}
	t := &template{key: key}
	d.templates[key] = d.lru.PushFront(t)
	if d.lru.Len() > MaxTemplates {
		oldest := d.lru.Remove(d.lru.Back()).(*template)
		delete(d.templates, oldest.key)
	}
	return t
}

// minHex is the minimum length of a hexadecimal name; shorter ones may be words.
const minHex = 8

// templateOf hashes the template of u.
func templateOf(u weburl.URL) uint64 {
	h := mixString(0, hostKey(u))
	path, _ := cleanPath(u.Path())
	for segment := range strings.SplitSeq(path, "/") {
		h = mixSegment(h, segment)
	}
	var keys uint64
	for one := range strings.SplitSeq(u.Query(), "&") {
		key, value, _ := strings.Cut(one, "=")
		if one != "" && !isNoise(parameter{key, value}) {
			keys += mixString(saltKey, key)
		}
	}
	return h ^ keys
}

// mixSegment hashes a segment without its variable parts.
func mixSegment(h uint64, segment string) uint64 {
	if len(segment) >= minHex && strings.Trim(segment, "0123456789abcdefABCDEF-") == "" {
		return mixString(h, "#")
	}
	for {
		start := strings.IndexAny(segment, "0123456789")
		if start < 0 {
			return mixString(h, segment)
		}
		h = mixString(mixString(h, segment[:start]), "#")
		segment = strings.TrimLeft(segment[start:], "0123456789")
	}
}
