package scope

import (
	"container/list"
	"fmt"
	"strings"

	"headway/weburl"
)

// The numbers of [Duplicates].
const (
	// SameInARow is after how many pages of one template in a row with the
	// same text the template is left alone.
	SameInARow = 8
	// ProbeEvery is of how many URLs of such a template one is let through,
	// to see whether there is something new: a host may have been down with a
	// friendly face.
	ProbeEvery = 16
	// MaxTemplates is how many templates are remembered; the one not heard of
	// for longest is forgotten.
	MaxTemplates = 100_000
)

// Duplicates notices templates whose pages all say the same, so that the rest
// of them need not be fetched. URLs have the same template when they differ in
// nothing but digits, hexadecimal names, and the values of their parameters. It
// belongs to one crawl and one goroutine; the zero value is ready.
//
// The same means the same visible text, or the same SimHash of it. Being merely
// close does not count: measured with package parse, two articles of ten words
// among five hundred words of boilerplate are 2 bits apart in the median, while
// months of an empty calendar are 6. A bound that finds the one skips the other.
// Pages without text say nothing.
type Duplicates struct {
	templates map[uint64]*list.Element // of *template
	lru       list.List                // most recently heard of first
}

// template is what is known of the pages of one template.
type template struct {
	key     uint64
	simhash uint64
	digest  string
	run     int // pages in a row that said this
	asked   int // URLs looked at since it was left alone
}

// Observe is told of a page that was fetched: the SimHash of its visible text,
// 0 without any, and a digest of it, "" if there is none. Only success counts.
// That a page is gone, or that there was a fault, is news about each URL, however
// alike the answers are.
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

// Look decides about a URL that waits, right before it would be fetched.
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

// template finds or makes the record of a template.
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

// minHex is how long a name of hexadecimal digits must be to be no word.
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

// mixSegment hashes a segment with its variable parts left out.
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
