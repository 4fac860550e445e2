package extract

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"

	"headway/scope"
	"headway/weburl"
)

// Rules are the rules of one file. They are immutable and safe for concurrent use.
type Rules struct {
	text   string
	fields []field
	linked bool // some read JSON-LD
}

// field is the rule for one field.
type field struct {
	name      string
	from      source
	attribute string // of the element, instead of its text
	regex     *regexp.Regexp
	cost      int // of the regular expression, per 64 bytes
	kind      kind
	all       bool
	when      []*scope.Pattern // none: every URL
}

// source finds the texts of a field on a page, in document order, until yield returns
// false. No more than one text is in memory at a time.
type source interface {
	values(p *page, f *field, yield func(text string) bool) error
}

// limit is how many texts a field looks at.
func (f *field) limit() int {
	if f.all || f.regex != nil {
		return MaxValues
	}
	return maxTries
}

// Text is the file the rules were read from; "" for nil.
func (r *Rules) Text() string {
	if r == nil {
		return ""
	}
	return r.text
}

// String names the rules for people, such as "12 fields (8f3a02c1)": two files with the
// same text have the same name. It is "" for nil.
func (r *Rules) String() string {
	if r == nil {
		return ""
	}
	sum := sha256.Sum256([]byte(r.text))
	return fmt.Sprintf("%s (%s)", count(len(r.fields), "field", "fields"), hex.EncodeToString(sum[:4]))
}

// Apply reports whether any rule applies to the URL; false for nil.
func (r *Rules) Apply(u weburl.URL) bool {
	if r == nil {
		return false
	}
	for i := range r.fields {
		if r.fields[i].applies(u) {
			return true
		}
	}
	return false
}

// Names are the names of the fields whose rules apply to the URL, in the order of the rules.
func (r *Rules) Names(u weburl.URL) []string {
	var names []string
	for i := range r.fields {
		if r.fields[i].applies(u) {
			names = append(names, r.fields[i].name)
		}
	}
	return names
}

func (f *field) applies(u weburl.URL) bool {
	for _, p := range f.when {
		if p.Match(u) {
			return true
		}
	}
	return len(f.when) == 0
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
