package robots

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"headway/weburl"
)

// Rules are the merged rules of a file for one agent, indexed by the literal text
// before their first star. They are immutable and safe for concurrent use.
//
// A rule can only match a URL that starts with its literal text. The distinct texts
// are sorted, and each is linked to its longest proper prefix among them. One binary
// search then finds the end of the chain with all candidate rules: usually one to three
// out of hundreds.
type Rules struct {
	file    *File
	agent   string // as given to For
	group   string // token of the chosen groups as the file writes it, or ""
	delay   time.Duration
	escapes bool // some rule needs the escaped URL
	nodes   []node
	entries []entry  // by node, most octets first
	groups  []uint32 // the chosen groups, ascending
}

// node is one distinct literal prefix.
type node struct {
	prefix     span
	parent     int32 // the longest other node that is a prefix of this one, or -1
	first, end uint32
	octets     uint32 // the maximum of any rule here or at an ancestor
}

// entry is one rule of a node.
type entry struct {
	need   uint64 // bytes that the rest of the pattern requires, see byteSet
	rule   uint32
	octets uint32
}

// compile merges and indexes the groups for an agent.
func (f *File) compile(agent string) *Rules {
	names := []name(nil)
	if token := productToken(agent); token != "" {
		names = f.find(token)
	}
	if len(names) == 0 {
		names = f.find(everyone)
	}
	r := &Rules{file: f, agent: strings.Clone(agent), delay: noDelay}
	if len(names) == 0 {
		return r
	}
	r.group = f.at(names[0].token)
	count := uint32(0)
	for _, n := range names {
		r.delay = max(r.delay, n.delay)
		r.groups = append(r.groups, n.group)
		count += f.groups[n.group].endRule - f.groups[n.group].firstRule
	}
	r.entries = make([]entry, 0, count)
	for _, n := range r.groups {
		g := f.groups[n]
		for i := g.firstRule; i < g.endRule; i++ {
			rule := &f.rules[i]
			e := entry{rule: i, octets: rule.octets}
			if rule.kind&escaped == 0 {
				e.need = byteSet(f.at(rule.pattern)[rule.literal:]) &^ byteSet("*")
			}
			r.entries = append(r.entries, e)
			r.escapes = r.escapes || rule.kind&escaped != 0
		}
	}
	slices.SortFunc(r.entries, func(a, b entry) int {
		return cmp.Or(
			strings.Compare(f.at(f.prefix(a.rule)), f.at(f.prefix(b.rule))),
			cmp.Compare(b.octets, a.octets),
			compareAllow(f.rules[a.rule].allow, f.rules[b.rule].allow),
			cmp.Compare(a.rule, b.rule),
		)
	})
	r.index()
	return r
}

