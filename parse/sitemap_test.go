package parse

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"headway/internal/race"
	"headway/weburl"
)

var sitemapURL = mustParse("https://site.test/sitemap.xml")

// readSitemap reads a sitemap and returns its entries as lines.
func readSitemap(r io.Reader, o SitemapOptions) ([]string, *Sitemap) {
	s := NewSitemap(r, sitemapURL, o)
	got := []string{}
	for e := range s.Entries() {
		line := e.URL.String()
		if e.Sitemap {
			line = "sitemap " + line
		}
		if !e.LastMod.IsZero() {
			line += " " + e.LastMod.Format(time.RFC3339)
		}
		if e.Priority != defaultPriority {
			line += fmt.Sprintf(" %g", e.Priority)
		}
		got = append(got, line)
	}
	return got, s
}

const urlset = `<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`

func TestSitemap(t *testing.T) {
	tests := []struct {
		name string
		in   string
		form SitemapForm
		want []string
	}{
		{
			"urlset", urlset + `<url><loc>https://site.test/a</loc><lastmod>2026-01-02</lastmod><changefreq>daily</changefreq><priority>0.8</priority></url>
			<url><loc>
				https://site.test/b
			</loc></url></urlset>`,
			FormURLSet,
			[]string{"https://site.test/a 2026-01-02T00:00:00Z 0.8", "https://site.test/b"},
		},
		{
			"index", `<sitemapindex><sitemap><loc>https://site.test/1.xml</loc><lastmod>2026-01-02T03:04:05+02:00</lastmod></sitemap></sitemapindex>`,
			FormIndex,
			[]string{"sitemap https://site.test/1.xml 2026-01-02T01:04:05Z"},
		},
		{
			"prefix", `<sm:urlset xmlns:sm="x"><sm:url><sm:loc>https://site.test/a</sm:loc></sm:url></sm:urlset>`,
			FormURLSet,
			[]string{"https://site.test/a"},
		},
		{
			"images are not pages", `<urlset><url><loc>https://site.test/a</loc><image:image><image:loc>https://site.test/no.png</image:loc></image:image><image:loc>https://site.test/no</image:loc></url></urlset>`,
			FormURLSet,
			[]string{"https://site.test/a"},
		},
		{
			"references", `<urlset><url><loc>https://site.test/?a=1&amp;b=&#50;&#x33;&apos;</loc></url></urlset>`,
			FormURLSet,
			[]string{"https://site.test/?a=1&b=23%27"},
		},
		{
			"bare ampersand and unknown entity", `<urlset><url><loc>https://site.test/?a=1&b=2&lol;</loc></url></urlset>`,
			FormURLSet,
			[]string{"https://site.test/?a=1&b=2&lol;"},
		},
		{
			"cdata", `<urlset><url><loc><![CDATA[https://site.test/?a=1&amp;b=2]]></loc></url></urlset>`,
			FormURLSet,
			[]string{"https://site.test/?a=1&amp;b=2"},
		},
		{
			"comments", `<!-- <a> --><urlset><!-- <url><loc>https://site.test/no</loc></url> --><url><loc>https://site.test/<!-- x > -->a</loc></url></urlset>`,
			FormURLSet,
			[]string{"https://site.test/a"},
		},
		{
			"gt in an attribute", `<urlset a="/>" b='>'><url c=">"><loc>https://site.test/a</loc></url></urlset>`,
			FormURLSet,
			[]string{"https://site.test/a"},
		},
		{
			"no loc, empty loc", `<urlset><url/><url></url><url><loc/></url><url><loc></loc></url><url><loc>https://site.test/a</loc></url></urlset>`,
			FormURLSet,
			[]string{"https://site.test/a"},
		},
		{
			"bad dates and priorities", `<urlset><url><loc>https://site.test/a</loc><lastmod>soon</lastmod><priority>7</priority></url></urlset>`,
			FormURLSet,
			[]string{"https://site.test/a"},
		},
		{
			"http and www are the same site", `<urlset><url><loc>http://site.test/a</loc></url><url><loc>https://www.site.test/b</loc></url></urlset>`,
			FormURLSet,
			[]string{"http://site.test/a", "https://www.site.test/b"},
		},
		{
			"rss", `<rss version="2.0"><channel><title>t</title><link>https://site.test/</link><atom:link href="https://site.test/feed" rel="self"/>
			<item><title>x</title><link>https://site.test/a</link><pubDate>Fri, 02 Jan 2026 03:04:05 GMT</pubDate></item>
			<item><atom:link href="https://site.test/no"/><link>https://site.test/b</link></item></channel></rss>`,
			FormRSS,
			[]string{"https://site.test/a 2026-01-02T03:04:05Z", "https://site.test/b"},
		},
		{
			"rss 1.0", `<rdf:RDF><channel><link>https://site.test/</link></channel><item rdf:about="x"><link>https://site.test/a</link></item></rdf:RDF>`,
			FormRSS,
			[]string{"https://site.test/a"},
		},
		{
			"atom", `<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://site.test/"/><updated>2026-01-01T00:00:00Z</updated>
			<entry><link rel="edit" href="https://site.test/no"/><link rel='alternate' href='https://site.test/a?x=1&amp;y=2'/><updated>2026-01-02T03:04:05.678Z</updated></entry>
			<entry><link href="https://site.test/b"/><link href="https://site.test/second"/></entry></feed>`,
			FormAtom,
			[]string{"https://site.test/a?x=1&y=2 2026-01-02T03:04:05Z", "https://site.test/b"},
		},
		{
			"text", "https://site.test/a\r\n\r\n  https://site.test/b  \nnonsense\nhttps://site.test/c",
			FormText,
			[]string{"https://site.test/a", "https://site.test/b", "https://site.test/c"},
		},
		{"byte order mark", "\xef\xbb\xbf" + urlset + `<url><loc>https://site.test/a</loc></url></urlset>`, FormURLSet, []string{"https://site.test/a"}},
		{
			"latin 1", `<?xml version="1.0" encoding="ISO-8859-1"?><urlset><url><loc>https://site.test/` + "\xe9" + `</loc></url></urlset>`,
			FormURLSet,
			[]string{"https://site.test/%C3%A9"},
		},
		{"utf-16", utf16Text(urlset + `<url><loc>https://site.test/a</loc></url></urlset>`), FormURLSet, []string{"https://site.test/a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, reader := range []struct {
				name string
				r    io.Reader
			}{
				{"whole", strings.NewReader(tt.in)},
				{"byte by byte", iotest.OneByteReader(strings.NewReader(tt.in))},
				{"gzip", bytes.NewReader(gzipped(t, tt.in))},
			} {
				got, s := readSitemap(reader.r, SitemapOptions{})
				if s.Err() != nil {
					t.Fatalf("%s: %v", reader.name, s.Err())
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s: (-want +got):\n%s", reader.name, diff)
				}
				r := s.Report()
				if r.Form != tt.form {
					t.Errorf("%s: form %q, want %q", reader.name, r.Form, tt.form)
				}
				if r.Gzipped != (reader.name == "gzip") {
					t.Errorf("%s: gzipped %v", reader.name, r.Gzipped)
				}
			}
		})
	}
}

