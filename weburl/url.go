package weburl

import "strings"

// MaxLength is the longest canonical URL in bytes; a longer one is refused
// with [TooLong].
const MaxLength = 4096

// Default ports by scheme.
const (
	portHTTP  = 80
	portHTTPS = 443
)

// URL is an absolute http or https URL in canonical form. It is a value: copy it,
// compare it with ==, use it as a map key. The zero URL is invalid and all its methods
// return zero values.
//
// The numbers are derived from the string, so equal strings mean equal URLs; they are
// kept because host, path and query are needed far more often than a URL is parsed.
type URL struct {
	s string
	// hostEnd is the end of the host name (an IPv6 address with its bracket), pathStart
	// the end of scheme, host and port, and pathEnd the end of the path: the "?" or the
	// end of s.
	hostEnd, pathStart, pathEnd uint16
	port                        uint16 // effective port
}

// String returns the canonical form, or "" for the zero URL.
func (u URL) String() string { return u.s }

// IsZero reports whether u is the zero URL, which is invalid.
func (u URL) IsZero() bool { return u.s == "" }

// Scheme returns "http" or "https".
func (u URL) Scheme() string { return u.s[:u.schemeLen()] }

// Hostname returns the host name or address, without port and without the
// brackets of an IPv6 address.
func (u URL) Hostname() string {
	if u.s == "" {
		return ""
	}
	name := u.s[u.hostStart():u.hostEnd]
	if name[0] == '[' {
		return name[1 : len(name)-1]
	}
	return name
}

// Port returns the effective port: the one in the URL, or 80 or 443 by scheme.
func (u URL) Port() uint16 { return u.port }

// Host returns scheme, host and port as in "https://example.com" or
// "http://example.com:8080": the key of pace, hold and robots.txt.
func (u URL) Host() string { return u.s[:u.pathStart] }

// Path returns the path as sent to the server; it starts with "/".
func (u URL) Path() string { return u.s[u.pathStart:u.pathEnd] }

// Query returns what follows the "?" as sent to the server, or "".
func (u URL) Query() string {
	if int(u.pathEnd) == len(u.s) {
		return ""
	}
	return u.s[u.pathEnd+1:]
}

// PathQuery returns path and query as in the request line.
func (u URL) PathQuery() string { return u.s[u.pathStart:] }

// Clone returns u with its own copy of the string, for a URL that outlives the larger
// text it was parsed from; see [Parse].
func (u URL) Clone() URL {
	u.s = strings.Clone(u.s)
	return u
}

// MarshalText returns the canonical form; the zero URL becomes the empty text.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.s), nil }

// UnmarshalText parses text as [Parse] does; the empty text becomes the zero
// URL.
func (u *URL) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*u = URL{}
		return nil
	}
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*u = parsed
	return nil
}

// schemeLen returns the length of the scheme.
func (u URL) schemeLen() int {
	switch {
	case u.s == "":
		return 0
	case u.s[len("http")] == ':':
		return len("http")
	default:
		return len("https")
	}
}

// hostStart returns where the host name starts in a URL that is not zero.
func (u URL) hostStart() int { return u.schemeLen() + len("://") }
