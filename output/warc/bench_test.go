package warc

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkExchange archives pages of 30 KB: compressed, as usual, and plain.
func BenchmarkExchange(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var page bytes.Buffer
	for page.Len() < 30<<10 {
		fmt.Fprintf(&page, "<p>word%d <a href=\"/page/%d\">link</a> %x</p>\n", rng.IntN(1000), rng.IntN(100_000), rng.Uint64())
	}
	var folded bytes.Buffer
	gz := gzip.NewWriter(&folded)
	gz.Write(page.Bytes())
	gz.Close()
	for name, body := range map[string][]byte{"folded": folded.Bytes(), "plain": page.Bytes()} {
		b.Run(name, func(b *testing.B) {
			w := open(b, Config{Dir: b.TempDir()}, Create)
			x := exchange(b, "https://example.com/some/page", string(body))
			if name == "folded" {
				x.Response = bytes.Replace(x.Response, []byte("Content-Type"), []byte("Content-Encoding: gzip\r\nContent-Type"), 1)
			}
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				copy(x.Body, fmt.Sprintf("%08d", n)) // a different payload each time
				if err := w.Exchange(b.Context(), x); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
