package weburl

import (
	"strconv"
	"strings"

	whatwgerrors "github.com/nlnwa/whatwg-url/errors"
	whatwg "github.com/nlnwa/whatwg-url/url"
)

const (
	maxInput = 4 * MaxLength // longest text that is looked at
	maxName  = 253           // longest DNS name, without the root dot
	maxLabel = 63            // longest DNS label
)

// standard reads links as the URL Standard says.
var standard = whatwg.NewParser(whatwg.WithPathPercentEncodeSet(whatwg.PathPercentEncodeSet.Set('^')))

// Parse reads an absolute URL and returns its canonical form, or an [*Error].
// The result may share memory with raw: a URL that outlives a large text it
// was cut out of should be kept as its [URL.Clone].
func Parse(raw string) (URL, error) { return parse(raw, URL{}) }

// Resolve reads ref as it stands in a document at u: an absolute or relative
// link. The result never shares memory with ref.
func (u URL) Resolve(ref string) (URL, error) { return parse(ref, u) }

func parse(raw string, base URL) (URL, error) {
	if len(raw) > maxInput {
		return URL{}, refuse(TooLong, "longer than "+strconv.Itoa(maxInput)+" bytes", raw)
	}
	var w *whatwg.Url
	var err error
	if base.IsZero() {
		w, err = standard.Parse(raw)
	} else {
		w, err = standard.ParseRef(base.s, raw)
	}
	if err != nil {
		switch whatwgerrors.Type(err) {
		case whatwgerrors.MissingSchemeNonRelativeURL:
			return URL{}, refuse(NoBase, "relative, and there is no base to resolve it against", raw)
		case whatwgerrors.PortInvalid, whatwgerrors.PortOutOfRange:
			return URL{}, refuse(BadPort, "the port is no number up to 65535", raw)
		}
		return URL{}, refuse(BadHost, "not a valid host", raw)
	}
	if s := w.Scheme(); s != "http" && s != "https" {
		return URL{}, refuse(BadScheme, "scheme "+s+" is not crawled", raw)
	}
	host := w.Hostname()
	if host == "" {
		return URL{}, refuse(BadHost, "no host", raw)
	}
	if host[0] != '[' {
		host = strings.TrimSuffix(host, ".")
		if !isName(host) {
			return URL{}, refuse(BadHost, "not a DNS name", raw)
		}
	}
	s := w.Scheme() + "://" + host
	u := URL{hostEnd: uint16(len(s))}
	if p := w.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return URL{}, refuse(BadPort, "the port is no number up to 65535", raw)
		}
		s += ":" + p
		u.port = uint16(n)
	} else if w.Scheme() == "http" {
		u.port = portHTTP
	} else {
		u.port = portHTTPS
	}
	pathStart := len(s)
	s += canonicalEscapes(w.Pathname())
	pathEnd := len(s)
	if q := strings.TrimPrefix(w.Search(), "?"); q != "" {
		s += "?" + canonicalEscapes(q)
	}
	if len(s) > MaxLength {
		return URL{}, refuse(TooLong, "longer than "+strconv.Itoa(MaxLength)+" bytes", raw)
	}
	u.s, u.pathStart, u.pathEnd = s, uint16(pathStart), uint16(pathEnd)
	return u, nil
}

// isName reports whether host keeps to the DNS limits.
func isName(host string) bool {
	if len(host) > maxName {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > maxLabel {
			return false
		}
	}
	return true
}

// canonicalEscapes decodes escaped unreserved bytes and writes the others in
// upper case. A hex digit stays escaped directly behind a stray percent sign,
// or one digit later, because decoded it would complete a new escape.
func canonicalEscapes(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
			b = append(b, s[i])
			continue
		}
		c := unhex(s[i+1])<<4 | unhex(s[i+2])
		n := len(b)
		stray := n >= 1 && b[n-1] == '%' || n >= 2 && b[n-2] == '%' && isHex(b[n-1])
		if isUnreserved(c) && (!stray || !isHex(c)) {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
		i += 2
	}
	return string(b)
}

const upperHex = "0123456789ABCDEF"

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
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' || c == '.' || c == '_' || c == '~'
}
