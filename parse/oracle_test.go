package parse

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

// facts are what is compared between this package and the tokenizer of x/net: the links
// of a, area, iframe and frame elements in order with their rel marks, the base, the
// title, the description and the robots directives, all decoded and resolved.
type facts struct {
	Links              []string
	Base               string
	Title, Description string
	Robots             []string
}

func factsOf(p Page) facts {
	f := facts{Base: p.Base.String(), Title: p.Title, Description: p.Description, Links: []string{}}
	var links []Link
	for _, l := range p.Links {
		if l.Kind == Anchor || l.Kind == Area || l.Kind == Frame {
			links = append(links, l)
		}
	}
	f.Links = lines(links)
	for _, d := range p.Robots {
		f.Robots = append(f.Robots, d.Content)
	}
	return f
}

// oracleFacts reads a page in UTF-8 with x/net and plain string functions.
func oracleFacts(src []byte) facts {
	type ref struct {
		kind Kind
		rel  string
		href string
	}
	d := document{page: new(Page)} // for clean, which is not compared
	var f facts
	var refs []ref
	base := pageURL
	baseSeen, svg, title := false, 0, false
	z := html.NewTokenizer(bytes.NewReader(src))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		token := z.Token()
		attr := map[string]string{}
		for _, a := range token.Attr {
			if _, ok := attr[a.Key]; !ok {
				attr[a.Key] = a.Val
			}
		}
		value := func(key string) (string, bool) { v, ok := attr[key]; return v, ok }
		switch {
		case kind == html.TextToken && title:
			f.Title = d.clean([]byte(token.Data), MaxTitle, false)
		case kind == html.EndTagToken && token.Data == "svg":
			svg = max(0, svg-1)
		case kind == html.StartTagToken || kind == html.SelfClosingTagToken:
			switch token.Data {
			case "noscript":
				z.NextIsNotRawText()
			case "svg":
				svg++
			case "a", "area":
				if href, ok := value("href"); ok {
					k := Anchor
					if token.Data == "area" {
						k = Area
					}
					refs = append(refs, ref{k, attr["rel"], href})
				}
			case "iframe", "frame":
				if s, ok := value("src"); ok {
					refs = append(refs, ref{Frame, "", s})
				}
			case "base":
				if href, ok := value("href"); ok && !baseSeen {
					baseSeen = true
					if u, err := pageURL.Resolve(href); err == nil {
						base = u
					}
				}
			case "meta":
				switch strings.ToLower(strings.Trim(attr["name"], "\t\n\f\r ")) {
				case "description":
					if f.Description == "" {
						f.Description = d.clean([]byte(attr["content"]), MaxDescription, false)
					}
				case "robots":
					if len(f.Robots) < MaxDirectives {
						f.Robots = append(f.Robots, d.clean([]byte(attr["content"]), maxDirective, false))
					}
				}
			}
		}
		title = (kind == html.StartTagToken || kind == html.SelfClosingTagToken) && token.Data == "title" && svg == 0 && f.Title == ""
	}
	f.Base = base.String()
	var links []Link
	for _, r := range refs {
		if u, err := base.Resolve(r.href); err == nil {
			links = append(links, Link{u, relOf([]byte(r.rel)), r.kind})
		}
	}
	f.Links = lines(links)
	return f
}

// comparePage fails unless both readings of src agree.
func comparePage(t *testing.T, src []byte) {
	t.Helper()
	if hiddenScript.Match(src) || len(src) > 1<<20 {
		return
	}
	got := readHTML(t, string(src), Options{})
	if got.Cut != 0 || got.Charset.From == FromBOM && got.Charset.Name != utf8Name {
		return
	}
	want, have := oracleFacts(src), factsOf(got)
	if bytes.IndexByte(src, 0) >= 0 { // in a title the standard replaces NUL; we drop it, as in text
		want.Title, have.Title = "", ""
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Fatalf("(-x/net +ours):\n%s\nin %q", diff, src)
	}
}

func TestPageAgreesWithOracle(t *testing.T) {
	for _, row := range oddRows(t) {
		comparePage(t, []byte(row.HTML))
	}
	for _, p := range labPages() {
		comparePage(t, p.body)
	}
}
