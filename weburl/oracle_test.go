package weburl

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"headway/internal/vectors"
)

// oracle is an independent implementation of the URL Standard. "^" joined the path
// percent-encode set after the library was written.
var oracle = whatwg.NewParser(whatwg.WithPathPercentEncodeSet(whatwg.PathPercentEncodeSet.Set('^')))

// ask returns the canonical form according to the oracle, or "" if the link is refused.
func ask(raw string, base URL) string {
	var w *whatwg.Url
	var err error
	if base.IsZero() {
		w, err = oracle.Parse(raw)
	} else {
		w, err = oracle.ParseRef(base.String(), raw)
	}
	if err != nil || w.Scheme() != "http" && w.Scheme() != "https" {
		return ""
	}
	host := w.Hostname()
	if !strings.HasPrefix(host, "[") {
		host = strings.TrimSuffix(host, ".")
		for label := range strings.SplitSeq(host, ".") {
			if label == "" || len(label) > 63 || len(host) > 253 {
				return ""
			}
		}
	}
	s := w.Scheme() + "://" + host
	if w.Port() != "" {
		s += ":" + w.Port()
	}
	p := parts{path: w.Pathname()}
	if w.Search() != "?" {
		p.query = w.Search()
	}
	_, _ = upperEscapes(&p)
	_, _ = decodeUnreserved(&p)
	if s += p.path + p.query; len(s) > MaxLength {
		return ""
	}
	return s
}

// oracleErrs reports whether raw may have a host that the oracle is known to read
// wrongly: it accepts nested brackets as an address, and signs before its numbers; it
// reads a label as a number that only starts with more digits than 64 bits hold; and it
// handles punctuation next to international labels, and half encoded or empty "xn--"
// labels, differently. TestCorners says what is right.
func oracleErrs(raw string) bool {
	raw = dropBreaks(raw)
	lower := strings.ToLower(raw)
	for _, mark := range []string{"[[", "]]", "+", "-", "%2b", "%2d", "xn--"} {
		if strings.Contains(lower, mark) {
			return true
		}
	}
	return !isASCII(raw) || manyDigits.MatchString(raw) || highEscape.MatchString(raw) || len(raw) > maxHostText
}

// highEscape finds escaped non-ASCII bytes, manyDigits numbers that may exceed 64 bits.
var (
	highEscape = regexp.MustCompile(`%[89a-fA-F][0-9a-fA-F]`)
	manyDigits = regexp.MustCompile(`[0-9a-fA-F]{16}`)
)

// sameAsOracle compares read with the oracle.
func sameAsOracle(t *testing.T, raw string, base URL) {
	t.Helper()
	u, err := read(raw, base, nil)
	want := ask(raw, base)
	if u.String() == want {
		return
	}
	if (u.IsZero() || want == "" || u.Host() != hostOf(want)) && oracleErrs(raw) {
		return
	}
	t.Errorf("read(%q, base %q) = %q, %v; the oracle says %q", raw, base, u, err, want)
}

// hostOf returns scheme, host and port of a canonical URL.
func hostOf(s string) string {
	start := strings.Index(s, "://") + len("://")
	return s[:start+strings.IndexByte(s[start:], '/')]
}

// fuzzSeeds adds the inputs of the vectors and further corner cases.
func fuzzSeeds(f *testing.F) {
	for _, r := range vectors.Rows[row](f, "urls.json") {
		base := ""
		if r.Base != nil {
			base = *r.Base
		}
		f.Add(r.In, base)
	}
	for _, raw := range corners {
		f.Add(raw, "")
		f.Add(raw, "https://site.test/docs/guide/page?x=1")
	}
	for _, raw := range typical {
		f.Add(raw, "")
	}
	for _, raw := range relative {
		f.Add(raw, relativeBase)
	}
}

// corners are inputs that some parsers get wrong.
var corners = []string{
	"/a/%2%65", "/%%34%31", "/%%341", "/%2%", "?%2%65", "/a^b", "/a%5eb",
	"http://1.2.3/", "http://0x7f.1/", "http://256/", "http://1.2.3.-4/", "http://a.+4/", "http://0x/",
	"http://[[::1]]/", "http://[1.2.3.4]/", "http://[::1.2.3.4]/", "http://[1:2:3:4:5:6:7::]/", "http://%5B::1]/",
	"http://a.test.:80./", "http://a..test/", "http://./", "http://..", "http://1.2.3.4../",
	"http://a.xn--", "http://0\u3002xn--/", "http://a_b.b\u00fccher.test/", "http://\u00ad/", "http://xn--a\u00fc-/",
	"http:foo", "https:foo", "https:/foo", "https:\\foo", "https://///foo", "///", "//", "/\\host/x", "\\\\host", "http:", "https://",
	"//u:p@host:81/x", "http://u@v@host", "http://u:@:80/", "//host?x", "//host#x", "//HOST:443",
	"a:b", "./a:b", ".a/../b", "/.a/..", "/a/.../..", "..", "../..", "/..//../a", "a/..", ".%2e", "%2e/%2E.",
	"\x00http://a.test/ ", "ht\ntp://a.test/\t", "http://a.test/\xff\xfe", "http://a.test/?\xc3", "http://a.test/ #x", "?", "#", "?#", "a b?c d#e f",
	"http://a.test:00080/", "http://a.test:/", "http://a.test:65535", "http://a.test:99999999999999999999/",
	"https://site.test", "https://site.test?x", "https://site.test:443/x", "https://site.testing/x", "https://site.test\\x",
}

// FuzzOracle compares the reference implementation with another one.
func FuzzOracle(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, raw, rawBase string) {
		if !utf8.ValidString(raw) {
			return
		}
		base, err := Parse(rawBase)
		if err != nil && rawBase != "" {
			return
		}
		if !base.IsZero() && ask(base.String(), URL{}) != base.String() {
			return // the oracle is already wrong about the base
		}
		sameAsOracle(t, raw, base)
	})
}

// FuzzFastEqualsSlow compares the fast path with read, for absolute and relative links.
func FuzzFastEqualsSlow(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, raw, rawBase string) {
		if u, ok := parseFast(raw); ok {
			if want, err := read(raw, URL{}, nil); err != nil || u != want {
				t.Errorf("parseFast(%q) = %#v; read says %#v, %v", raw, u, want, err)
			}
		}
		base, err := Parse(rawBase)
		if err != nil {
			return
		}
		if u, ok := resolveFast(base, raw); ok {
			if want, err := read(raw, base, nil); err != nil || u != want {
				t.Errorf("resolveFast(%q) at %q = %#v; read says %#v, %v", raw, base, u, want, err)
			}
		}
	})
}

// FuzzRoundTrip checks the guarantees of the type for every URL.
func FuzzRoundTrip(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, raw, rawBase string) {
		base, err := Parse(rawBase)
		if err != nil && rawBase != "" {
			return
		}
		u, err := base.Resolve(raw)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || len(e.Raw) > maxQuoted+len("…")*2 || e.Detail == "" {
				t.Fatalf("Resolve(%q): %v", raw, err)
			}
			if !u.IsZero() {
				t.Fatalf("Resolve(%q) = %q beside an error", raw, u)
			}
			return
		}
		checkURL(t, u)
	})
}
