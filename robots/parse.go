package robots

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"math"
	"slices"
	"strconv"
	"time"
)

// Parse compiles a robots.txt. It never fails: a line that cannot be read is skipped.
//
// Only the first [MaxBytes] bytes count, see [Cut]. Pass at least one byte more if
// there is more, so that a cut line can be recognised. The file keeps no reference to
// body.
func Parse(body []byte) *File {
	body = Cut(body)
	p := parser{file: &File{sum: sha256.Sum256(body)}, text: make([]byte, 0, len(body))}
	// Most lines are rules; room for all of them avoids growing. The second
	// limit is for bodies of empty lines.
	p.file.rules = make([]rule, 0, min(bytes.Count(body, []byte("\n"))+1, maxRules))
	rest := trimBOM(body)
	for n := uint32(1); len(rest) > 0; n++ {
		var text []byte
		text, rest = cutLine(rest)
		p.readLine(n, text)
	}
	return p.finish()
}

// Cut returns the part of a body that counts: all of it, or the first [MaxBytes] bytes
// without the line that the limit cuts. Store this part: Parse(Cut(body)) equals
// Parse(body).
func Cut(body []byte) []byte {
	if len(body) <= MaxBytes {
		return body
	}
	if isEnd(body[MaxBytes]) {
		return body[:MaxBytes] // the limit is at the end of a line
	}
	end := MaxBytes
	for end > 0 && !isEnd(body[end-1]) {
		end--
	}
	return body[:end]
}

// trimBOM drops a leading byte order mark, also a partial one.
func trimBOM(body []byte) []byte {
	const mark = "\xEF\xBB\xBF"
	for i := 0; i < len(mark) && len(body) > 0 && body[0] == mark[i]; i++ {
		body = body[1:]
	}
	return body
}

// cutLine splits off the first line; LF, CR and CRLF end one.
func cutLine(s []byte) (line, rest []byte) {
	for i, c := range s {
		if !isEnd(c) {
			continue
		}
		rest = s[i+1:]
		if c == '\r' && len(rest) > 0 && rest[0] == '\n' {
			rest = rest[1:]
		}
		return s[:i], rest
	}
	return s, nil
}

func isEnd(c byte) bool { return c == '\n' || c == '\r' }

// parser reads lines into a file.
type parser struct {
	file    *File
	text    []byte // becomes File.text
	scratch []byte // the pattern being normalised

	inGroup   bool // an agent line was seen
	closed    bool // a rule was seen since: the next agent line opens a new group
	firstName int  // names of the open group begin here
	delays    []groupDelay
}

// groupDelay is a Crawl-delay line of the open group; it applies to the names above it.
type groupDelay struct {
	names int // names of the file so far
	delay time.Duration
}

// readLine reads one line.
func (p *parser) readLine(n uint32, text []byte) {
	if i := bytes.IndexByte(text, '#'); i >= 0 {
		text = text[:i]
	}
	text = bytes.TrimSpace(text)
	key, value, ok := splitLine(text)
	if !ok {
		return
	}
	switch readKey(key) {
	case keyAgent:
		p.readAgent(value)
	case keyAllow:
		p.readRule(n, text, value, true)
	case keyDisallow:
		p.readRule(n, text, value, false)
	case keyDelay:
		if d, ok := readDelay(value); ok && p.inGroup {
			p.delays = append(p.delays, groupDelay{len(p.file.names), d})
		}
	case keySitemap:
		if len(value) > 0 {
			p.file.sitemaps = append(p.file.sitemaps, p.keep(value))
		}
	case keyUsage:
		p.readSignal(n, ContentUsage, value)
	case keySignal:
		p.readSignal(n, ContentSignal, value)
	}
}

// splitLine splits a trimmed line into name and value. A space may replace a missing
// colon if the line has exactly two words.
func splitLine(text []byte) (key, value []byte, ok bool) {
	const blanks = " \t"
	colon := bytes.IndexByte(text, ':')
	blank := bytes.IndexAny(text, blanks)
	sep := colon
	if blank >= 0 && (colon < 0 || blank < colon) {
		tail := bytes.TrimSpace(text[blank:])
		two := !bytes.ContainsAny(tail, blanks)
		// With a colon further on ("Sitemap https://…", "Disallow /a:b") the space is
		// the separator only if a value clearly starts after it.
		if two && (colon < 0 || startsValue(tail)) {
			sep = blank
		} else if colon < 0 {
			return nil, nil, false
		}
	}
	if sep < 0 {
		return nil, nil, false
	}
	key = bytes.TrimSpace(text[:sep])
	return key, bytes.TrimSpace(text[sep+1:]), len(key) > 0
}

// startsValue reports whether s looks like a path or URL rather than the rest of a
// name.
func startsValue(s []byte) bool {
	return s[0] == '/' || s[0] == '*' || hasPrefixFold(s, "http")
}

// key is the kind of a line.
type key uint8

const (
	keyUnknown key = iota
	keyAgent
	keyAllow
	keyDisallow
	keyDelay
	keySitemap
	keyUsage
	keySignal
)

// readKey recognises a name, ignoring case. Misspellings and longer forms are accepted
// only if they restrict: "Disalow" disallows, "Alow" and "Allowed" are ignored.
func readKey(s []byte) key {
	switch lower(s[0]) {
	case 'u':
		if hasAnyPrefixFold(s, "user-agent", "useragent", "user agent") {
			return keyAgent
		}
	case 'd':
		if hasAnyPrefixFold(s, "disallow", "dissallow", "dissalow", "disalow", "diaslow", "diasllow", "disallaw") {
			return keyDisallow
		}
	case 'a':
		if equalFold(s, "allow") {
			return keyAllow
		}
	case 's':
		if hasAnyPrefixFold(s, "sitemap", "site-map") {
			return keySitemap
		}
	case 'c':
		switch {
		case equalFold(s, "crawl-delay"), equalFold(s, "crawldelay"), equalFold(s, "crawl delay"):
			return keyDelay
		case equalFold(s, "content-usage"):
			return keyUsage
		case equalFold(s, "content-signal"), equalFold(s, "content-signals"):
			return keySignal
		}
	}
	return keyUnknown
}