func gzipped(t testing.TB, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// utf16Text encodes s in little-endian UTF-16 with a byte order mark.
func utf16Text(s string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

func TestSitemapErrors(t *testing.T) {
	bomb := `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;">]><urlset><url><loc>https://site.test/&lol2;</loc></url></urlset>`
	zipped := gzipped(t, urlset+strings.Repeat("<url><loc>https://site.test/a</loc></url>", 1000))
	tests := []struct {
		name    string
		in      string
		entries int
		want    error
	}{
		{"doctype", bomb, 0, ErrDoctype},
		{"doctype later", `<urlset><url><loc>https://site.test/a</loc></url><!DOCTYPE x><url/></urlset>`, 1, ErrDoctype},
		{"html", `<!-- no --><html><body>404</body></html>`, 0, ErrNotSitemap},
		{"empty", "", 0, ErrNotSitemap},
		{"blank", " \n\t ", 0, ErrNotSitemap},
		{"prose", strings.Repeat("not a sitemap, but a long text\n", 200), 0, ErrNotSitemap},
		{"cut off", urlset + `<url><loc>https://site.test/a</loc></url><url><loc>https://si`, 1, io.ErrUnexpectedEOF},
		{"cut off in a comment", urlset + `<url><loc>https://site.test/a</loc></url><!-- `, 1, io.ErrUnexpectedEOF},
		{"cut off in a tag", urlset + `<url><loc>https://site.test/a</loc></url><url`, 1, io.ErrUnexpectedEOF},
		{"cut off gzip", string(zipped[:len(zipped)/2]), 0, io.ErrUnexpectedEOF},
		{"not gzip", "\x1f\x8b and no more", 0, gzip.ErrHeader},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, s := readSitemap(strings.NewReader(tt.in), SitemapOptions{})
			if !errors.Is(s.Err(), tt.want) {
				t.Errorf("error %v, want %v", s.Err(), tt.want)
			}
			if len(got) < tt.entries {
				t.Errorf("%d entries, want %d", len(got), tt.entries)
			}
		})
	}
	t.Run("reader", func(t *testing.T) {
		broken := errors.New("broken")
		in := io.MultiReader(strings.NewReader(urlset+`<url><loc>https://site.test/a</loc></url>`), iotest.ErrReader(broken))
		got, s := readSitemap(in, SitemapOptions{})
		if !errors.Is(s.Err(), broken) || len(got) != 1 {
			t.Errorf("%d entries and error %v, want 1 and %v", len(got), s.Err(), broken)
		}
	})
	t.Run("reader that wraps the end", func(t *testing.T) {
		cut := fmt.Errorf("connection cut: %w", io.EOF)
		in := io.MultiReader(strings.NewReader("https://site.test/a\n"), iotest.ErrReader(cut))
		if got, s := readSitemap(in, SitemapOptions{}); !errors.Is(s.Err(), cut) || len(got) != 1 {
			t.Errorf("%d entries and error %v, want 1 and %v", len(got), s.Err(), cut)
		}
	})
}

