package weburl

import (
	"encoding/json"
	"strings"
	"testing"
	"unsafe"
)

// checkURL checks the guarantees of the type for a valid URL.
func checkURL(t *testing.T, u URL) {
	t.Helper()
	s := u.String()
	if u.IsZero() || s == "" || len(s) > MaxLength {
		t.Fatalf("%q is not a canonical URL", s)
	}
	for name, parse := range map[string]func() (URL, error){
		"Parse":                func() (URL, error) { return Parse(s) },
		"read":                 func() (URL, error) { return read(s, URL{}, nil) },
		"Resolve":              func() (URL, error) { return u.Resolve(s) },
		"Resolve fragment":     func() (URL, error) { return u.Resolve("#top") },
		"Resolve path":         func() (URL, error) { return u.Resolve(u.resolvable()) },
		"ResolveBytes on zero": func() (URL, error) { return URL{}.ResolveBytes([]byte(s)) },
	} {
		if again, err := parse(); err != nil || again != u {
			t.Errorf("%s of %q gives %#v, %v; want %#v", name, s, again, err, u)
		}
	}
	if got := u.Host() + u.PathQuery(); got != s {
		t.Errorf("host and path of %q give %q", s, got)
	}
	pathQuery := u.Path()
	if u.Query() != "" {
		pathQuery += "?" + u.Query()
	}
	if pathQuery != u.PathQuery() {
		t.Errorf("path and query of %q give %q", s, pathQuery)
	}
	if !strings.HasPrefix(u.Path(), "/") || strings.ContainsAny(s, "# \\\t\n") && strings.ContainsAny(u.Host()+u.Path(), "# \\\t\n") {
		t.Errorf("%q has an odd path", s)
	}
	if !strings.HasPrefix(u.Host(), u.Scheme()+"://") || !strings.Contains(u.Host(), u.Hostname()) || u.Hostname() == "" {
		t.Errorf("%q has host %q, scheme %q, name %q", s, u.Host(), u.Scheme(), u.Hostname())
	}
	if d := u.Domain(); d == "" || !strings.HasSuffix(u.Hostname(), d) {
		t.Errorf("%q has domain %q", s, d)
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			t.Errorf("%q has byte %#x", s, s[i])
		}
	}
}

// resolvable returns path and query in a form that is a relative reference even if the
// path starts with two slashes.
func (u URL) resolvable() string {
	if strings.HasPrefix(u.Path(), "//") {
		return "/." + u.PathQuery()
	}
	return u.PathQuery()
}

