package content

import (
	"strings"
	"testing"

	"headway/lab"
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
