package weburl

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// class says for each byte where it may appear unescaped.
var class = makeClass()

// The bits of class.
const (
	inPath     = 1 << iota // needs no escape in a path
	inQuery                // needs no escape in a query
	inHost                 // lower-case letter, digit, "-" or "_"
	hexDigit               // 0-9, a-f, A-F
	unreserved             // needs no escape anywhere (RFC 3986)
	forbidden              // never in a domain name
	plainPath              // inPath and not special: not "%", "/" or "\"
	plainQuery             // inQuery and not special: not "%"
)

func makeClass() (table [256]uint8) {
	mark := func(bit uint8, bytes string) {
		for i := range len(bytes) {
			table[bytes[i]] |= bit
		}
	}
	const (
		digits = "0123456789"
		lower  = "abcdefghijklmnopqrstuvwxyz"
		upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	)
	mark(inHost, digits+lower+"-_")
	mark(hexDigit, digits+"abcdefABCDEF")
	mark(unreserved, digits+lower+upper+"-._~")
	mark(forbidden, "\x7f #/:<>?@[\\]^|%")
	for c := range table {
		switch {
		case c < ' ':
			table[c] |= forbidden
		case c > ' ' && c < 0x7f:
			if !strings.ContainsRune("\"#<>?^`{}", rune(c)) {
				table[c] |= inPath
			}
			if !strings.ContainsRune("\"#<>'", rune(c)) {
				table[c] |= inQuery
			}
		}
		if table[c]&inPath != 0 && c != '%' && c != '/' && c != '\\' {
			table[c] |= plainPath
		}
		if table[c]&inQuery != 0 && c != '%' {
			table[c] |= plainQuery
		}
	}
	return table
}

// is reports whether a byte has a bit of class.
func is(c byte, bit uint8) bool { return class[c]&bit != 0 }

// maxExamples limits the examples in the reason of a change.
const maxExamples = 3

// examples collects what a rule changed, for its reason.
type examples struct {
	text string
	n    int
}

// add records one change unless it is already recorded.
func (e *examples) add(from, to string) {
	if e.n > maxExamples {
		return
	}
	example := from + " → " + to
	switch {
	case strings.Contains(e.text, example):
		return
	case e.n == maxExamples:
		e.text += ", …"
	case e.n == 0:
		e.text = example
	default:
		e.text += ", " + example
	}
	e.n++
}

// escapeBytes escapes bytes that are not allowed in a path or query. Invalid UTF-8 becomes
// U+FFFD, as in a browser.
func escapeBytes(p *parts) (string, *refusal) {
	var ex examples
	p.path = escapeText(p.path, inPath, &ex)
	if p.query != "" {
		p.query = "?" + escapeText(p.query[1:], inQuery, &ex)
	}
	if ex.n == 0 {
		return "", nil
	}
	return "invalid bytes percent-encoded: " + ex.text, nil
}

// escapeText escapes every byte without the class bit.
func escapeText(s string, bit uint8, ex *examples) string {
	b := make([]byte, 0, len(s)+16)
	for _, r := range s {
		if r < utf8.RuneSelf && is(byte(r), bit) {
			b = append(b, byte(r))
			continue
		}
		start := len(b)
		for _, c := range []byte(string(r)) {
			b = appendEscape(b, c)
		}
		ex.add(printable(r), string(b[start:]))
	}
	return string(b)
}

// printable formats a character for display in one line.
func printable(r rune) string {
	if r == ' ' {
		return "space"
	}
	if strconv.IsPrint(r) {
		return string(r)
	}
	return fmt.Sprintf("%U", r)
}

// upperEscapes writes the hex digits of escapes in upper case.
func upperEscapes(p *parts) (string, *refusal) {
	ex := rewriteEscapes(p, func(_ []byte, escape string, _ byte) string {
		return strings.ToUpper(escape)
	})
	if ex == "" {
		return "", nil
	}
	return "percent-encoding written in upper case: " + ex, nil
}

// decodeUnreserved decodes the escapes of unreserved bytes, except where the decoded byte
// would become part of another escape: "%%34%31" must not become "%41", which would be
// decoded the next time.
func decodeUnreserved(p *parts) (string, *refusal) {
	ex := rewriteEscapes(p, func(before []byte, escape string, c byte) string {
		if !is(c, unreserved) || is(c, hexDigit) && endsInPartialEscape(before) {
			return escape
		}
		return string(c)
	})
	if ex == "" {
		return "", nil
	}
	return "unnecessary percent-encoding decoded: " + ex, nil
}

// endsInPartialEscape reports whether text ends in a percent sign without an escape, or in such a
// sign and one hex digit: one or two more hex digits would complete it. Escapes are always
// written completely, so a percent sign this close to the end is not part of one.
func endsInPartialEscape(text []byte) bool {
	n := len(text)
	return n >= 1 && text[n-1] == '%' || n >= 2 && text[n-2] == '%' && is(text[n-1], hexDigit)
}

// rewriteEscapes replaces each valid escape in path and query and returns examples of the
// changes. replace also gets the rewritten text before the escape, and the decoded byte.
func rewriteEscapes(p *parts, replace func(before []byte, escape string, c byte) string) string {
	var ex examples
	for _, part := range []*string{&p.path, &p.query} {
		s := *part
		if strings.IndexByte(s, '%') < 0 {
			continue
		}
		b := make([]byte, 0, len(s))
		for i := 0; i < len(s); i++ {
			c, ok := unescape(s[i:])
			if !ok {
				b = append(b, s[i])
				continue
			}
			escape := s[i : i+3]
			with := replace(b, escape, c)
			if with != escape {
				ex.add(escape, with)
			}
			b = append(b, with...)
			i += 2
		}
		*part = string(b)
	}
	return ex.text
}

// unescape returns the escaped byte at the start of s.
func unescape(s string) (c byte, ok bool) {
	if len(s) < 3 || s[0] != '%' || !is(s[1], hexDigit) || !is(s[2], hexDigit) {
		return 0, false
	}
	return unhex(s[1])<<4 | unhex(s[2]), true
}

// unhex returns the value of a hex digit.
func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// upperHex are the digits of escapes.
const upperHex = "0123456789ABCDEF"

// appendEscape appends c in escaped form.
func appendEscape(b []byte, c byte) []byte {
	return append(b, '%', upperHex[c>>4], upperHex[c&15])
}
