package weburl

import (
	"strings"
	"unicode/utf8"
)

// The fast path. Nearly all links on real pages are http or https URLs with a plain
// lower-case host, or relative references, and a page has dozens of them. The functions
// here parse such a link in one pass and give up on anything else, errors included;
// read then decides. Both must give the same result: fuzz tests compare them.

// stackBuffer is the length up to which a URL is assembled on the stack.
const stackBuffer = 512

// parseFast parses an absolute URL. ok is false if the link is invalid or too unusual
// for the fast path. The URL may share memory with raw.
func parseFast(raw string) (u URL, ok bool) {
	var start int
	switch {
	case len(raw) > maxInput:
		return URL{}, false
	case strings.HasPrefix(raw, "https://"):
		start, u.port = len("https://"), portHTTPS
	case strings.HasPrefix(raw, "http://"):
		start, u.port = len("http://"), portHTTP
	default:
		return URL{}, false
	}
	hostEnd, ok := scanHost(raw, start)
	if !ok {
		return URL{}, false
	}
	pathStart := hostEnd
	if hostEnd < len(raw) && raw[hostEnd] == ':' {
		port, end, ok := scanPort(raw, hostEnd+1)
		if !ok || port == u.port {
			return URL{}, false
		}
		u.port, pathStart = port, end
	}
	if !startsPath(raw[pathStart:]) {
		return URL{}, false
	}
	u.hostEnd, u.pathStart = uint16(hostEnd), uint16(pathStart)

	if pathStart < len(raw) && raw[pathStart] == '/' {
		pathEnd, end, ok := scanClean(raw, pathStart+1)
		if ok && end <= MaxLength {
			u.s, u.pathEnd = raw[:end], uint16(pathEnd)
			return u, true
		}
	}
	return assemble(u, raw[:pathStart], trimBlanks(raw[pathStart:]))
}

// resolveFast resolves a link in a document at base. ok is false if the fast path
// cannot handle it. The URL shares no memory with ref.
func resolveFast(base URL, ref string) (URL, bool) {
	ref = trimBlanks(ref)
	switch {
	case len(ref) > maxInput:
		return URL{}, false
	case base.s == "":
		u, ok := parseFast(ref)
		return u.Clone(), ok
	case ref == "" || ref[0] == '#':
		return base, true // the document itself
	}
	switch ref[0] {
	case '/':
		if len(ref) > 1 && (ref[1] == '/' || ref[1] == '\\') {
			return parseFast(base.Scheme() + ":" + ref)
		}
		return extend(base, base.Host(), ref)
	case '?':
		return extend(base, base.s[:base.pathEnd], ref)
	case '\\':
		return URL{}, false
	}
	if _, _, hasScheme := cutScheme(ref); hasScheme {
		if tail, ok := strings.CutPrefix(ref, base.Host()); ok && startsPath(tail) {
			// The same host is already canonical.
			return extend(base, base.Host(), tail)
		}
		u, ok := parseFast(ref)
		return u.Clone(), ok
	}
	dir := strings.LastIndexByte(base.s[:base.pathEnd], '/') + 1
	return extend(base, base.s[:dir], ref)
}

// extend makes a URL with the host of u. head is the part of u that is kept: its host,
// its path up to a slash, or its whole path if tail is a query. tail is the rest of
// the link.
func extend(u URL, head, tail string) (URL, bool) {
	var pathEnd, end int
	ok := false
	switch rooted := len(head) == int(u.pathStart); {
	case strings.HasPrefix(tail, "?") && !rooted:
		pathEnd, end, ok = scanCleanQuery(tail, 0)
	case strings.HasPrefix(tail, "/") && rooted:
		pathEnd, end, ok = scanClean(tail, 1)
	case !rooted:
		pathEnd, end, ok = scanClean(tail, 0)
	}
	if !ok || len(head)+end > MaxLength {
		return assemble(u, head, tail)
	}
	u.s = head + tail[:end]
	u.pathEnd = uint16(len(head) + pathEnd)
	return u, true
}

