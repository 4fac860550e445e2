package main

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"

	"headway/content"
	"headway/lab"
	"headway/weburl"
)

// features are the parts of a Markdown page that are compared.
type features struct{ headings, links, images, code, rows []string }

var (
	fence    = regexp.MustCompile("(?ms)^[ >]*```+(\\w*)\n(.*?)\n[ >]*```+$")
	heading  = regexp.MustCompile(`(?m)^#+ .*$`)
	image    = regexp.MustCompile(`!\[([^\]]*)\]\(([^)]*)\)`)
	link     = regexp.MustCompile(`\[((?:[^\[\]]|\\.)*)\]\(([^)]*)\)`)
	codeSpan = regexp.MustCompile("`+[^`]+`+")
	row      = regexp.MustCompile(`(?m)^\|.*\|$`)
	ruler    = regexp.MustCompile(`^[|\s:-]+$`)
)

// featuresOf lists the parts of a page.
func featuresOf(md string) (f features) {
	for _, m := range fence.FindAllStringSubmatch(md, -1) {
		f.code = append(f.code, m[1]+"\n"+m[2])
	}
	md = fence.ReplaceAllString(md, "")
	for _, h := range heading.FindAllString(md, -1) {
		f.headings = append(f.headings, strings.ReplaceAll(h, `\`, ""))
	}
	for _, m := range image.FindAllStringSubmatch(md, -1) {
		f.images = append(f.images, m[2])
	}
	md = image.ReplaceAllString(md, "image")
	for _, m := range link.FindAllStringSubmatch(md, -1) {
		f.links = append(f.links, strings.NewReplacer("%28", "(", "%29", ")", `\`, "").Replace(m[2]))
	}
	f.code = append(f.code, codeSpan.FindAllString(md, -1)...)
	for _, r := range row.FindAllString(md, -1) {
		if !ruler.MatchString(r) {
			f.rows = append(f.rows, strings.Join(strings.Fields(r), " "))
		}
	}
	return f
}

func compareFeatures(t *testing.T, name string, ours, theirs features) {
	t.Helper()
	for _, c := range []struct {
		what string
		a, b []string
	}{
		{"headings", ours.headings, theirs.headings},
		{"links", ours.links, theirs.links},
		{"images", ours.images, theirs.images},
		{"code", ours.code, theirs.code},
		{"table rows", ours.rows, theirs.rows},
	} {
		if !slices.Equal(c.a, c.b) {
			t.Errorf("%s: %s\nours   %q\ntheirs %q", name, c.what, c.a, c.b)
		}
	}
}

// oracle converts a page with html-to-markdown.
func oracle(t *testing.T, html, domain string) string {
	t.Helper()
	c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(), strikethrough.NewStrikethroughPlugin()))
	md, err := c.ConvertString(html, converter.WithDomain(domain))
	if err != nil {
		t.Fatal(err)
	}
	return md
}

func mustParse(t *testing.T, address string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

const text = "<p>The harbour was quiet, the boats were out, and the market, as always, opened at six in the morning.</p>\n"

// articles are pages without anything around the article.
var articles = map[string]string{
	"headings": "<h1>One</h1>" + text + "<h2>Two <em>x</em></h2>" + text + "<h3>Three: 1. a</h3>" + text + "<h4>Four #4</h4>" + text + "<h5>Five</h5>" + text + "<h6>Six</h6>" + text,
	"links": text + `<p>Prices are in <a href="/list">today's <b>list</b></a>, the boats in <a href="/boats?x=1&amp;y=2">another</a>, and news
		from <a href="https://other.example/a_b/">elsewhere</a>, as always.</p>` + text,
	"code":   text + "<p>Call <code>open()</code>, then <code>a*b_c</code> and <code>close()</code> at the end of the day.</p><pre><code class=\"language-go\">func main() {\n\tx := a &lt; b\n\n\tprintln(x) // * _ [\n}\n</code></pre>" + text + "<pre>plain\n  text</pre>" + text,
	"tables": text + "<table><thead><tr><th>Fish</th><th>Price</th></tr></thead><tbody><tr><td>Cod</td><td>1.20</td></tr><tr><td><b>Eel</b></td><td><a href=\"/eel\">2.40</a></td></tr><tr><td>a|b</td><td></td></tr></tbody></table>" + text,
	"lists":  text + `<ul><li>Cod, from <a href="/n">the north</a><ul><li>small <code>s</code></li><li>large</li></ul></li><li>Eel</li></ul><ol><li>first</li><li>second <a href="/2">two</a></li></ol>` + text,
	"images": text + `<p><img src="/a.png" alt="A boat"> at the pier, and <a href="/big"><img src="https://cdn.example/b.jpg" alt=""></a> at sea, as seen today.</p>` + text,
	"quotes": text + `<blockquote><p>We sold it all, said <a href="/ann">Ann</a>.</p><pre><code>in a quote</code></pre></blockquote>` + text + "<hr>" + text,
}

// TestMarkdownOfArticles: headings, links, images, code and tables are the same.
func TestMarkdownOfArticles(t *testing.T) {
	for name, html := range articles {
		page := "<!doctype html><html><body><article>" + html + "</article></body></html>"
		ours := content.Extract([]byte(page), mustParse(t, "https://site.example/dir/"), content.Options{Markdown: true}).Markdown
		compareFeatures(t, name, featuresOf(ours), featuresOf(oracle(t, page, "https://site.example/dir/")))
	}
}

// TestMarkdownOfLab: headings, images, code and tables of the lab's pages are the same.
// Lists of links between the paragraphs are not main text, so there may be fewer links.
func TestMarkdownOfLab(t *testing.T) {
	l, err := lab.New(lab.Config{Seed: 1, Hosts: lab.Uniform(2, lab.Plain())})
	if err != nil {
		t.Fatal(err)
	}
	front := l.Hosts()[0].URL
	queue, seen := []string{front}, map[string]bool{front: true}
	pages, parts := 0, 0
	for pages < 50 && len(queue) > 0 {
		address := queue[0]
		queue = queue[1:]
		r := httptest.NewRequest(http.MethodGet, address, nil)
		r.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		l.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			continue
		}
		pages++
		html := w.Body.String()
		ours := content.Extract([]byte(html), mustParse(t, address), content.Options{Markdown: true}).Markdown
		theirs := oracle(t, html, address)
		f, g := featuresOf(ours), featuresOf(theirs)
		parts += len(f.headings) + len(f.code) + len(f.rows)
		for _, target := range f.links {
			if !slices.Contains(g.links, target) {
				t.Errorf("%s: link to %s", address, target)
			}
		}
		f.links, g.links = nil, nil
		compareFeatures(t, address, f, g)
		for _, m := range link.FindAllStringSubmatch(theirs, -1) {
			if strings.HasPrefix(m[2], front) && !seen[m[2]] {
				seen[m[2]] = true
				queue = append(queue, m[2])
			}
		}
	}
	if pages < 50 || parts < 500 {
		t.Errorf("%d pages with %d parts compared", pages, parts)
	}
}
