package weburl

import (
	"strconv"
	"strings"
	"unsafe"
)

// maxInput limits the input, without its fragment. It leaves room for a canonical URL of
// MaxLength bytes written entirely in escapes.
const maxInput = 4 * MaxLength

// Parse reads an absolute URL and returns its canonical form, or an [*Error].
//
// A canonical text is not copied. Use [URL.Clone] for a URL that outlives a larger text
// it was cut out of.
func Parse(raw string) (URL, error) {
	if u, ok := parseFast(raw); ok {
		return u, nil
	}
	return read(raw, URL{}, nil)
}

// Resolve reads ref, an absolute or relative link in a document at u. On the zero URL it
// reads only absolute links. The result, URL or error, never shares memory with ref; it
// may share u's.
func (u URL) Resolve(ref string) (URL, error) {
	if r, ok := resolveFast(u, ref); ok {
		return r, nil
	}
	return read(ref, u, nil)
}

// ResolveBytes is [URL.Resolve] for a link in a buffer; the buffer may be reused as soon
// as it returns.
func (u URL) ResolveBytes(ref []byte) (URL, error) {
	return u.Resolve(unsafe.String(unsafe.SliceData(ref), len(ref)))
}

// read normalises any text, one rule at a time. It defines Parse, Resolve and Explain;
// the fast path is only faster. The result shares no memory with raw.
func read(raw string, base URL, t *trace) (URL, error) {
	text, err := absolute(raw, base, t)
	if err != nil {
		return URL{}, err
	}
	p := cut(text)
	for _, apply := range rules {
		reason, refusal := apply(&p)
		if refusal != nil {
			return URL{}, refuse(refusal.code, refusal.detail, raw)
		}
		if reason != "" {
			t.note(reason, p.join)
		}
	}
	return p.url(raw)
}

// absolute returns the text of a link that starts with "http://" or "https://", completed
// from base where needed. What follows the scheme is not checked yet.
func absolute(raw string, base URL, t *trace) (string, error) {
	text := trimBlanks(raw)
	t.noteText("surrounding whitespace removed", text)

	if hash := strings.IndexByte(text, '#'); hash > maxInput || hash < 0 && len(text) > maxInput {
		// Check the scheme even of a text that is too long: an embedded image is a
		// data: link, not a long URL.
		if scheme, _, ok := cutScheme(dropBreaks(text[:maxInput])); ok && !isWeb(scheme) {
			return "", refuseScheme(scheme, raw)
		}
		return "", refuse(TooLong, "longer than "+strconv.Itoa(maxInput)+" bytes", raw)
	}

	text = dropBreaks(text)
	t.noteText("tabs and line breaks removed", text)

	scheme, rest, hasScheme := cutScheme(text)
	if hasScheme {
		if lower := strings.ToLower(scheme); lower != scheme {
			scheme, text = lower, lower+":"+rest
			t.noteText("scheme lower-cased", text)
		}
		if !isWeb(scheme) {
			return "", refuseScheme(scheme, raw)
		}
	} else if base.IsZero() {
		return "", refuse(NoBase, "relative URL without a base URL", raw)
	}

	tail := "" // query and fragment
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest, tail = rest[:i], rest[i:]
	}
	if strings.IndexByte(rest, '\\') >= 0 {
		rest = strings.ReplaceAll(rest, `\`, "/")
		t.noteText("backslashes replaced by slashes", text[:len(text)-len(rest)-len(tail)]+rest+tail)
	}

	slashes := strings.HasPrefix(rest, "//")
	switch {
	case slashes && !hasScheme:
		text = base.Scheme() + "://" + strings.TrimLeft(rest, "/") + tail
		t.noteText("scheme taken from the base", text)
	case slashes, base.IsZero(), hasScheme && scheme != base.Scheme():
		text = scheme + "://" + strings.TrimLeft(rest, "/") + tail
		t.noteText("slashes after the scheme normalised to two", text)
	default:
		// A relative link, or the old form "https:next", which is relative to a base of
		// the same scheme.
		text = base.Host() + relativePath(rest, tail, base) + tail
		t.noteText("resolved against the base", text)
	}
	return text, nil
}

// relativePath returns the path of a relative link, and also the query if the link has
// neither.
func relativePath(path, tail string, base URL) string {
	switch {
	case strings.HasPrefix(path, "/"):
		return path
	case path != "":
		dir := base.Path()
		return dir[:strings.LastIndexByte(dir, '/')+1] + path
	case strings.HasPrefix(tail, "?"):
		return base.Path()
	default:
		return base.PathQuery()
	}
}

// trimBlanks drops spaces and control characters at both ends.
func trimBlanks(text string) string {
	for text != "" && text[0] <= ' ' {
		text = text[1:]
	}
	for text != "" && text[len(text)-1] <= ' ' {
		text = text[:len(text)-1]
	}
	return text
}

// dropBreaks removes tabs and line breaks, which documents use to wrap long links.
func dropBreaks(text string) string {
	if !strings.ContainsAny(text, "\t\n\r") {
		return text
	}
	return breaks.Replace(text)
}

var breaks = strings.NewReplacer("\t", "", "\n", "", "\r", "")

// cutScheme splits "scheme:rest". Without a scheme, rest is the whole text.
func cutScheme(text string) (scheme, rest string, ok bool) {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return text[:i], text[i+1:], true
		default:
			return "", text, false
		}
	}
	return "", text, false
}

// isWeb reports whether a scheme is crawled.
func isWeb(scheme string) bool {
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

// refuseScheme returns the error for a scheme that is not crawled.
func refuseScheme(scheme, raw string) *Error {
	return refuse(BadScheme, "scheme "+scheme[:min(len(scheme), maxQuoted)]+" is not http or https", raw)
}
