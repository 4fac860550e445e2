package parse

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
	lex "github.com/tdewolff/parse/v2"
	lexhtml "github.com/tdewolff/parse/v2/html"
	"golang.org/x/net/html"

	"headway/internal/htmltoken"
)

// bareLinks is the loop of the minimal crawler that Headway is compared with: the
// x/net/html tokenizer and net/url.
func bareLinks(body []byte, page string, found func(*url.URL)) {
	base, err := url.Parse(page)
	if err != nil {
		return
	}
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			continue
		}
		name, more := z.TagName()
		isA, isBase := string(name) == "a", string(name) == "base"
		if !isA && !isBase {
			continue
		}
		var href []byte
		nofollow := false
		for more {
			var k, v []byte
			k, v, more = z.TagAttr()
			switch string(k) {
			case "href":
				href = v
			case "rel":
				nofollow = bytes.Contains(v, []byte("nofollow"))
			}
		}
		if href == nil || nofollow {
			continue
		}
		l, err := base.Parse(string(href))
		switch {
		case err != nil:
		case isBase:
			base = l
		case l.Scheme == "http" || l.Scheme == "https":
			l.Fragment = ""
			found(l)
		}
	}
}

// pageLinks returns what bareLinks finds, from one of our pages.
func pageLinks(p Page) []string {
	var out []string
	for _, l := range p.Links {
		if l.Kind == Anchor && l.Rel&RelNofollow == 0 {
			out = append(out, l.URL.String())
		}
	}
	return out
}

func TestSameLinksAsBare(t *testing.T) {
	total := 0
	for _, p := range labPages() {
		var want []string
		bareLinks(p.body, p.url.String(), func(u *url.URL) { want = append(want, u.String()) })
		page, err := Read(p.answer(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, pageLinks(page)); diff != "" {
			t.Errorf("%s (-bare +ours):\n%s", p.url, diff)
		}
		total += len(want)
		compareEvents(t, p.body)
	}
	if total < 10_000 {
		t.Errorf("%d links compared, want 10,000 at least", total)
	}
}

// benchmark reads the pages of the lab repeatedly.
func benchmark(b *testing.B, read func(labPage) int) {
	pages := labPages()
	size := 0
	for _, p := range pages {
		size += len(p.body)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	links := 0
	start := cpuTime()
	for b.Loop() {
		links = 0
		for _, p := range pages {
			links += read(p)
		}
	}
	b.ReportMetric(float64(links), "links")
	b.ReportMetric(float64((cpuTime()-start).Microseconds())/float64(b.N)/float64(len(pages)), "cpu-µs/page")
}

// BenchmarkLinksBare is the yardstick: links as strings only.
func BenchmarkLinksBare(b *testing.B) {
	benchmark(b, func(p labPage) int {
		n := 0
		bareLinks(p.body, p.url.String(), func(u *url.URL) {
			if u.String() != "" {
				n++
			}
		})
		return n
	})
}

// BenchmarkLinksOurs is all of Read: links, facts, digest and simhash.
func BenchmarkLinksOurs(b *testing.B) {
	benchmark(b, func(p labPage) int {
		page, err := Read(p.answer(), Options{})
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for _, l := range page.Links {
			if l.Kind == Anchor && l.Rel&RelNofollow == 0 {
				n++
			}
		}
		return n
	})
}

// BenchmarkLinksOnly is Read without the text: what BenchmarkLinksBare does plus the
// facts in tags.
func BenchmarkLinksOnly(b *testing.B) {
	var d document
	benchmark(b, func(p labPage) int {
		page := Page{Base: p.url}
		d.page, d.refs, d.values, d.base = &page, d.refs[:0], d.values[:0], nil
		d.z.Reset(p.body, pageTags)
		for {
			token := d.z.Next()
			if token == htmltoken.Start && d.z.Tag != htmltoken.TagOther {
				d.start()
			} else if token == htmltoken.End {
				break
			}
		}
		d.useBase()
		d.resolve()
		n := 0
		for _, l := range page.Links {
			if l.Kind == Anchor && l.Rel&RelNofollow == 0 {
				n++
			}
		}
		return n
	})
}

// BenchmarkTokenizer is the tokenizer alone.
func BenchmarkTokenizer(b *testing.B) {
	benchmark(b, func(p labPage) int {
		var z htmltoken.Tokenizer
		z.Reset(p.body, pageTags)
		n := 0
		for {
			switch z.Next() {
			case htmltoken.End:
				return n
			case htmltoken.Start:
				if z.Tag == htmltoken.TagA && z.Attrs.Has(htmltoken.AttrHref) {
					n++
				}
			}
		}
	})
}

// BenchmarkLexer is a fast lexer that neither resolves nor decodes.
func BenchmarkLexer(b *testing.B) {
	benchmark(b, func(p labPage) int {
		l := lexhtml.NewLexer(lex.NewInputBytes(p.body))
		n := 0
		inA := false
		for {
			switch kind, _ := l.Next(); kind {
			case lexhtml.ErrorToken:
				if !errors.Is(l.Err(), io.EOF) {
					b.Fatal(l.Err())
				}
				return n
			case lexhtml.StartTagToken:
				inA = string(l.Text()) == "a"
			case lexhtml.AttributeToken:
				if inA && string(l.AttrKey()) == "href" {
					n++
				}
			}
		}
	})
}
