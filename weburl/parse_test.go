package weburl

import (
	"errors"
	"testing"
)

// TestCorners tests what the vectors leave open and other parsers get wrong. Where the
// rule comes from the standard, Node's URL parser agrees, except for labels that encode
// only ASCII, which UTS #46 has refused since version 15.1.
func TestCorners(t *testing.T) {
	const base = "https://site.test/docs/guide/page?x=1"
	tests := []struct {
		name, raw, base, want string
		code                  Code
	}{
		// Decoding must not create new escapes or dot segments.
		{name: "decoded digit would complete an escape", raw: "https://a.test/x/%2%65", want: "https://a.test/x/%2%65"},
		{name: "decoded digits behind a stray percent sign", raw: "https://a.test/%%34%31", want: "https://a.test/%%341"},
		{name: "decoded digit before a literal one", raw: "https://a.test/%%341", want: "https://a.test/%%341"},
		{name: "stray percent sign before a letter", raw: "https://a.test/%%7Ea", want: "https://a.test/%~a"},
		{name: "escape behind a complete escape", raw: "https://a.test/%2F%41", want: "https://a.test/%2FA"},
		{name: "in a query", raw: "https://a.test/?%2%65", want: "https://a.test/?%2%65"},
		{name: "dots inside a name", raw: "https://a.test/x%2e%2e/%2ehidden", want: "https://a.test/x../.hidden"},
		{name: "three escaped dots", raw: "https://a.test/%2e%2e%2e/x", want: "https://a.test/.../x"},

		// Dot segments.
		{name: "name with a dot, then up", raw: "https://a.test/x/.y/../z", want: "https://a.test/x/z"},
		{name: "up over empty segments", raw: "https://a.test/x//../y", want: "https://a.test/x/y"},
		{name: "up from a leading empty segment", raw: "https://a.test//../y", want: "https://a.test/y"},
		{name: "dots in the query stay", raw: "https://a.test/x?/../y", want: "https://a.test/x?/../y"},
		{name: "backslashes between dots", raw: `https://a.test/x\..\y`, want: "https://a.test/y"},

		// Bytes.
		{name: "caret in a path", raw: "https://a.test/x^y?x^y", want: "https://a.test/x%5Ey?x^y"},
		{name: "blank before a fragment", raw: "https://a.test/x #y", want: "https://a.test/x%20"},
		{name: "not UTF-8", raw: "https://a.test/\xff?\xfe", want: "https://a.test/%EF%BF%BD?%EF%BF%BD"},
		{name: "quote in path and query", raw: "https://a.test/'?'", want: "https://a.test/'?%27"},

		// Hosts.
		{name: "brackets in brackets", raw: "http://[[::1]]/", code: BadHost},
		{name: "IPv4 in brackets", raw: "http://[1.2.3.4]/", code: BadHost},
		{name: "escaped bracket", raw: "http://%5B::1]/", code: BadHost},
		{name: "text behind the bracket", raw: "http://[::1]a/", code: BadHost},
		{name: "compressed at the end", raw: "http://[1:2:3:4:5:6:7::]/", want: "http://[1:2:3:4:5:6:7:0]/"},
		{name: "IPv4 at the end of IPv6", raw: "http://[::1.2.3.4]/", want: "http://[::102:304]/"},
		{name: "mapped zero", raw: "http://[::ffff:0.0.0.0]/", want: "http://[::ffff:0:0]/"},
		{name: "minus before the last number", raw: "http://1.2.3.-4/", want: "http://1.2.3.-4/"},
		{name: "plus before the last number", raw: "http://a.+4/", want: "http://a.+4/"},
		{name: "letters behind a very long number", raw: "http://99999999999999999999a/", want: "http://99999999999999999999a/"},
		{name: "very long number", raw: "http://a.99999999999999999999/", code: BadHost},
		{name: "three numbers", raw: "http://1.2.3/", want: "http://1.2.0.3/"},
		{name: "one small number", raw: "http://256/", want: "http://0.0.1.0/"},
		{name: "hex without digits", raw: "http://a.0x/", code: BadHost},
		{name: "number before the root dot", raw: "http://a.5./", code: BadHost},
		{name: "two root dots", raw: "http://a.test../", code: BadHost},
		{name: "only a root dot", raw: "http://./", code: BadHost},
		{name: "leading dot", raw: "http://.a.test/", code: BadHost},
		{name: "punctuation", raw: "http://a!$&'()*+,;=~b.test/", want: "http://a!$&'()*+,;=~b.test/"},
		{name: "underscore beside an international label", raw: "http://a_b.b\u00fccher.test/", want: "http://a_b.xn--bcher-kva.test/"},
		{name: "upper-case encoded label", raw: "http://XN--BCHER-KVA.test/", want: "http://xn--bcher-kva.test/"},
		{name: "hyphens that encode nothing", raw: "http://r3---sn-a.test/", want: "http://r3---sn-a.test/"},
		{name: "label of nothing encoded", raw: "http://0\u3002xn--/", code: BadHost},
		{name: "label half encoded", raw: "http://xn--a\u00fc-.test/", code: BadHost},
		{name: "label encoding only ASCII", raw: "http://xn--a-.test/", code: BadHost},
		{name: "ignored character as the last label", raw: "http://b\u00fccher.\u00ad/", want: "http://xn--bcher-kva/"},
		{name: "only ignored characters", raw: "http://\u00ad/", code: BadHost},
		{name: "not UTF-8 in the host", raw: "http://%ff.test/", code: BadHost},
		{name: "full-width slash", raw: "http://a\uff0fb.test/", code: BadHost},
		{name: "longest name", raw: "http://" + longName(253) + "/", want: "http://" + longName(253) + "/"},
		{name: "longest name with root dot", raw: "http://" + longName(253) + "./", want: "http://" + longName(253) + "/"},
		{name: "name too long", raw: "http://" + longName(254) + "/", code: BadHost},

		// Credentials and ports.
		{name: "two at signs", raw: "http://u@v@a.test/", want: "http://a.test/"},
		{name: "empty credentials", raw: "http://@a.test/", want: "http://a.test/"},
		{name: "bad host before bad port", raw: "http://a..b:x/", code: BadHost},
		{name: "no host before a port", raw: "http://:80/", code: BadHost},
		{name: "two ports", raw: "http://a.test:80:80/", code: BadPort},
		{name: "endless port", raw: "http://a.test:99999999999999999999/", code: BadPort},
		{name: "endless zeros", raw: "http://a.test:00000000000000000081/", want: "http://a.test:81/"},

		// Bases.
		{name: "many slashes", raw: "////other.test//x", base: base, want: "https://other.test//x"},
		{name: "slash and backslash", raw: `/\other.test`, base: base, want: "https://other.test/"},
		{name: "only slashes", raw: "//", base: base, code: BadHost},
		{name: "same scheme, rooted", raw: "https:/x", base: base, want: "https://site.test/x"},
		{name: "same scheme, empty", raw: "https:", base: base, want: base},
		{name: "same scheme, query", raw: "HTTPS:?y", base: base, want: "https://site.test/docs/guide/page?y"},
		{name: "same scheme, no base", raw: "https:x", want: "https://x/"},
		{name: "other scheme, no host", raw: "http:", base: base, code: BadHost},
		{name: "empty query", raw: "?", base: base, want: "https://site.test/docs/guide/page"},
		{name: "only blanks", raw: " \n\t", base: base, want: base},
		{name: "colon in the first segment", raw: "a:b", base: base, code: BadScheme},
		{name: "digit before a colon", raw: "1:b", base: base, want: "https://site.test/docs/guide/1:b"},
		{name: "same host", raw: "https://site.test", base: base, want: "https://site.test/"},
		{name: "same host, query", raw: "https://site.test?y", base: base, want: "https://site.test/?y"},
		{name: "host that only begins alike", raw: "https://site.testing/y", base: base, want: "https://site.testing/y"},
		{name: "same host as credentials", raw: "https://site.test@other.test/", base: base, want: "https://other.test/"},
		{name: "same host, backslash", raw: `https://site.test\y`, base: base, want: "https://site.test/y"},
		{name: "up from the root of a base", raw: "../../../..", base: base, want: "https://site.test/"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b URL
			if tt.base != "" {
				b = mustParse(t, tt.base)
			}
			u, err := b.Resolve(tt.raw)
			if tt.code != "" {
				if e, ok := errors.AsType[*Error](err); !ok || e.Code != tt.code {
					t.Fatalf("got %q, %v; want %s", u, err, tt.code)
				}
				return
			}
			if err != nil || u.String() != tt.want {
				t.Fatalf("got %q, %v; want %q", u, err, tt.want)
			}
			checkURL(t, u)
			checkExplain(t, tt.raw, b)
		})
	}
}

// longName returns a name of n bytes in labels of at most 63.
func longName(n int) string {
	name := make([]byte, n)
	for i := range name {
		name[i] = 'a'
		if i%50 == 49 && i < n-1 {
			name[i] = '.'
		}
	}
	return string(name)
}