func TestSitemapHosts(t *testing.T) {
	const in = `<urlset><url><loc>https://site.test/a</loc></url><url><loc>https://shop.test/b</loc></url>
		<url><loc>https://site.test:8443/c</loc></url><url><loc>https://sub.site.test/d</loc></url><url><loc>ftp://site.test/e</loc></url></urlset>`
	got, s := readSitemap(strings.NewReader(in), SitemapOptions{})
	if diff := cmp.Diff([]string{"https://site.test/a"}, got); diff != "" {
		t.Errorf("own host (-want +got):\n%s", diff)
	}
	want := SitemapReport{Form: FormURLSet, Entries: 5, Foreign: 3, Bad: map[weburl.Code]int{weburl.BadScheme: 1}}
	if diff := cmp.Diff(want, s.Report()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	got, _ = readSitemap(strings.NewReader(in), SitemapOptions{Named: []weburl.URL{mustParse("http://www.shop.test/")}})
	if diff := cmp.Diff([]string{"https://site.test/a", "https://shop.test/b"}, got); diff != "" {
		t.Errorf("named by shop.test (-want +got):\n%s", diff)
	}
}

// generated writes entries as they are read, without storing them.
type generated struct {
	head, tail string
	before     string // text before the number of an item
	behind     string
	count, i   int
	buf        []byte
}

func (g *generated) Read(p []byte) (int, error) {
	for len(g.buf) == 0 {
		switch {
		case g.i == 0:
			g.buf = append(g.buf[:0], g.head...)
			g.i++
		case g.i <= g.count:
			g.buf = append(g.buf[:0], g.before...)
			g.buf = append(strconv.AppendInt(g.buf, int64(g.i), 10), g.behind...)
			g.i++
		case g.i == g.count+1:
			g.buf = append(g.buf[:0], g.tail...)
			g.i++
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, g.buf)
	g.buf = g.buf[n:]
	return n, nil
}

func TestSitemapBounds(t *testing.T) {
	pages := func(count int) *generated {
		return &generated{head: urlset, tail: "</urlset>", before: "<url><loc>https://site.test/p", behind: "</loc></url>", count: count}
	}
	t.Run("entries", func(t *testing.T) {
		got, s := readSitemap(pages(MaxSitemapURLs+1), SitemapOptions{})
		if r := s.Report(); len(got) != MaxSitemapURLs || r.Cut != BoundLinks || s.Err() != nil {
			t.Errorf("%d entries, cut %q, error %v", len(got), r.Cut, s.Err())
		}
	})
	t.Run("exactly enough entries", func(t *testing.T) {
		got, s := readSitemap(pages(1000), SitemapOptions{MaxURLs: 1000})
		if r := s.Report(); len(got) != 1000 || r.Cut != 0 || s.Err() != nil {
			t.Errorf("%d entries, cut %q, error %v", len(got), r.Cut, s.Err())
		}
	})
	t.Run("bytes", func(t *testing.T) {
		got, s := readSitemap(pages(1000), SitemapOptions{MaxBytes: 4096})
		if r := s.Report(); len(got) == 0 || len(got) > 100 || r.Cut != BoundBytes || s.Err() != nil {
			t.Errorf("%d entries, cut %q, error %v", len(got), r.Cut, s.Err())
		}
	})
	t.Run("gzip bomb", func(t *testing.T) {
		var bomb bytes.Buffer
		w := gzip.NewWriter(&bomb)
		fmt.Fprint(w, urlset)
		for range 16 {
			fmt.Fprint(w, strings.Repeat(" ", 1<<20))
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		_, s := readSitemap(&bomb, SitemapOptions{MaxBytes: 8 << 20})
		if r := s.Report(); r.Cut != BoundBytes || s.Err() != nil {
			t.Errorf("cut %q, error %v", r.Cut, s.Err())
		}
	})
	t.Run("long text, tags and lines", func(t *testing.T) {
		long := strings.Repeat("x", 3*xmlBuffer)
		in := `<urlset a="` + long + `"><url><loc>https://site.test/` + long + `</loc></url><` + long + `/><url><loc>https://site.test/a</loc></url></urlset>`
		got, s := readSitemap(strings.NewReader(in), SitemapOptions{})
		if len(got) != 1 || s.Err() != nil || s.Report().Bad[weburl.TooLong] != 1 {
			t.Errorf("%v, error %v, %+v", got, s.Err(), s.Report())
		}
		got, s = readSitemap(strings.NewReader("https://site.test/"+long+"\nhttps://site.test/a\n"), SitemapOptions{})
		if len(got) != 1 || s.Err() != nil || s.Report().Bad[weburl.TooLong] != 1 {
			t.Errorf("%v, error %v, %+v", got, s.Err(), s.Report())
		}
	})
	t.Run("stopped by the reader of entries", func(t *testing.T) {
		s := NewSitemap(pages(10), sitemapURL, SitemapOptions{})
		n := 0
		for range s.Entries() {
			if n++; n == 3 {
				break
			}
		}
		for range s.Entries() {
			n++
		}
		if n != 10 {
			t.Errorf("%d entries in two loops, want 10", n)
		}
	})
}

// TestSitemapStreams reads an index of a million sitemaps and checks the memory in use.
func TestSitemapStreams(t *testing.T) {
	count := 1_000_000
	if race.Short() {
		count = 100_000
	}
	in := &generated{
		head: "<sitemapindex>", tail: "</sitemapindex>", count: count,
		before: "<sitemap><loc>https://site.test/sitemap-", behind: ".xml.gz</loc><lastmod>2026-01-02</lastmod></sitemap>\n",
	}
	s := NewSitemap(in, sitemapURL, SitemapOptions{MaxURLs: count, MaxBytes: 1 << 30})
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n := 0
	for range s.Entries() {
		if n++; n%(count/4) == 0 {
			runtime.GC()
			runtime.ReadMemStats(&during)
			if grown := int64(during.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
				t.Fatalf("%d bytes more in use after %d entries", grown, n)
			}
		}
	}
	if n != count || s.Err() != nil || s.Report().Cut != 0 {
		t.Errorf("%d entries, error %v, report %+v", n, s.Err(), s.Report())
	}
}

// benchmarkSitemap is a file of 10,000 pages.
func benchmarkSitemap(b *testing.B, read func(in []byte) int) {
	var in bytes.Buffer
	in.WriteString(urlset)
	for i := range 10_000 {
		fmt.Fprintf(&in, "<url><loc>https://site.test/s%d/p%d.html?a=1&amp;b=2</loc><lastmod>2026-01-02</lastmod></url>\n", i%17, i)
	}
	in.WriteString("</urlset>")
	b.SetBytes(int64(in.Len()))
	b.ReportAllocs()
	start := cpuTime()
	for b.Loop() {
		if n := read(in.Bytes()); n != 10_000 {
			b.Fatalf("%d entries", n)
		}
	}
	b.ReportMetric(float64((cpuTime()-start).Nanoseconds())/float64(b.N)/10_000, "cpu-ns/entry")
}

func BenchmarkSitemap(b *testing.B) {
	benchmarkSitemap(b, func(in []byte) int {
		n := 0
		s := NewSitemap(bytes.NewReader(in), sitemapURL, SitemapOptions{})
		for range s.Entries() {
			n++
		}
		return n
	})
}

// BenchmarkSitemapEncodingXML is the same with the standard library.
func BenchmarkSitemapEncodingXML(b *testing.B) {
	benchmarkSitemap(b, func(in []byte) int {
		n := 0
		d := xml.NewDecoder(bytes.NewReader(in))
		for {
			token, err := d.Token()
			if err != nil {
				return n
			}
			if start, ok := token.(xml.StartElement); ok && start.Name.Local == "url" {
				var item struct {
					Loc     string `xml:"loc"`
					LastMod string `xml:"lastmod"`
				}
				if err := d.DecodeElement(&item, &start); err != nil {
					b.Fatal(err)
				}
				if _, err := weburl.Parse(item.Loc); err == nil {
					n++
				}
			}
		}
	})
}

func FuzzSitemap(f *testing.F) {
	f.Add([]byte(urlset + `<url><loc>https://site.test/a?x&amp;y</loc><lastmod>2026-01-02</lastmod></url></urlset>`))
	f.Add([]byte(`<rss><channel><item><link><![CDATA[https://site.test/a]]></link></item></channel></rss>`))
	f.Add([]byte(`<feed><entry><link href="https://site.test/a"/><updated>2026</updated></entry></feed>`))
	f.Add([]byte("https://site.test/a\nhttps://site.test/b"))
	f.Add([]byte(`<!DOCTYPE x [<!ENTITY a "b">]><urlset>&a;</urlset>`))
	f.Add(gzipped(f, urlset+`<url><loc>https://site.test/a</loc></url></urlset>`))
	f.Add([]byte(utf16Text(urlset + `<url><loc>https://site.test/a</loc></url></urlset>`)))
	f.Fuzz(func(t *testing.T, in []byte) {
		o := SitemapOptions{MaxURLs: 100, MaxBytes: 1 << 20}
		whole, s := readSitemap(bytes.NewReader(in), o)
		if _, panicked := errors.AsType[*PanicError](s.Err()); panicked {
			t.Fatal(s.Err())
		}
		if r := s.Report(); r.Entries > o.MaxURLs || len(whole)+r.Foreign > r.Entries {
			t.Fatalf("%d entries of %+v", len(whole), r)
		}
		pieces, p := readSitemap(iotest.OneByteReader(bytes.NewReader(in)), o)
		if diff := cmp.Diff(whole, pieces); diff != "" || (s.Err() == nil) != (p.Err() == nil) {
			t.Fatalf("whole and byte by byte differ: %v %v\n%s", s.Err(), p.Err(), diff)
		}
	})
}