// startsPath reports whether the text after a host starts a path, a query or a
// fragment, or is empty, so that the host ends there.
func startsPath(s string) bool {
	return s == "" || s[0] == '/' || s[0] == '?' || s[0] == '#'
}

// scanHost returns where the host that starts at i ends, if it is a canonical name or
// IPv4 address.
func scanHost(s string, i int) (end int, ok bool) {
	start, label := i, i
	for {
		for i < len(s) && is(s[i], inHost) {
			i++
		}
		if n := i - label; n == 0 || n > maxLabel || strings.HasPrefix(s[label:i], "xn--") {
			return 0, false
		}
		if i == len(s) || s[i] != '.' {
			break
		}
		i++
		label = i
	}
	if i-start > maxName {
		return 0, false
	}
	if c := s[label]; '0' <= c && c <= '9' {
		return i, isDottedQuad(s[start:i])
	}
	return i, true
}

// isDottedQuad reports whether a host is an IPv4 address in canonical form.
func isDottedQuad(host string) bool {
	numbers, n, digits := 0, 0, 0
	for i := 0; ; i++ {
		if i == len(host) || host[i] == '.' {
			numbers++
			if digits == 0 || i == len(host) {
				return digits > 0 && numbers == 4
			}
			n, digits = 0, 0
			continue
		}
		c := host[i]
		if c < '0' || c > '9' || digits > 0 && n == 0 {
			return false // a name, or a leading zero
		}
		n = n*10 + int(c-'0')
		digits++
		if n > 255 {
			return false
		}
	}
}

// scanPort reads a port without leading zeros that starts at i.
func scanPort(s string, i int) (port uint16, end int, ok bool) {
	start, n := i, 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		n = n*10 + int(s[i]-'0')
		if n > 65535 {
			return 0, 0, false
		}
		i++
	}
	if i == start || s[start] == '0' && i > start+1 {
		return 0, 0, false
	}
	return uint16(n), i, true
}

// scanClean reports whether the rest of a path, from the segment that starts at i, and
// the query after it are already canonical. If so, it returns where the path ends and
// where the URL ends: at the fragment or at the end of s.
func scanClean(s string, i int) (pathEnd, end int, ok bool) {
	if i < len(s) && s[i] == '.' {
		return 0, 0, false // may be a dot segment
	}
	for {
		for i < len(s) && is(s[i], plainPath) {
			i++
		}
		if i == len(s) {
			return i, i, true
		}
		switch s[i] {
		case '/':
			i++
			if i < len(s) && s[i] == '.' {
				return 0, 0, false
			}
		case '?':
			return scanCleanQuery(s, i)
		case '#':
			return i, i, true
		default:
			if !cleanEscape(s[i:]) {
				return 0, 0, false
			}
			i += len("%XX")
		}
	}
}

// scanCleanQuery does the same as scanClean for the query, whose "?" is at mark. An
// empty query is not canonical.
func scanCleanQuery(s string, mark int) (pathEnd, end int, ok bool) {
	i := mark + 1
	for {
		for i < len(s) && is(s[i], plainQuery) {
			i++
		}
		switch {
		case i == len(s) || s[i] == '#':
			return mark, i, i > mark+1
		case !cleanEscape(s[i:]):
			return 0, 0, false
		}
		i += len("%XX")
	}
}

// cleanEscape reports whether s starts with an escape that is kept as it is.
func cleanEscape(s string) bool {
	c, ok := unescape(s)
	return ok && !is(c, unreserved) && !isLowerHex(s[1]) && !isLowerHex(s[2])
}

// isLowerHex reports whether a hex digit is a lower-case letter.
func isLowerHex(c byte) bool { return c >= 'a' }

