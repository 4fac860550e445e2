package content

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"headway/internal/race"
	"headway/lab"
	"headway/parse"
)

// hard are pieces of pages that are expensive if a limit is missing.
var hard = map[string]string{
	"depth":      "<div>",
	"marks":      "<b><i>x",
	"links":      "<a href=x>y",
	"end tags":   "<div></span></b></div></p>",
	"cells":      "<table><tr><td>x",
	"rules":      "<style>.a.b{display:none}.c,.d{opacity:0}</style><p class='a b c d e'>x",
	"selectors":  "<style>a,b,c,d,p,p,p,p{display:none}</style>",
	"open style": "<style>@media x{{{",
	"classes":    "<p class='a b c d e f g h i j k l m n o p'>x",
	"lists":      "<ul><li>x<ol><li>",
	"quotes":     "<blockquote>x",
	"code":       "<pre><code>`x",
	"json-ld":    `<script type="application/ld+json">{"author":{"author":{"name":"x","datePublished":"</script>`,
	"entities":   "&amp&#x41;&CounterClockwiseContourIntegral;",
	"comments":   "<style>/*x*/</style>",
	"svg":        "<svg><p>x",
	"images":     "<img src=x alt='a [b] `c`'>",
	"dots":       "a.b",
	"no-break":   "a\u00a0",
	"backticks":  "<code>`x</code>",
}

// TestTimeIsLinear: twice the page takes about twice the time.
func TestTimeIsLinear(t *testing.T) {
	if race.Enabled || testing.Short() {
		t.Skip("measures time, which the race detector multiplies; make plain runs it")
	}
	for name, piece := range hard {
		small, large := strings.Repeat(piece, (64<<10)/len(piece)), strings.Repeat(piece, (512<<10)/len(piece))
		fast := 40*fastest(small, 3, 0) + 100*time.Millisecond
		if took := fastest(large, 20, fast); took > fast {
			t.Errorf("%s: 512 KiB take %s, want at most %s", name, took, fast)
		}
	}
}

// fastest is the shortest time in which a page was extracted, in so many attempts or until
// one is fast enough. Other load on the machine can only make it slower.
func fastest(html string, attempts int, enough time.Duration) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range attempts {
		start := time.Now()
		Extract([]byte(html), pageURL, Options{Text: true, Markdown: true})
		if best = min(best, time.Since(start)); best <= enough {
			break
		}
	}
	return best
}

// TestBounds: beyond a limit the page is cut and says so.
func TestBounds(t *testing.T) {
	for name, html := range map[string]string{
		"depth":  strings.Repeat("<div>", maxDepth+1) + "x",
		"blocks": strings.Repeat("<p>x", maxBlocks+1),
		"runs":   strings.Repeat("<b>x</b>", maxRuns/2),
		"rules":  "<style>" + strings.Repeat(".a{display:none}", maxRules+1) + "</style>",
	} {
		if page := Extract([]byte(html), pageURL, Options{}); !page.Cut {
			t.Errorf("%s: not cut", name)
		}
	}
	if page := Extract([]byte(strings.Repeat("<div>", maxDepth-1)+"x"), pageURL, Options{}); page.Cut {
		t.Error("cut below the limit")
	}
}

// TestEmpty: there is always a page.
func TestEmpty(t *testing.T) {
	for _, html := range []string{"", " ", "<", "<p>", "<!--", "<style>", "<pre>", "<hr>", "<table><td>", "</p></div>"} {
		if page := Extract([]byte(html), pageURL, Options{Text: true, Markdown: true}); page != (Page{}) {
			t.Errorf("%q: %+v", html, page)
		}
	}
}

func FuzzExtract(f *testing.F) {
	for _, piece := range hard {
		f.Add([]byte(piece + piece + long))
	}
	for _, p := range lab.TextPairs() {
		f.Add([]byte(p.With))
	}
	f.Add(body(long + "<table><tr><th>a<td>b</table><ol><li>x<pre>y</pre></ol>"))
	f.Fuzz(func(t *testing.T, html []byte) {
		page := Extract(html, pageURL, Options{Text: true, Markdown: true})
		if again := Extract(html, pageURL, Options{Text: true, Markdown: true}); again != page {
			t.Fatalf("not the same again:\n%+v\n%+v", page, again)
		}
		if !utf8.ValidString(page.Text) || !utf8.ValidString(page.Markdown) || strings.ContainsRune(page.Text, 0) {
			t.Fatalf("invalid text %q", page.Text)
		}
		if digest, words := parse.DigestOf([]byte(page.Text)); utf8.Valid(html) && (digest != page.Digest || words != page.Words) {
			t.Fatalf("the digest is not that of the text %q", page.Text)
		}
	})
}
