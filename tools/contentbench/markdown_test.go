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
	"golang.org/x/net/html"

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
func oracle(t *testing.T, page, domain string) string {
	t.Helper()
	c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin(), strikethrough.NewStrikethroughPlugin()))
	md, err := c.ConvertString(page, converter.WithDomain(domain))
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

// pages compares the Markdown of pages of the lab. It counts the parts that are the same.
type pages struct {
	*testing.T
	lab *lab.Lab

	compared, headings, links, code, rows int
}

func newPages(t *testing.T) *pages {
	t.Helper()
	l, err := lab.New(lab.Config{Seed: 1, Hosts: lab.Uniform(2, lab.Plain())})
	if err != nil {
		t.Fatal(err)
	}
	return &pages{T: t, lab: l}
}

// fetch gets a page of the lab.
func (p *pages) fetch(address string) string {
	p.Helper()
	r := httptest.NewRequest(http.MethodGet, address, nil)
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	p.lab.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		p.Fatalf("%s: status %d", address, w.Code)
	}
	return w.Body.String()
}

// compare compares our Markdown of a page with html-to-markdown's of the same or another
// page, without the parts that are no main text.
func (p *pages) compare(address, page, other string) {
	p.Helper()
	ours := featuresOf(content.Extract([]byte(page), mustParse(p.T, address), content.Options{Markdown: true}).Markdown)
	text, relativeTo := mainText(p.T, other, address)
	compareFeatures(p.T, address, ours, featuresOf(oracle(p.T, text, relativeTo)))
	p.compared++
	p.headings += len(ours.headings)
	p.links += len(ours.links)
	p.code += len(ours.code)
	p.rows += len(ours.rows)
}

// mainText removes from a page what package content leaves out on purpose and
// html-to-markdown, which converts whole pages, does not: navigation, footers, bylines,
// comments, and links that are not in a text. It also returns the address that relative
// links are relative to, because html-to-markdown does not read base elements.
func mainText(t *testing.T, page, address string) (text, relativeTo string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	relativeTo = address
	var remove []*html.Node
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch class := attribute(n, "class"); {
		case n.Data == "base":
			u, err := mustParse(t, address).Resolve(attribute(n, "href"))
			if err != nil {
				t.Fatal(err)
			}
			relativeTo = u.String()
		case n.Data == "nav", n.Data == "footer", class == "byline", class == "comments", n.Data == "a" && n.Parent.Data == "body", n.Data == "ul" && onlyLinks(n):
			remove = append(remove, n)
		}
	}
	for _, n := range remove {
		if n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
	}
	var b strings.Builder
	if err := html.Render(&b, doc); err != nil {
		t.Fatal(err)
	}
	return b.String(), relativeTo
}

// onlyLinks reports whether all text of a list is in links.
func onlyLinks(list *html.Node) bool {
	for n := range list.Descendants() {
		if n.Type == html.TextNode && strings.TrimSpace(n.Data) != "" && n.Parent.Data != "a" {
			return false
		}
	}
	return true
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// follow lists the pages below prefix that can be reached from the pages given, at most so
// many.
func (p *pages) follow(most int, prefix string, queue ...string) []string {
	p.Helper()
	href := regexp.MustCompile(`<a href="([^"]+)"`)
	for i := 0; i < len(queue) && len(queue) < most; i++ {
		page := p.fetch(queue[i])
		_, relativeTo := mainText(p.T, page, queue[i])
		for _, m := range href.FindAllStringSubmatch(page, -1) {
			u, err := mustParse(p.T, relativeTo).Resolve(m[1])
			if to := u.String(); err == nil && strings.HasPrefix(to, prefix) && strings.HasSuffix(to, ".html") && !slices.Contains(queue, to) && len(queue) < most {
				queue = append(queue, to)
			}
		}
	}
	return queue
}

// TestMarkdownOfCatalogue compares the lab's catalogue: headings, links, images, code and
// tables are the same.
func TestMarkdownOfCatalogue(t *testing.T) {
	p := newPages(t)
	catalogue := p.lab.Hosts()[0].URL + "exhibit/catalogue/"
	for _, address := range p.follow(100, catalogue+"markdown/", catalogue+"markdown/index.html") {
		page := p.fetch(address)
		p.compare(address, page, page)
	}
	for _, name := range []string{"", "product/lamp.html", "product/chair.html", "article/tides.html", "tables.html", "odd.html"} {
		page := p.fetch(catalogue + name)
		p.compare(catalogue+name, page, page)
	}
	t.Logf("%d pages: %d headings, %d links, %d code, %d table rows", p.compared, p.headings, p.links, p.code, p.rows)
	if p.compared < 14 || p.headings < 15 || p.links < 8 || p.code < 6 || p.rows < 12 {
		t.Error("too few were compared")
	}
}

// TestMarkdownOfLab compares ordinary pages of the lab.
func TestMarkdownOfLab(t *testing.T) {
	p := newPages(t)
	front := p.lab.Hosts()[0].URL
	for _, address := range p.follow(50, front+"s", front) {
		page := p.fetch(address)
		p.compare(address, page, page)
	}
	t.Logf("%d pages: %d table rows", p.compared, p.rows)
	if p.compared < 50 || p.rows < 500 {
		t.Error("too few were compared")
	}
}

// TestMarkdownOfHiddenText compares the lab's pairs of pages: a page with hidden text is the
// same as html-to-markdown's page without it.
func TestMarkdownOfHiddenText(t *testing.T) {
	p := newPages(t)
	host := strings.TrimSuffix(p.lab.Hosts()[0].URL, "/")
	for _, pair := range lab.TextPairs() {
		with, without := p.fetch(host+pair.WithPath), p.fetch(host+pair.WithoutPath)
		p.compare(host+pair.WithoutPath, without, without)
		switch {
		case !pair.Shown:
			p.compare(host+pair.WithPath, with, without)
		case !strings.Contains(without, "<table>"): // html-to-markdown writes no table if a cell has paragraphs
			p.compare(host+pair.WithPath, with, with)
		}
	}
	t.Logf("%d pages: %d table rows", p.compared, p.rows)
	if p.compared < 80 || p.rows < 20 {
		t.Error("too few were compared")
	}
}
