package robots

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"headway/weburl"
)

const (
	// MaxBytes is how much of a robots.txt counts (RFC 9309 section 2.5 requires at
	// least 500 KiB). It also bounds the compiled form.
	MaxBytes = 512_000

	// maxRules is how many rules fit into MaxBytes.
	maxRules = MaxBytes / len("allow:/\n")

	// maxWork limits the bytes one decision compares with rules that contain a star:
	// about 4 ms. No legitimate file comes near it, since most rules are excluded
	// earlier; a hostile one would make every link of its pages expensive. Beyond the
	// limit, a Disallow with a star applies to everything with its literal prefix, and
	// an Allow with a star to nothing: the host is crawled less, never more.
	maxWork = 4 << 20

	// MaxDelay is the longest Crawl-delay that is honoured. A host that requires more
	// is not crawled at all.
	MaxDelay = 300 * time.Second

	// maxRuleText limits the text of a rule kept as evidence. A longer rule still
	// decides; only its text is cut.
	maxRuleText = 512
)

// Sum is the SHA-256 of a robots.txt, the ID of one version of a file. Hosts with the
// same file share the sum, the stored body and the compiled form.
type Sum [sha256.Size]byte

// IsZero reports whether s is unset.
func (s Sum) IsZero() bool { return s == Sum{} }

// String returns the sum in lower-case hex.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// File is a compiled robots.txt. It is immutable and safe for concurrent use.
//
// All text is in one string; rules, groups and names are small structs that point into
// it, so that a file is a handful of heap objects however many rules it has.
type File struct {
	sum      Sum
	text     string
	rules    []rule   // in file order
	groups   []group  // in file order
	names    []name   // sorted by token without case, then by group
	sitemaps []span   // in file order
	signals  []signal // in file order
	size     int64    // see Size
	memo     atomic.Pointer[Rules]
}

// span is a piece of File.text.
type span struct{ off, len uint32 }

// rule is one Allow or Disallow line that can match something.
type rule struct {
	pattern span   // normalised, without anchor and trailing star; "*" is always the wildcard
	textOff uint32 // the line as written, without comment
	line    uint32 // counted from 1
	octets  uint32 // length that decides between matching rules
	literal uint32 // bytes of the pattern that a URL must start with in any spelling
	textLen uint16
	allow   bool
	kind    patternKind
}

// patternKind says how a pattern is compared.
type patternKind uint8

const (
	anchored patternKind = 1 << iota // must reach the end of the URL
	escaped                          // contains special bytes as data: compare with the escaped URL
)

// group is one block of the file: agent lines and the rules that follow them.
type group struct {
	firstRule, endRule uint32
}

// name is one product token of a group.
type name struct {
	token span
	group uint32
	delay time.Duration // longest Crawl-delay after this name in its group; noDelay if none
}

// noDelay marks a name without Crawl-delay; zero is a delay.
const noDelay time.Duration = -1

// everyone is the token of the group for crawlers without their own group.
const everyone = "*"

func (f *File) at(s span) string { return f.text[s.off : s.off+s.len] }

// Sum returns the SHA-256 of the part of the body that counts, see [Cut].
func (f *File) Sum() Sum { return f.sum }

// Size returns the memory the compiled file holds, in bytes, including the
// rules of one agent once they are chosen. A [Cache] counts it.
func (f *File) Size() int64 { return f.size }

// Binding reports whether the file has a rule or a delay. A file without either, such
// as an empty body, an HTML page or a list of sitemaps, permits everything.
func (f *File) Binding() bool {
	return len(f.rules) > 0 || slices.ContainsFunc(f.names, func(n name) bool { return n.delay != noDelay })
}

// Sitemaps yields the values of all Sitemap lines in file order, as written. They
// belong to no group. Resolve them against the URL of the robots.txt.
func (f *File) Sitemaps() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range f.sitemaps {
			if !yield(f.at(s)) {
				return
			}
		}
	}
}

// RuleAt returns the text of the rule on a line, so that stored evidence needs
// only the sum and the line.
func (f *File) RuleAt(line int) (text string, ok bool) {
	i, ok := slices.BinarySearchFunc(f.rules, line, func(r rule, line int) int { return int(r.line) - line })
	if !ok {
		return "", false
	}
	return f.ruleText(&f.rules[i]), true
}

func (f *File) ruleText(r *rule) string {
	return f.text[r.textOff : r.textOff+uint32(r.textLen)]
}

// For selects the rules for an agent: all groups with its product token, or else all
// groups for "*", merged. Only the product token of agent counts: the leading letters,
// "-" and "_", ignoring case.
//
// The selection needs a sort, so the file caches it for the last agent; a crawler has
// only one.
func (f *File) For(agent string) *Rules {
	if r := f.memo.Load(); r != nil && r.agent == agent {
		return r
	}
	r := f.compile(agent)
	f.memo.Store(r)
	return r
}

// Decide decides one URL. It is [File.For] and [Rules.Decide] in one call.
func (f *File) Decide(agent string, u weburl.URL) Decision {
	return f.For(agent).Decide(u)
}

// find returns the names equal to token, ignoring case; they are adjacent.
func (f *File) find(token string) []name {
	compare := func(n name, token string) int { return compareFold(f.at(n.token), token) }
	from, _ := slices.BinarySearchFunc(f.names, token, compare)
	to := from
	for to < len(f.names) && compareFold(f.at(f.names[to].token), token) == 0 {
		to++
	}
	return f.names[from:to]
}

// measure computes the memory of f. The rules of an agent are counted at their maximum,
// with every rule of the file, so that the size is known at once.
func (f *File) measure() int64 {
	n := int64(unsafe.Sizeof(*f)) + int64(unsafe.Sizeof(Rules{})) + int64(len(f.text))
	n += int64(len(f.rules)) * int64(unsafe.Sizeof(rule{})+unsafe.Sizeof(entry{})+unsafe.Sizeof(node{}))
	n += int64(len(f.groups)) * int64(unsafe.Sizeof(group{}))
	n += int64(len(f.names)) * int64(unsafe.Sizeof(name{})+unsafe.Sizeof(name{}.group))
	n += int64(len(f.sitemaps)) * int64(unsafe.Sizeof(span{}))
	n += int64(len(f.signals)) * int64(unsafe.Sizeof(signal{}))
	return n
}

// productToken returns the compared part of an agent line or of our own name: the
// leading letters, "-" and "_" (RFC 9309 section 2.2.1).
func productToken[T string | []byte](s T) T {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && c != '-' && c != '_' {
			return s[:i]
		}
	}
	return s
}

// compareFold compares tokens, ignoring ASCII case.
func compareFold(a, b string) int {
	for i := range min(len(a), len(b)) {
		if x, y := lower(a[i]), lower(b[i]); x != y {
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
