package extract

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkExtract applies ten rules to a page of 100 KB, with and without a tree.
func BenchmarkExtract(b *testing.B) {
	var html strings.Builder
	html.WriteString(sample)
	for i := 0; html.Len() < 100<<10; i++ {
		fmt.Fprintf(&html, `<div class="row r%d"><h2>Heading %d</h2><p class="text">Some <b>words</b> of a <a href="/p/%d">page</a>.</p></div>`, i%7, i, i)
	}
	for name, rule := range map[string]string{
		"css":   "{css: 'div.row > p.text a', attribute: href, all: true}",
		"xpath": "{xpath: '//div[@class]/p/a/@href', all: true}",
		"meta":  "{meta: description}",
	} {
		var text strings.Builder
		for i := range 10 {
			fmt.Fprintf(&text, "f%d: %s\n", i, rule)
		}
		r, err := Read("rules.yaml", []byte(text.String()))
		if err != nil {
			b.Fatal(err)
		}
		u := address(b, "http://example.com/")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(html.Len()))
			for b.Loop() {
				r.Extract(Page{URL: u, Base: u, HTML: []byte(html.String())})
			}
		})
	}
}