func compareAllow(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// prefix returns the literal prefix of a rule.
func (f *File) prefix(i uint32) span {
	r := &f.rules[i]
	return span{r.pattern.off, r.literal}
}

// literal returns how much of a pattern precedes its first star, or the first byte
// that the escaped spelling of a URL may change.
func literal(pattern []byte, kind patternKind) int {
	stop := "*"
	if kind&escaped != 0 {
		stop = "*%"
	}
	if n := bytes.IndexAny(pattern, stop); n >= 0 {
		return n
	}
	return len(pattern)
}

// index groups the sorted entries by prefix and links each prefix to its longest proper
// prefix.
func (r *Rules) index() {
	f := r.file
	var open []int32 // chain of possible ancestors
	nodes := make([]node, 0, len(r.entries))
	for i := 0; i < len(r.entries); {
		prefix := f.prefix(r.entries[i].rule)
		text := f.at(prefix)
		n := node{prefix: prefix, parent: -1, first: uint32(i), octets: r.entries[i].octets}
		for i < len(r.entries) && f.at(f.prefix(r.entries[i].rule)) == text {
			i++
		}
		n.end = uint32(i)
		for len(open) > 0 && !strings.HasPrefix(text, f.at(nodes[open[len(open)-1]].prefix)) {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			n.parent = open[len(open)-1]
			n.octets = max(n.octets, nodes[n.parent].octets)
		}
		open = append(open, int32(len(nodes)))
		nodes = append(nodes, n)
	}
	r.nodes = slices.Clone(nodes)
}

// Delay returns the Crawl-delay of the group and whether it has one, which may be 0.
// The longest counts.
func (r *Rules) Delay() (time.Duration, bool) { return max(r.delay, 0), r.delay != noDelay }

// TooSlow reports whether the Crawl-delay is above [MaxDelay], so that the host is not
// crawled.
func (r *Rules) TooSlow() bool { return r.delay > MaxDelay }

// Group returns the token of the chosen groups as the file writes it: ours, "*", or ""
// if the file has neither.
func (r *Rules) Group() string { return r.group }

// Decide decides one URL. It allocates nothing, except for a URL and a rule that both
// contain one of the bytes * $ ' ` { } ^ as data.
func (r *Rules) Decide(u weburl.URL) Decision {
	return r.decide(u.PathQuery())
}

func (r *Rules) decide(path string) Decision {
	d := Decision{Allowed: true, Reason: NoRule, Group: r.group}
	d.Delay, d.Delayed = r.Delay()
	if path == robotsPath {
		d.Reason = RobotsFile
		return d
	}
	if r.TooSlow() {
		d.Allowed, d.Reason = false, DelayTooLong
		return d
	}
	spelt := path
	if r.escapes {
		spelt = escapeData(path)
	}
	i, ok := r.match(path, spelt)
	if !ok {
		return d
	}
	rule := &r.file.rules[i]
	d.Rule, d.Line = r.file.ruleText(rule), int(rule.line)
	d.Allowed, d.Reason = rule.allow, DisallowRule
	if rule.allow {
		d.Reason = AllowRule
	}
	return d
}

// starCost is the cost of starting to compare a rule with a star, in bytes of maxWork.
const starCost = 64

// robotsPath is always allowed (RFC 9309 section 2.2.2).
const robotsPath = "/robots.txt"

// match returns the deciding rule: the one with the most octets, Allow on a tie. spelt
// is path with its special bytes escaped.
func (r *Rules) match(path, spelt string) (best uint32, ok bool) {
	f := r.file
	var bestOctets uint32
	var bestAllow bool
	var has uint64 // bytes of path, computed for the first rule with a star
	work := 0
	for n := r.last(path); n >= 0; {
		node := &r.nodes[n]
		if ok && (node.octets < bestOctets || node.octets == bestOctets && bestAllow) {
			break // nothing here or above can win
		}
		n = node.parent
		if !strings.HasPrefix(path, f.at(node.prefix)) {
			continue
		}
		for i := node.first; i < node.end; i++ {
			e := &r.entries[i]
			if ok && e.octets < bestOctets {
				break // the rest has fewer octets
			}
			if e.need != 0 {
				if has == 0 {
					has = byteSet(path)
				}
				if e.need&^has != 0 {
					continue
				}
			}
			rule := &f.rules[e.rule]
			if ok && e.octets == bestOctets && (bestAllow || !rule.allow) {
				continue
			}
			if f.matches(rule, path, spelt, &work) {
				best, bestOctets, bestAllow, ok = e.rule, e.octets, rule.allow, true
			}
		}
	}
	return best, ok
}

// last returns the last node whose prefix sorts at or before path: all prefixes of
// path are that node or its ancestors.
func (r *Rules) last(path string) int32 {
	lo, hi := 0, len(r.nodes)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if r.file.at(r.nodes[mid].prefix) <= path {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return int32(lo) - 1
}

// matches compares a rule with a URL that starts with its literal, and adds the cost
// to work; see maxWork.
func (f *File) matches(r *rule, path, spelt string, work *int) bool {
	pattern, toEnd := f.at(r.pattern), r.kind&anchored != 0
	rest := pattern[r.literal:]
	if rest == "" {
		return !toEnd || len(path) == len(pattern)
	}
	if *work > maxWork {
		return !r.allow
	}
	*work += starCost + len(spelt) + 4*min(len(rest), len(spelt)) // a star takes about as long as four bytes
	if r.kind&escaped != 0 {
		return matchPattern(pattern, spelt, toEnd)
	}
	return matchStars(rest[1:], path[r.literal:], toEnd)
}

// matchPattern compares a normalised pattern with a path and query.
func matchPattern(pattern, s string, toEnd bool) bool {
	before, after, star := strings.Cut(pattern, "*")
	switch {
	case !strings.HasPrefix(s, before):
		return false
	case !star:
		return !toEnd || len(s) == len(before)
	}
	return matchStars(after, s[len(before):], toEnd)
}

// matchStars compares what follows a star. Taking the first match of a literal is
// always right, so no backtracking is needed.
func matchStars(pattern, s string, toEnd bool) bool {
	for {
		star := strings.IndexByte(pattern, '*')
		if star < 0 {
			break
		}
		i := strings.Index(s, pattern[:star])
		if i < 0 {
			return false
		}
		s, pattern = s[i+star:], pattern[star+1:]
	}
	if toEnd {
		return strings.HasSuffix(s, pattern)
	}
	return strings.Contains(s, pattern)
}

// byteSet returns a set that contains every byte of s. Bytes share bits, so it can only
// show which bytes are certainly missing.
func byteSet(s string) (set uint64) {
	for i := range len(s) {
		set |= 1 << (s[i] & 63)
	}
	return set
}

// normalise appends the compared form of a rule's value to dst: the same spelling that
// [weburl.URL] uses, so that URLs need no conversion when matched. It returns the octets
// that decide between rules; ok is false for a value that can match no URL.
//
//   - Escaped letters, digits and "-._~" are decoded, other escapes are written
//     in upper case; a broken escape stays as it is.
//   - Blanks, controls, quotes, angle brackets and bytes outside ASCII are
//     escaped.
//   - The bytes * $ ' ` { } ^ as data are escaped and the rule is marked, since
//     URLs write them in both ways: a rule's %2A means the byte itself
//     (section 2.2.3), and the URL Standard escapes the others in only one of
//     path and query.
//   - Stars in a row act as one; a star at the end changes nothing.
func normalise(dst, value []byte) (pattern []byte, octets int, kind patternKind, ok bool) {
	toEnd := len(value) > 0 && value[len(value)-1] == '$'
	if toEnd {
		value = value[:len(value)-1]
		octets++
	}
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == '*':
			octets++
			if n := len(dst); n == 0 || dst[n-1] != '*' {
				dst = append(dst, '*')
			}
		case c == '%' && i+2 < len(value) && isHex(value[i+1]) && isHex(value[i+2]):
			c = unhex(value[i+1])<<4 | unhex(value[i+2])
			i += 2
			if isUnreserved(c) && (!isHex(c) || !endsPartialEscape(dst)) {
				dst = append(dst, c)
				octets++
				continue
			}
			dst = appendEscape(dst, c)
			octets += 3
			if isSpecial(c) {
				kind |= escaped
			}
		case isSpecial(c):
			dst = appendEscape(dst, c)
			octets++
			kind |= escaped
		case c <= ' ' || c >= 0x7F || c == '"' || c == '<' || c == '>':
			dst = appendEscape(dst, c)
			octets += 3
		default:
			dst = append(dst, c)
			octets++
		}
	}
	if n := len(dst); n > 0 && dst[n-1] == '*' {
		dst = dst[:n-1]
		toEnd = false
		if n == 1 {
			return dst, octets, kind, true // only stars: every URL
		}
	}
	if toEnd {
		kind |= anchored
	}
	return dst, octets, kind, len(dst) > 0 && (dst[0] == '/' || dst[0] == '*')
}

// endsPartialEscape reports whether a hex digit after s would complete an escape that was not
// one before; weburl leaves such digits escaped, too.
func endsPartialEscape(s []byte) bool {
	n := len(s)
	return n >= 1 && s[n-1] == '%' || n >= 2 && s[n-2] == '%' && isHex(s[n-1])
}

// escapeData escapes the special bytes of a URL's path and query.
func escapeData(s string) string {
	i := 0
	for i < len(s) && !isSpecial(s[i]) {
		i++
	}
	if i == len(s) {
		return s
	}
	b := append(make([]byte, 0, len(s)+16), s[:i]...)
	for ; i < len(s); i++ {
		if isSpecial(s[i]) {
			b = appendEscape(b, s[i])
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// isSpecial reports whether c occurs in URLs both escaped and unescaped, with the same
// meaning to a rule.
func isSpecial(c byte) bool {
	switch c {
	case '*', '$', '\'', '`', '{', '}', '^':
		return true
	}
	return false
}

func appendEscape(dst []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(dst, '%', digits[c>>4], digits[c&15])
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

func isUnreserved(c byte) bool {
	return '0' <= c && c <= '9' || isLetter(c) || c == '-' || c == '.' || c == '_' || c == '~'
}