// readAgent adds a name to the open group, or opens a new one after a rule.
func (p *parser) readAgent(value []byte) {
	if p.closed {
		p.endGroup()
	}
	p.inGroup = true
	token := productToken(value)
	if isEveryone(value) {
		token = value[:1]
	}
	if len(token) == 0 {
		return // cannot be our token
	}
	p.file.names = append(p.file.names, name{token: p.keep(token), group: uint32(len(p.file.groups)), delay: noDelay})
}

// isEveryone reports whether an agent value is a star, alone or followed by a remark. A
// star attached to a word is not a wildcard.
func isEveryone(value []byte) bool {
	return len(value) > 0 && value[0] == '*' && (len(value) == 1 || value[1] == ' ' || '\t' <= value[1] && value[1] <= '\r')
}

// readRule adds a rule to the open group. A rule outside every group is dropped; one
// without value closes the agent list and has no other effect.
func (p *parser) readRule(n uint32, text, value []byte, allow bool) {
	if !p.inGroup {
		return
	}
	p.closed = true
	if len(p.file.names) == p.firstName {
		return // matches no URL
	}
	pattern, octets, kind, ok := normalise(p.scratch[:0], value)
	p.scratch = pattern
	if !ok {
		return
	}
	kept := p.keep(text[:min(len(text), maxRuleText)])
	r := rule{textOff: kept.off, textLen: uint16(kept.len), line: n, octets: uint32(octets), allow: allow, kind: kind}
	r.literal = uint32(literal(pattern, kind))
	// Nearly every pattern is a part of the kept text.
	valueOff := len(text) - len(value)
	if bytes.HasPrefix(value, pattern) && valueOff+len(pattern) <= int(kept.len) {
		r.pattern = span{kept.off + uint32(valueOff), uint32(len(pattern))}
	} else {
		r.pattern = p.keep(pattern)
	}
	p.file.rules = append(p.file.rules, r)
}

// readDelay reads the seconds of a Crawl-delay: a finite decimal number that is not
// negative. Anything else is ignored.
func readDelay(value []byte) (time.Duration, bool) {
	for _, c := range value {
		if !('0' <= c && c <= '9') && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
			return 0, false // words, units, commas, hex, infinities
		}
	}
	seconds, err := strconv.ParseFloat(string(value), 64)
	if err != nil || seconds < 0 {
		return 0, false
	}
	if seconds >= float64(math.MaxInt64/time.Second) {
		return math.MaxInt64, true // centuries: far above MaxDelay either way
	}
	return time.Duration(math.Round(seconds * float64(time.Second))), true
}

// endGroup closes the open group and assigns delays to its names.
//
// A delay applies to the names above it. RFC 9309 makes one group of "A, delay 10, B,
// Disallow /x", since Crawl-delay is not a rule, but its author did not mean B to wait.
func (p *parser) endGroup() {
	names := p.file.names[p.firstName:]
	longest := noDelay
	for i := len(names) - 1; i >= 0; i-- {
		for n := len(p.delays) - 1; n >= 0 && p.delays[n].names > p.firstName+i; n-- {
			longest = max(longest, p.delays[n].delay)
			p.delays = p.delays[:n]
		}
		names[i].delay = longest
	}
	first := uint32(0)
	if n := len(p.file.groups); n > 0 {
		first = p.file.groups[n-1].endRule
	}
	p.file.groups = append(p.file.groups, group{first, uint32(len(p.file.rules))})
	p.firstName, p.delays, p.closed, p.inGroup = len(p.file.names), p.delays[:0], false, false
}

// finish returns the file, with all slices at their final size.
func (p *parser) finish() *File {
	if p.inGroup {
		p.endGroup()
	}
	f := p.file
	f.text = string(p.text)
	slices.SortFunc(f.names, func(a, b name) int {
		return cmp.Or(compareFold(f.at(a.token), f.at(b.token)), cmp.Compare(a.group, b.group), cmp.Compare(b.delay, a.delay))
	})
	// The same name twice in one group is merged; the longest delay counts.
	f.names = slices.CompactFunc(f.names, func(a, b name) bool {
		return a.group == b.group && compareFold(f.at(a.token), f.at(b.token)) == 0
	})
	f.rules, f.groups, f.names = slices.Clone(f.rules), slices.Clone(f.groups), slices.Clone(f.names)
	f.sitemaps, f.signals = slices.Clone(f.sitemaps), slices.Clone(f.signals)
	f.size = f.measure()
	return f
}

// keep copies s into the text of the file.
func (p *parser) keep(s []byte) span {
	at := span{uint32(len(p.text)), uint32(len(s))}
	p.text = append(p.text, s...)
	return at
}

func equalFold(s []byte, want string) bool {
	return len(s) == len(want) && hasPrefixFold(s, want)
}

func hasAnyPrefixFold(s []byte, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return hasPrefixFold(s, p) })
}

// hasPrefixFold tests for a lower-case ASCII prefix, ignoring case.
func hasPrefixFold(s []byte, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if lower(s[i]) != prefix[i] {
			return false
		}
	}
	return true
}