// assemble does the same as extend for a tail that is not canonical.
func assemble(u URL, head, tail string) (URL, bool) {
	var stack [stackBuffer]byte
	b := append(stack[:0], head...)
	root := int(u.pathStart)
	i := 0
	if len(b) == root {
		b = append(b, '/')
		if tail != "" && (tail[0] == '/' || tail[0] == '\\') {
			i = 1
		}
	}
	if !strings.HasPrefix(tail[i:], "?") {
		var n int
		var ok bool
		if b, n, ok = appendPath(b, root, tail[i:]); !ok {
			return URL{}, false
		}
		i += n
	}
	pathEnd := len(b)
	if i < len(tail) && tail[i] == '?' {
		var ok bool
		if b, ok = appendQuery(b, tail[i+1:]); !ok {
			return URL{}, false
		}
	}
	if len(b) > MaxLength {
		return URL{}, false
	}
	u.s, u.pathEnd = string(b), uint16(pathEnd)
	return u, true
}

// appendPath appends the path at the start of s, up to a "?" or "#" or the end, and
// returns its length in s. The path in b starts at root, and b ends in a slash. It
// gives up on line breaks and invalid UTF-8.
func appendPath(b []byte, root int, s string) (_ []byte, n int, ok bool) {
	segment := len(b)
	i := 0
	for {
		run := i
		for i < len(s) && is(s[i], plainPath) {
			i++
		}
		b = append(b, s[run:i]...)
		if i == len(s) || s[i] == '?' || s[i] == '#' {
			b, _ = closeSegment(b, root, segment)
			return b, i, true
		}
		if s[i] == '/' || s[i] == '\\' {
			var dots bool
			if b, dots = closeSegment(b, root, segment); !dots {
				b = append(b, '/')
			}
			segment = len(b)
			i++
			continue
		}
		var width int
		if b, width = appendOdd(b, s[i:]); width == 0 {
			return nil, 0, false
		}
		i += width
	}
}

// closeSegment resolves the segment of b that starts at segment if it is a dot segment,
// and reports whether it was. b then ends in a slash.
func closeSegment(b []byte, root, segment int) (_ []byte, dots bool) {
	switch n := len(b) - segment; {
	case n == 1 && b[segment] == '.':
		return b[:segment], true
	case n == 2 && b[segment] == '.' && b[segment+1] == '.':
		end := segment - 1 // the slash before the dots
		for end > root && b[end-1] != '/' {
			end--
		}
		return b[:max(end, root+1)], true
	}
	return b, false
}

// appendQuery appends "?" and the query s, up to a "#". An empty query is omitted.
func appendQuery(b []byte, s string) ([]byte, bool) {
	mark := len(b)
	b = append(b, '?')
	for i := 0; ; {
		run := i
		for i < len(s) && is(s[i], plainQuery) {
			i++
		}
		b = append(b, s[run:i]...)
		if i == len(s) || s[i] == '#' {
			break
		}
		var width int
		if b, width = appendOdd(b, s[i:]); width == 0 {
			return nil, false
		}
		i += width
	}
	if len(b) == mark+1 {
		b = b[:mark]
	}
	return b, true
}

// appendOdd appends the canonical form of the start of s: an escape, or a character
// that needs one. It returns the width read, or 0 to give up.
func appendOdd(b []byte, s string) (_ []byte, width int) {
	switch c := s[0]; {
	case c == '%':
		d, ok := unescape(s)
		switch {
		case !ok:
			return append(b, '%'), 1
		case is(d, unreserved) && !(is(d, hexDigit) && endsInPartialEscape(b)):
			return append(b, d), 3
		}
		return appendEscape(b, d), 3
	case c == '\t' || c == '\n' || c == '\r':
		return b, 0
	case c < utf8.RuneSelf:
		return appendEscape(b, c), 1
	}
	r, width := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && width == 1 {
		return b, 0
	}
	for i := range width {
		b = appendEscape(b, s[i])
	}
	return b, width
}
