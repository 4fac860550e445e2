package scope

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"headway/weburl"
)

// pattern is a compiled include or exclude pattern.
type pattern struct {
	rule  string // "exclude /cart/**"
	lower string // as written, in lower case
	part  part
	query bool // compare with the query, too
	glob  *glob
	re    *regexp.Regexp // instead of glob
}

// part is the part of a URL a pattern is compared with.
type part uint8

const (
	wholeURL part = iota
	wholePath
	lastSegment
)

// match reports whether a pattern matches u.
func (p *pattern) match(u weburl.URL) bool {
	if p.re != nil {
		return p.re.MatchString(u.String())
	}
	text, query := u.PathQuery(), u.Query()
	if p.part == wholeURL {
		text = u.String()
	}
	pathEnd := len(text)
	if query != "" {
		pathEnd -= len("?") + len(query)
	}
	if p.part == lastSegment {
		start := strings.LastIndexByte(text[:pathEnd], '/') + 1
		text, pathEnd = text[start:], pathEnd-start
	}
	if !p.query {
		text = text[:pathEnd]
	}
	return p.glob.match(text)
}

// matching finds the first pattern that matches u, or nil.
func matching(list []pattern, u weburl.URL) *pattern {
	for i := range list {
		if list[i].match(u) {
			return &list[i]
		}
	}
	return nil
}

// PatternError reports an invalid URL pattern.
type PatternError struct {
	Kind    string // "include", "exclude", or the kind given to [CompilePattern]
	Pattern string
	Problem string
	hint    string
}

// Error names the pattern and says what is wrong with it.
func (e *PatternError) Error() string {
	return "invalid " + e.Kind + " pattern " + quote(e.Pattern) + ": " + e.Problem
}

// Hint says what to do about it; it may be empty.
func (e *PatternError) Hint() string { return e.hint }

// maxQuoted limits how much of an invalid pattern an error repeats.
const maxQuoted = 120

func quote(s string) string {
	if len(s) > maxQuoted {
		s = strings.ToValidUTF8(s[:maxQuoted], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}

// compileAll compiles a list and appends errors to problems.
func compileAll(kind string, list []string, problems []error) ([]pattern, []error) {
	compiled := make([]pattern, 0, len(list))
	for _, text := range list {
		p, problem, hint := compile(text)
		if problem != "" {
			problems = append(problems, &PatternError{kind, text, problem, hint})
			continue
		}
		p.rule, p.lower = kind+" "+text, strings.ToLower(text)
		compiled = append(compiled, p)
	}
	return compiled, problems
}

// compile compiles a pattern, or returns what is wrong and a hint.
func compile(text string) (p pattern, problem, hint string) {
	switch {
	case text == "":
		return p, "is empty", `use "**" to match everything`
	case len(text) > MaxPattern:
		return p, fmt.Sprintf("is longer than the maximum of %d bytes", MaxPattern), "use several patterns, or shorten it with *"
	}
	if expr, ok := strings.CutPrefix(text, "re:"); ok {
		return compileRE(expr)
	}
	if strings.Contains(text, "#") {
		return p, "has a fragment, but URLs are matched without fragments", "remove # and everything after it"
	}
	scheme, rest, isURL := strings.Cut(text, "://")
	switch {
	case isURL:
		host, path, _ := strings.Cut(rest, "/")
		if strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 }) {
			return p, "has a non-ASCII host", "use the Punycode form (xn--…), which headway url prints"
		}
		if !strings.Contains(rest, "/") && !strings.HasSuffix(rest, "**") {
			return p, "has a host but no path", "write " + text + "/** to match the whole host"
		}
		text = strings.ToLower(scheme + "://" + host)
		if len(host) < len(rest) {
			text += "/" + path
		}
		p.part = wholeURL
	case text[0] == '/', strings.HasPrefix(text, "**"):
		p.part = wholePath
	case !strings.Contains(text, "/"):
		p.part = lastSegment
	default:
		return p, "must start with a slash or a scheme",
			"write /" + text + " for a path, or *://" + text + " for a host"
	}
	p.query = strings.Contains(text, "?")
	text = escape(text)
	if len(text) > MaxPattern {
		return p, fmt.Sprintf("is longer than the maximum of %d bytes when percent-encoded", MaxPattern), "shorten it with *"
	}
	var ok bool
	if p.glob, ok = compileGlob(text); !ok {
		return p, "ends in a backslash", `a backslash escapes the next character; write \\ for a literal backslash`
	}
	return p, "", ""
}

// compileRE compiles a regular expression.
func compileRE(expr string) (p pattern, problem, hint string) {
	if strings.HasPrefix(expr, "^/") {
		return p, "can never match, because regular expressions match the whole URL",
			"write re:^https?://[^/]+" + expr[1:] + ", or a glob such as /docs/**"
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return p, strings.TrimPrefix(err.Error(), "error parsing regexp: "), "use RE2 syntax; look-around and back-references are not supported"
	}
	p.re = re
	return p, "", ""
}

// escape writes a pattern in the form of a canonical URL: non-ASCII characters and spaces
// escaped, escapes in upper case, and no unnecessary ones.
func escape(text string) string {
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '%' && i+2 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				c, i = byte(n), i+2
				if !unreserved(c) {
					b = append(b, '%', hex[c>>4], hex[c&15])
					continue
				}
			}
		}
		if c <= ' ' || c >= 0x7f {
			b = append(b, '%', hex[c>>4], hex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// unreserved reports whether c is never escaped.
func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// Pattern is one URL pattern, as in [Config.Include].
type Pattern struct{ compiled pattern }

// CompilePattern compiles a pattern. kind names it in an error, which is a [*PatternError].
func CompilePattern(kind, text string) (*Pattern, error) {
	p, problem, hint := compile(text)
	if problem != "" {
		return nil, &PatternError{kind, text, problem, hint}
	}
	return &Pattern{p}, nil
}

// Match reports whether the pattern matches the URL.
func (p *Pattern) Match(u weburl.URL) bool { return p.compiled.match(u) }