func mustParse(t testing.TB, raw string) URL {
	t.Helper()
	u, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestParts(t *testing.T) {
	tests := []struct {
		raw                                          string
		scheme, hostname, host, path, query, request string
		port                                         uint16
	}{
		{
			raw: "https://example.com", scheme: "https", hostname: "example.com", host: "https://example.com",
			path: "/", query: "", request: "/", port: 443,
		},
		{
			raw: "http://example.com:8080/a/b?c=d#e", scheme: "http", hostname: "example.com", host: "http://example.com:8080",
			path: "/a/b", query: "c=d", request: "/a/b?c=d", port: 8080,
		},
		{
			raw: "http://[::1]:81/?", scheme: "http", hostname: "::1", host: "http://[::1]:81",
			path: "/", query: "", request: "/", port: 81,
		},
		{
			raw: "http://127.0.0.1/?a?b", scheme: "http", hostname: "127.0.0.1", host: "http://127.0.0.1",
			path: "/", query: "a?b", request: "/?a?b", port: 80,
		},
		{
			raw: "https://user:secret@Example.COM:443/x", scheme: "https", hostname: "example.com", host: "https://example.com",
			path: "/x", query: "", request: "/x", port: 443,
		},
		{
			raw: "http://example.com:0/", scheme: "http", hostname: "example.com", host: "http://example.com:0",
			path: "/", query: "", request: "/", port: 0,
		},
	}
	for _, tt := range tests {
		t.Run(tt.raw, func(t *testing.T) {
			u := mustParse(t, tt.raw)
			checkURL(t, u)
			for _, c := range []struct{ name, got, want string }{
				{"Scheme", u.Scheme(), tt.scheme},
				{"Hostname", u.Hostname(), tt.hostname},
				{"Host", u.Host(), tt.host},
				{"Path", u.Path(), tt.path},
				{"Query", u.Query(), tt.query},
				{"PathQuery", u.PathQuery(), tt.request},
			} {
				if c.got != c.want {
					t.Errorf("%s = %q, want %q", c.name, c.got, c.want)
				}
			}
			if u.Port() != tt.port {
				t.Errorf("Port = %d, want %d", u.Port(), tt.port)
			}
		})
	}
}

func TestZero(t *testing.T) {
	var u URL
	if !u.IsZero() {
		t.Error("the zero URL is not zero")
	}
	if got := u.String() + u.Scheme() + u.Hostname() + u.Host() + u.Path() + u.Query() + u.PathQuery() + u.Domain(); got != "" {
		t.Errorf("the zero URL has parts %q", got)
	}
	if u.Port() != 0 || u.Clone() != u {
		t.Error("the zero URL has a port or is not itself")
	}
	if _, err := u.Resolve("/relative"); err == nil {
		t.Error("a relative link was resolved against nothing")
	}
	if r, err := u.Resolve("https://example.com"); err != nil || r.String() != "https://example.com/" {
		t.Errorf("absolute link against nothing: %q, %v", r, err)
	}
}

// TestValue checks that URL is a small comparable value: its size is part of the cost
// of a waiting URL.
func TestValue(t *testing.T) {
	if size := unsafe.Sizeof(URL{}); size > 24 {
		t.Errorf("a URL takes %d bytes, want at most 24", size)
	}
	seen := map[URL]int{}
	for _, raw := range []string{
		"https://example.com/a?b=c", "HTTPS://EXAMPLE.com:443/x/../a?b=c#d", "https://u:p@example.com/%61?%62=c", " https:/example.com./a?b=c",
	} {
		seen[mustParse(t, raw)]++
	}
	if want := mustParse(t, "https://example.com/a?b=c"); len(seen) != 1 || seen[want] != 4 {
		t.Errorf("four spellings of one URL became %v", seen)
	}
}

// TestMemory checks that a resolved URL does not keep its link in memory, so that
// callers may reuse their buffers.
func TestMemory(t *testing.T) {
	base := mustParse(t, relativeBase)
	for _, ref := range append(append([]string{}, typical...), relative...) {
		want, err := base.Resolve(ref)
		if err != nil {
			t.Fatal(err)
		}
		buf := []byte(ref)
		got, err := base.ResolveBytes(buf)
		if err != nil {
			t.Fatal(err)
		}
		clear(buf)
		if got != want {
			t.Errorf("%q became %q with its buffer", want, got)
		}
	}
	for _, ref := range []string{"mailto:someone", "https://a..b/", "https://a:b/", "data:" + strings.Repeat("x", maxInput)} {
		_, want := base.Resolve(ref)
		buf := []byte(ref)
		_, got := base.ResolveBytes(buf)
		clear(buf)
		if got == nil || got.Error() != want.Error() {
			t.Errorf("error %v became %v with its buffer", want, got)
		}
	}
}

func TestAllocs(t *testing.T) {
	base := mustParse(t, relativeBase)
	for _, tt := range []struct {
		name string
		want float64
		run  func()
	}{
		{"parse canonical", 0, func() { sinkURL, sinkErr = Parse("https://www.example.com/a/b%20c?d=e") }},
		{"parse fragment", 0, func() { sinkURL, sinkErr = Parse("https://www.example.com/a/b?d=e#f") }},
		{"parse escapes", 1, func() { sinkURL, sinkErr = Parse("https://www.example.com/%7euser/a b/../c") }},
		{"resolve relative", 1, func() { sinkURL, sinkErr = base.Resolve("../other/page.html?x=y#z") }},
		{"resolve rooted", 1, func() { sinkURL, sinkErr = base.Resolve("/other/page.html") }},
		{"resolve query", 1, func() { sinkURL, sinkErr = base.Resolve("?page=2") }},
		{"resolve same host", 1, func() { sinkURL, sinkErr = base.Resolve("https://www.example.com/other") }},
		{"resolve other host", 1, func() { sinkURL, sinkErr = base.Resolve("https://www.example.org/other") }},
		{"resolve scheme-relative", 1, func() { sinkURL, sinkErr = base.Resolve("//www.example.org/other") }},
		{"resolve itself", 0, func() { sinkURL, sinkErr = base.Resolve("#top") }},
		{"parts", 0, func() { sinkString = base.Host() + base.s[:0]; sinkString = base.PathQuery() }},
		{"fingerprint", 0, func() { sinkUint = base.Fingerprint(Key{}); sinkFingerprint = base.Fingerprint128(Key{}) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := testing.AllocsPerRun(100, tt.run); got > tt.want {
				t.Errorf("%v allocations, want %v", got, tt.want)
			}
			if sinkErr != nil {
				t.Error(sinkErr)
			}
		})
	}
}

var (
	sinkUint        uint64
	sinkFingerprint Fingerprint128
)

func TestText(t *testing.T) {
	type record struct {
		URL URL         `json:"url"`
		Via URL         `json:"via"`
		Of  map[URL]int `json:"of"`
	}
	u := mustParse(t, "https://example.com/a?b")
	in := record{URL: u, Of: map[URL]int{u: 1}}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"url":"https://example.com/a?b","via":"","of":{"https://example.com/a?b":1}}`
	if string(data) != want {
		t.Fatalf("got %s, want %s", data, want)
	}
	out := record{Via: u}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	if out.URL != u || !out.Via.IsZero() || out.Of[u] != 1 {
		t.Errorf("got %+v, want %+v", out, in)
	}
	before := u
	if err := u.UnmarshalText([]byte("mailto:x")); err == nil || u != before {
		t.Errorf("a bad text gave %v and left %q", err, u)
	}
}
