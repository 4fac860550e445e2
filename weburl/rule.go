package weburl

import (
	"strconv"
	"strings"
)

// parts is an absolute http or https link, split as in the URL Standard. A part keeps
// its delimiter, because an empty query and none are different links until a rule
// changes that.
type parts struct {
	scheme      string
	credentials string // with the "@"
	host        string
	port        string // with the ":"
	path        string
	query       string // with the "?"
	fragment    string // with the "#"
}

// cut splits the text that absolute returns.
func cut(text string) (p parts) {
	p.scheme, text, _ = strings.Cut(text, "://")
	if i := strings.IndexByte(text, '#'); i >= 0 {
		text, p.fragment = text[:i], text[i:]
	}
	if i := strings.IndexByte(text, '?'); i >= 0 {
		text, p.query = text[:i], text[i:]
	}
	if i := strings.IndexByte(text, '/'); i >= 0 {
		text, p.path = text[:i], text[i:]
	}
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		p.credentials, text = text[:i+1], text[i+1:]
	}
	if i := portMark(text); i >= 0 {
		text, p.port = text[:i], text[i:]
	}
	p.host = text
	return p
}

// portMark returns the position of the first colon outside brackets, or -1.
func portMark(authority string) int {
	inside := false
	for i := range len(authority) {
		switch authority[i] {
		case '[':
			inside = true
		case ']':
			inside = false
		case ':':
			if !inside {
				return i
			}
		}
	}
	return -1
}

// join puts the parts together again.
func (p *parts) join() string {
	return p.scheme + "://" + p.credentials + p.host + p.port + p.path + p.query + p.fragment
}

// url returns the URL after all rules were applied. raw is for the error.
func (p *parts) url(raw string) (URL, error) {
	var b strings.Builder
	n := len(p.scheme) + len("://") + len(p.host) + len(p.port) + len(p.path) + len(p.query)
	if n > MaxLength {
		return URL{}, refuse(TooLong, "longer than "+strconv.Itoa(MaxLength)+" bytes when normalised", raw)
	}
	b.Grow(n)
	for _, part := range []string{p.scheme, "://", p.host, p.port, p.path, p.query} {
		b.WriteString(part)
	}
	u := URL{s: b.String()}
	hostEnd := len(p.scheme) + len("://") + len(p.host)
	u.hostEnd = uint16(hostEnd)
	u.pathStart = uint16(hostEnd + len(p.port))
	u.pathEnd = uint16(n - len(p.query))
	u.port = defaultPort(p.scheme)
	if p.port != "" {
		u.port = portNumber(p.port[1:])
	}
	return u, nil
}

// refusal is why a rule refuses a link.
type refusal struct {
	code   Code
	detail string
}

// rules normalise an absolute link. The order matters: each rule sees the result of the
// earlier ones, hosts are checked before ports, and the fragment is removed last, so
// that every intermediate text is still the same link.
//
// A rule returns the reason for its change, or "" if it changed nothing.
var rules = []func(*parts) (reason string, _ *refusal){
	dropCredentials,
	decodeHost,
	hostToASCII,
	rewriteAddress,
	dropRootDot,
	checkName,
	checkPort,
	dropDefaultPort,
	addRootPath,
	escapeBytes,
	resolveDots,
	upperEscapes,
	decodeUnreserved,
	dropEmptyQuery,
	dropFragment,
}

func dropCredentials(p *parts) (string, *refusal) {
	if p.credentials == "" {
		return "", nil
	}
	p.credentials = ""
	return "credentials removed: they are never used or stored", nil
}

func checkPort(p *parts) (string, *refusal) {
	if p.port == "" {
		return "", nil
	}
	digits := p.port[1:]
	if strings.Trim(digits, "0123456789") != "" {
		return "", &refusal{BadPort, "the port is not a number"}
	}
	plain := strings.TrimLeft(digits, "0")
	switch {
	case digits == "":
		p.port = ""
		return "empty port removed", nil
	case plain == "":
		plain = "0"
	case len(plain) > 5 || len(plain) == 5 && plain > "65535":
		return "", &refusal{BadPort, "the port is above 65535"}
	}
	if plain == digits {
		return "", nil
	}
	p.port = ":" + plain
	return "leading zeros removed from the port", nil
}

func dropDefaultPort(p *parts) (string, *refusal) {
	if p.port == "" || portNumber(p.port[1:]) != defaultPort(p.scheme) {
		return "", nil
	}
	reason := "default port " + p.port[1:] + " removed"
	p.port = ""
	return reason, nil
}

func addRootPath(p *parts) (string, *refusal) {
	if p.path != "" {
		return "", nil
	}
	p.path = "/"
	return "empty path written as /", nil
}

func resolveDots(p *parts) (string, *refusal) {
	path := removeDots(p.path)
	if path == p.path {
		return "", nil
	}
	p.path = path
	return "dot segments resolved", nil
}

func dropEmptyQuery(p *parts) (string, *refusal) {
	if p.query != "?" {
		return "", nil
	}
	p.query = ""
	return "empty query removed: it requests the same page", nil
}

func dropFragment(p *parts) (string, *refusal) {
	if p.fragment == "" {
		return "", nil
	}
	p.fragment = ""
	return "fragment removed: it is not sent to servers", nil
}

// defaultPort returns the default port of a scheme.
func defaultPort(scheme string) uint16 {
	if scheme == "http" {
		return portHTTP
	}
	return portHTTPS
}

// portNumber reads a port that checkPort has accepted.
func portNumber(digits string) uint16 {
	n := uint16(0)
	for i := range len(digits) {
		n = n*10 + uint16(digits[i]-'0')
	}
	return n
}

// removeDots resolves "." and ".." segments, including escaped dots, in a path that
// starts with a slash. It never goes above the root, and a dot segment at the end leaves
// a slash.
func removeDots(path string) string {
	var kept []string
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch dots(segment) {
		case 2:
			kept = kept[:max(len(kept)-1, 0)]
		case 0:
			kept = append(kept, segment)
			last = false
		}
		if last {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
}

// dots returns 1 for a "." segment, 2 for "..", otherwise 0.
func dots(segment string) int {
	n := 0
	for segment != "" && n < 3 {
		switch {
		case segment[0] == '.':
			segment = segment[1:]
		case len(segment) >= 3 && strings.EqualFold(segment[:3], "%2e"):
			segment = segment[3:]
		default:
			return 0
		}
		n++
	}
	return n % 3
}
