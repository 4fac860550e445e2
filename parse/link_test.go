package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinkHeader(t *testing.T) {
	tests := []struct {
		name, field string
		want        []headerLink
	}{
		{"one", `</a>; rel="next"`, []headerLink{{target: "/a", rel: "next"}}},
		{"token value", `</a>;rel=next`, []headerLink{{target: "/a", rel: "next"}}},
		{"several", `</a>; rel=prev, </b>; rel=next`, []headerLink{{target: "/a", rel: "prev"}, {target: "/b", rel: "next"}}},
		{"comma in target", `</a,b>; rel=next`, []headerLink{{target: "/a,b", rel: "next"}}},
		{"comma in quotes", `</a>; title="x, <y>"; rel=next, </b>`, []headerLink{{target: "/a", rel: "next"}, {target: "/b"}}},
		{"escapes in quotes", `</a>; rel="ne\xt \"q\""`, []headerLink{{target: "/a", rel: `next "q"`}}},
		{"first rel counts", `</a>; rel=next; rel=prev`, []headerLink{{target: "/a", rel: "next"}}},
		{"names without case", `</a>; REL=next; HrefLang=de; Type=text/html`, []headerLink{{target: "/a", rel: "next", hreflang: "de", mime: "text/html"}}},
		{"spaces", "  < /a > \t; rel = next  ", []headerLink{{target: " /a ", rel: "next"}}},
		{"anchor", `</a>; rel=next; anchor="#x"`, []headerLink{{target: "/a", rel: "next", anchored: true}}},
		{"parameter without value", `</a>; crossorigin; rel=next`, []headerLink{{target: "/a", rel: "next"}}},
		{"garbage between", `</a> junk; rel=next, oops, </b>; rel=prev`, []headerLink{{target: "/a", rel: "next"}, {target: "/b", rel: "prev"}}},
		{"empty target", `<>; rel=next`, []headerLink{{target: "", rel: "next"}}},
		{"unclosed target", `</a; rel=next`, nil},
		{"unclosed quote", `</a>; rel="next`, []headerLink{{target: "/a"}}},
		{"empty elements", `, ,</a>,,`, []headerLink{{target: "/a"}}},
		{"nothing", ``, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []headerLink
			linkHeader(tt.field, func(l headerLink) bool { got = append(got, l); return true })
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(headerLink{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRefresh(t *testing.T) {
	tests := []struct{ name, value, want string }{
		{"usual", "0; url=/x", "/x"},
		{"comma", "0, url=/x", "/x"},
		{"space only", "0 url=/x", "/x"},
		{"no space", "0;url=/x", "/x"},
		{"fraction", "0.5; url=/x", "/x"},
		{"dot first", ".5; url=/x", "/x"},
		{"leading space", " \n5;URL=/x", "/x"},
		{"space around equals", "5; url = /x", "/x"},
		{"without url", "5; /x", "/x"},
		{"url without equals", "5; urlx", "urlx"},
		{"quotes", `5; url="/x"y`, "/x"},
		{"quotes without url", `5; '/x'`, "/x"},
		{"unclosed quote", `5; url='/x`, "/x"},
		{"other quote inside", `5; url="/x'y"`, "/x'y"},
		{"page itself", "5", ""},
		{"page itself, semicolon", "5;", ""},
		{"no time", "; url=/x", ""},
		{"words", "soon; url=/x", ""},
		{"unit", "5s; url=/x", ""},
		{"empty", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(refresh([]byte(tt.value))); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestSrcset(t *testing.T) {
	tests := []struct {
		name, value string
		want        string
	}{
		{"one", "/a", "/a"},
		{"descriptors", "/a 1x, /b 2x", "/a /b"},
		{"widths and lines", "\n /a 100w,\n /b 200w\n", "/a /b"},
		{"no space after comma", "/a,/b 2x", "/a,/b"},
		{"comma ends the address", "/a, /b,", "/a /b"},
		{"comma inside", "/a,w_100/b.png 1x", "/a,w_100/b.png"},
		{"brackets", "/a x(1,2), /b", "/a /b"},
		{"open bracket", "/a x(1,2, /b", "/a"},
		{"data", "data:,x 1x, /b", "data:,x /b"},
		{"only commas", ",,, ,", ""},
		{"empty", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			srcset([]byte(tt.value), func(ref []byte) bool { got = append(got, string(ref)); return true })
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("%q, want %q", s, tt.want)
			}
		})
	}
}

func TestRelString(t *testing.T) {
	if got := relOf([]byte(" NEXT\tnofollow\nunknown-relation-name ugc ")).String(); got != "nofollow ugc next" {
		t.Errorf("%q", got)
	}
	for i, name := range relNames {
		if got := Rel(1 << i).String(); got != name {
			t.Errorf("bit %d is %q, want %q", i, got, name)
		}
	}
	if got := fmt.Sprint(Kind(0), Kind(200)); got != " " {
		t.Errorf("unknown kinds are %q", got)
	}
}

func FuzzLinkHeader(f *testing.F) {
	f.Add(`</a>; rel="next"; title="x, \"y\"", <b>;rel=prev`)
	f.Add(`<a>;=;"`)
	f.Fuzz(func(t *testing.T, field string) {
		n := 0
		linkHeader(field, func(l headerLink) bool {
			n++
			if strings.Contains(l.target, ">") {
				t.Fatalf("target %q", l.target)
			}
			return true
		})
		if n > strings.Count(field, "<") {
			t.Fatalf("%d links in %q", n, field)
		}
	})
}

func FuzzSrcsetAndRefresh(f *testing.F) {
	f.Add("/a 1x, /b 2x")
	f.Add("5; url='/x'")
	f.Fuzz(func(t *testing.T, value string) {
		n := 0
		srcset([]byte(value), func(ref []byte) bool {
			n++
			if len(ref) == 0 || strings.ContainsAny(string(ref), " \t\n\f\r") || strings.HasSuffix(string(ref), ",") {
				t.Fatalf("candidate %q", ref)
			}
			return true
		})
		if n > len(value) {
			t.Fatalf("%d candidates", n)
		}
		if ref := refresh([]byte(value)); ref != nil && (len(ref) == 0 || !strings.Contains(value, string(ref))) {
			t.Fatalf("target %q", ref)
		}
	})
}
