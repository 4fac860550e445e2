package content

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"headway/lab"
	"headway/parse"
	"headway/weburl"
)

var pageURL = func() weburl.URL {
	u, err := weburl.Parse("https://site.test/dir/page.html")
	if err != nil {
		panic(err)
	}
	return u
}()

// TestHiddenText: text a reader cannot see is in no output, text that only looks hidden is
// kept, and all other text is the same as in the page without it. The lab serves these pages.
func TestHiddenText(t *testing.T) {
	for _, p := range lab.TextPairs() {
		with := Extract([]byte(p.With), pageURL, Options{Text: true, Markdown: true})
		without := Extract([]byte(p.Without), pageURL, Options{Text: true, Markdown: true})
		want := p.Visible
		switch {
		case p.Shown:
			want = append([]string{p.Text}, want...)
		case strings.Contains(with.Text+with.Markdown, "instructions"):
			t.Errorf("%s: hidden text leaked:\n%s", p.Name, with.Text)
		case with.Digest != without.Digest || with.Text != without.Text || with.Markdown != without.Markdown:
			t.Errorf("%s: the page differs from the one without hidden text:\n%s\n---\n%s", p.Name, with.Text, without.Text)
		}
		for _, sentence := range want {
			if !strings.Contains(with.Text, sentence) || !strings.Contains(with.Markdown, sentence) {
				t.Errorf("%s: lost %q:\n%s", p.Name, sentence, with.Text)
			}
		}
	}
}

// TestReader: a page read beside package parse says the same as one read alone, and parse
// finds the same.
func TestReader(t *testing.T) {
	all := Options{Text: true, Markdown: true}
	pages := map[string]string{
		"nothing": "", "no HTML": "a,b\n1,2\n", "a picture": "<picture><source srcset=a.png><img src=b.png alt=c></picture><svg><title>x</title></svg>",
	}
	for _, p := range lab.TextPairs() {
		pages[p.Name] = p.With
	}
	for name, html := range pages {
		for _, kind := range []string{"text/html", "text/csv"} {
			a := parse.Answer{URL: pageURL, Status: http.StatusOK, Header: http.Header{"Content-Type": {kind}}, Body: []byte(html)}
			for _, o := range []parse.Options{{}, {Labels: true}, {Resources: true}} {
				alone, err := parse.Read(a, o)
				if err != nil {
					t.Fatal(err)
				}
				r := NewReader()
				o.Beside = r
				beside, err := parse.Read(a, o)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(alone, beside) {
					t.Errorf("%s as %s: %+v with a reader beside it, %+v without", name, kind, beside, alone)
				}
				got, ok := r.Page(pageURL, all)
				if ok != (beside.Type == parse.TypeHTML) {
					t.Errorf("%s as %s: read %v", name, kind, ok)
				}
				if want := Extract([]byte(html), pageURL, all); ok && got != want {
					t.Errorf("%s: %+v, alone %+v", name, got, want)
				}
			}
		}
	}
}
