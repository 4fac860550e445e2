package content

import (
	"fmt"
	"strings"
	"testing"
)

// benchPage is a page of 35 KB: half of it an article, half links.
func benchPage() []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><html lang=en><head><title>A page</title></head><body>")
	for i := range 300 {
		fmt.Fprintf(&b, "<a href=\"/s%d/p%d.html\">letter</a>\n", i%17, i)
	}
	for i := range 80 {
		fmt.Fprintf(&b, "<p>Signal weather that by it measure the <b>quiet</b> mirror, letter %d; winter with market &amp; system under the <a href=\"/x%d\">valley letter</a> measure are number between for measure orange weather.</p>\n", i, i)
	}
	b.WriteString("</body></html>")
	return []byte(b.String())
}

func BenchmarkExtract(b *testing.B) {
	html := benchPage()
	for name, o := range map[string]Options{"facts": {}, "text": {Text: true}, "both": {Text: true, Markdown: true}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(html)))
			b.ReportAllocs()
			for b.Loop() {
				Extract(html, pageURL, o)
			}
		})
	}
}
