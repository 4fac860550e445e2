package parse

import (
	"net/http"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"headway/weburl"
)

// labelsOf reads a page with labels.
func labelsOf(t testing.TB, body string, header http.Header) Page {
	t.Helper()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	p, err := Read(Answer{URL: pageURL, Status: http.StatusOK, Header: header, Body: []byte(body)}, Options{Labels: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Labels) != len(p.Links) {
		t.Fatalf("%d labels of %d links", len(p.Labels), len(p.Links))
	}
	return p
}

func TestLabels(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       []Label
	}{
		{"text", `<a href=/a>one</a> two <a href=/b>three</a>`, []Label{{"one", ""}, {"three", ""}}},
		{"white space", "<a href=/a>\n  one\t two&nbsp; \n</a>", []Label{{"one two", ""}}},
		{"references", `<a href=/a>A &amp; B &#x201c;C&#8221;</a>`, []Label{{"A & B “C”", ""}}},
		{"decoded once", `<a href=/a>&amp;lt;</a><a href=/b><img alt="&amp;lt;"></a>`, []Label{{"&lt;", ""}, {"&lt;", ""}}},
		{"inside a word", `<a href=/a><b>H</b>ead<i>way</i></a>`, []Label{{"Headway", ""}}},
		{"between words", `<a href=/a><h3>Title</h3><p>Text</p><span>more</span></a>`, []Label{{"Title Text more", ""}}},
		{"comment inside a word", `<a href=/a>Head<!-- x -->way</a>`, []Label{{"Headway", ""}}},
		{"image", `<a href=/a><img src=x alt="A cat"></a>`, []Label{{"A cat", ""}}},
		{"image and text", `<a href=/a>See <img alt=cat>!</a>`, []Label{{"See cat!", ""}}},
		{"script", `<a href=/a>x<script>var y = 1</script>z<style>b{}</style></a>`, []Label{{"x z", ""}}},
		{"empty", `<a href=/a></a>`, []Label{{"", ""}}},
		{"not closed", `<a href=/a>one<a href=/b>two`, []Label{{"one", ""}, {"two", ""}}},
		{"an anchor without href ends it", `<a href=/a>one<a name=x>two</a>`, []Label{{"one", ""}}},
		{"outside", `one<a href=/a>two</a>three<p>four`, []Label{{"two", ""}}},
		{"rel as written", `<a href=/a rel=" NoFollow  me&amp;you ">x</a>`, []Label{{"x", "NoFollow me&you"}}},
		{"area", `<map><area href=/a alt="North &amp; South" rel=tag></map>`, []Label{{"North & South", "tag"}}},
		{"area inside a", `<a href=/a>one <area href=/b alt=two> three</a>`, []Label{{"one", ""}, {"two", ""}}},
		{"link element", `<link rel="alternate  feed" href=/a type=application/rss+xml><link rel=canonical href=/b>`, []Label{{"", "alternate feed"}, {"", "canonical"}}},
		{"frame and refresh", `<meta http-equiv=refresh content="0; url=/a"><iframe src=/b></iframe>`, []Label{{"", ""}, {"", ""}}},
		{"an invalid link has none", `<a href="http://[bad/" rel=x>bad</a><a href=/a rel=y>good</a>`, []Label{{"good", "y"}}},
		{"control characters", "<a href=/a>a\x01b&#7;c\xffd</a>", []Label{{"abc\ufffdd", ""}}},
		{"cut", `<a href=/a rel="` + strings.Repeat("r", 100) + `">` + strings.Repeat("ü ", 200) + `</a>`, []Label{{strings.TrimSuffix(strings.Repeat("ü ", 85), " "), strings.Repeat("r", MaxRel)}}},
		{"much white space", `<a href=/a>one` + strings.Repeat(" ", 10*MaxAnchor) + `two</a>`, []Label{{"one", ""}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, labelsOf(t, tt.body, nil).Labels); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLabelsOfHeader(t *testing.T) {
	p := labelsOf(t, `<a href=/a rel=tag>x</a>`, http.Header{"Link": {`</b>; rel="next  last", </c>; rel=preload, </d>; rel=prev`}, "Refresh": {"0; url=/e"}})
	if diff := cmp.Diff([]Label{{"x", "tag"}, {"", "next last"}, {"", "prev"}, {}}, p.Labels); diff != "" {
		t.Error(diff)
	}
}

// TestNoLabels reads no labels unless they are wanted, also after a page with labels.
func TestNoLabels(t *testing.T) {
	labelsOf(t, `<a href=/a rel=x>one</a><a href=/b>`, nil)
	p, err := Read(Answer{URL: pageURL, Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte(`<a href=/a rel=x>one</a>`)}, Options{})
	if err != nil || p.Labels != nil || len(p.Links) != 1 {
		t.Errorf("%d links, labels %v, %v", len(p.Links), p.Labels, err)
	}
}

// FuzzLabels reads any body: labels change nothing else, and are clean, bounded text.
func FuzzLabels(f *testing.F) {
	f.Add(`<a href=/a rel=nofollow>one <b>two</b><img alt=three></a><area href=/b alt=x>`)
	f.Add("<a href=/a>\x01\xff&#0;<a href=/b>")
	f.Fuzz(func(t *testing.T, body string) {
		p := labelsOf(t, body, nil)
		for _, l := range p.Labels {
			for i, text := range []string{l.Anchor, l.Rel} {
				if len(text) > []int{MaxAnchor, MaxRel}[i] || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || strings.Contains(text, "  ") || strings.TrimSpace(text) != text {
					t.Fatalf("%q", text)
				}
			}
		}
		plain, err := Read(Answer{URL: pageURL, Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(body)}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		p.Labels = nil
		if diff := cmp.Diff(plain, p, cmp.Comparer(func(a, b weburl.URL) bool { return a == b })); diff != "" {
			t.Fatal(diff)
		}
	})
}
