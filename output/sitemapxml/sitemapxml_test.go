package sitemapxml

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/internal/race"
	"headway/output"
	"headway/output/outputtest"
	"headway/parse"
	"headway/visit"
	"headway/weburl"
)

var format = func() outputtest.Format {
	f := outputtest.Drafts(New, readRows)
	f.Keeps = Belongs
	return f
}()

func TestConformance(t *testing.T) { outputtest.Run(t, format) }

// TestConformanceSplit is the same with many small files.
func TestConformanceSplit(t *testing.T) {
	defer func(urls int, bytes int64) { maxURLs, maxBytes = urls, bytes }(maxURLs, maxBytes)
	maxURLs, maxBytes = 7, 600
	outputtest.Run(t, format)
}

func TestKill(t *testing.T) { outputtest.Kill(t, format) }

// readRows reads all sitemaps with two readers that must agree: the crawler's own, and the
// standard library's under the rules of the protocol.
func readRows(dir string) ([]outputtest.Row, error) {
	hosts, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var rows []outputtest.Row
	for _, h := range hosts {
		urls, err := readSite(filepath.Join(dir, h.Name()))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.Name(), err)
		}
		for _, u := range urls {
			rows = append(rows, outputtest.Row{URL: u, Ending: output.Ending{Outcome: visit.Fetched}})
		}
	}
	return rows, nil
}

func readSite(folder string) ([]string, error) {
	index, err := os.ReadFile(filepath.Join(folder, indexName))
	if err != nil {
		return nil, err
	}
	locs, err := validate(index, "sitemapindex", "sitemap")
	if err != nil {
		return nil, err
	}
	var urls []string
	for _, loc := range locs {
		at, err := weburl.Parse(loc)
		if err != nil {
			return nil, err
		}
		packed, err := os.ReadFile(filepath.Join(folder, filepath.Base(at.Path())))
		if err != nil {
			return nil, err
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(z)
		if err != nil {
			return nil, err
		}
		if int64(len(text)) > maxBytes {
			return nil, fmt.Errorf("%s has %d bytes", loc, len(text))
		}
		strict, err := validate(text, "urlset", "url")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", loc, err)
		}
		if len(strict) == 0 || len(strict) > maxURLs {
			return nil, fmt.Errorf("%s has %d URLs", loc, len(strict))
		}
		ours, err := read(packed, at)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(strict, ours) {
			return nil, fmt.Errorf("%s: the readers disagree:\n%q\n%q", loc, strict, ours)
		}
		urls = append(urls, ours...)
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	if len(files) != len(locs)+1 {
		return nil, fmt.Errorf("%d files, %d in the index", len(files), len(locs))
	}
	return urls, nil
}

// read reads a sitemap as a crawl would.
func read(packed []byte, at weburl.URL) ([]string, error) {
	s := parse.NewSitemap(bytes.NewReader(packed), at, parse.SitemapOptions{})
	var urls []string
	for e := range s.Entries() {
		urls = append(urls, e.URL.String())
	}
	if r := s.Report(); r.Foreign > 0 || len(r.Bad) > 0 || r.Form != parse.FormURLSet || !r.Gzipped {
		return nil, fmt.Errorf("read as %+v", r)
	}
	return urls, s.Err()
}

var w3cTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)

// validate checks a file against the protocol's schema: one root of its namespace, entries of
// loc and optionally lastmod, and nothing else. It returns the URLs.
func validate(text []byte, root, entry string) ([]string, error) {
	const space = "http://www.sitemaps.org/schemas/sitemap/0.9"
	d := xml.NewDecoder(bytes.NewReader(text))
	var path []string
	var locs []string
	last := ""
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			if tok.Name.Space != space {
				return nil, fmt.Errorf("%s is of %q", tok.Name.Local, tok.Name.Space)
			}
			path = append(path, tok.Name.Local)
			switch at := strings.Join(path, "/"); {
			case at == root:
			case at == root+"/"+entry:
				last = ""
			case at == root+"/"+entry+"/loc" && last == "", at == root+"/"+entry+"/lastmod" && last == "loc":
				last = tok.Name.Local
			default:
				return nil, fmt.Errorf("%s after %q", at, last)
			}
		case xml.EndElement:
			if tok.Name.Local == entry && last == "" {
				return nil, errors.New("an entry without loc")
			}
			path = path[:len(path)-1]
		case xml.CharData:
			value := string(tok)
			switch {
			case len(path) == 3 && last == "loc":
				if len(value) > maxURL || strings.TrimSpace(value) != value {
					return nil, fmt.Errorf("loc is %q", value)
				}
				locs = append(locs, value)
			case len(path) == 3 && !w3cTime.MatchString(value):
				return nil, fmt.Errorf("lastmod is %q", value)
			case len(path) < 3 && strings.TrimSpace(value) != "":
				return nil, fmt.Errorf("text %q", value)
			}
		}
	}
	return locs, nil
}

func page(t testing.TB, raw string) *visit.Visit {
	return &visit.Visit{
		Item: visit.Item{URL: outputtest.URL(t, raw)}, Outcome: visit.Fetched,
		Answer: visit.Answer{Status: 200, ContentType: "text/html; charset=utf-8"},
	}
}

// TestBelongs lists what does not belong in a sitemap.
func TestBelongs(t *testing.T) {
	unchanged := func(v *visit.Visit) { v.Outcome, v.Answer.Status = visit.NotModified, 304 }
	for name, tc := range map[string]struct {
		change func(*visit.Visit)
		want   bool
	}{
		"a page":                    {func(*visit.Visit) {}, true},
		"its own canonical":         {func(v *visit.Visit) { v.Page.Canonical = v.Item.URL }, true},
		"another canonical":         {func(v *visit.Visit) { v.Page.Canonical = outputtest.URL(t, "https://example.com/b") }, false},
		"noindex":                   {func(v *visit.Visit) { v.Page.Robots = []string{"nofollow", "noindex"} }, false},
		"none":                      {func(v *visit.Visit) { v.Page.Robots = []string{"NONE"} }, false},
		"nofollow":                  {func(v *visit.Visit) { v.Page.Robots = []string{"nofollow"} }, true},
		"not modified":              {unchanged, true},
		"not modified, noindex":     {func(v *visit.Visit) { unchanged(v); v.Page.Robots = []string{"noindex"} }, false},
		"not modified, an image":    {func(v *visit.Visit) { unchanged(v); v.Answer.ContentType = "image/png" }, false},
		"not modified, not known":   {func(v *visit.Visit) { unchanged(v); v.Answer.ContentType = "" }, false},
		"no content":                {func(v *visit.Visit) { v.Answer.Status = 204 }, false},
		"dead":                      {func(v *visit.Visit) { v.Outcome, v.Answer.Status = visit.Dead, 404 }, false},
		"an image":                  {func(v *visit.Visit) { v.Answer.ContentType = "image/png" }, false},
		"a document for reading":    {func(v *visit.Visit) { v.Answer.ContentType = "Application/PDF" }, true},
		"no type":                   {func(v *visit.Visit) { v.Answer.ContentType = "" }, false},
		"an address that is so big": {func(v *visit.Visit) { v.Item.URL = outputtest.URL(t, "https://example.com/"+strings.Repeat("x", 2030)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := page(t, "https://example.com/a")
			tc.change(v)
			if got := Belongs(v); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestLastModUnchanged: an unchanged page keeps the lastmod of the earlier crawl.
func TestLastModUnchanged(t *testing.T) {
	v := page(t, "https://example.com/a")
	v.Outcome, v.Answer.Status = visit.NotModified, 304
	v.Item.Validators.LastModified = "Sat, 14 Nov 2026 09:08:07 GMT"
	if at, ok := lastMod(v); !ok || at.Format(time.RFC3339) != "2026-11-14T09:08:07Z" {
		t.Errorf("%v, %v", at, ok)
	}
}

func TestLastMod(t *testing.T) {
	sent := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct{ in, want string }{
		"known":          {"Sat, 14 Nov 2026 09:08:07 GMT", "2026-11-14T09:08:07Z"},
		"not said":       {"", ""},
		"not readable":   {"yesterday", ""},
		"in the future":  {"Mon, 16 Nov 2026 10:00:00 GMT", ""},
		"before the web": {"Mon, 01 Jan 0001 00:00:00 GMT", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := page(t, "https://example.com/a")
			v.Timing.Sent, v.Answer.Validators.LastModified = sent, tc.in
			at, ok := lastMod(v)
			if got := at.Format(time.RFC3339); ok != (tc.want != "") || ok && got != tc.want {
				t.Errorf("got %s, %v", got, ok)
			}
		})
	}
}

// TestHosts writes pages of many hosts in turn: each has its own sitemap, and URLs are
// escaped.
func TestHosts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sitemaps")
	var l outputtest.Ledger
	want := map[string]int{}
	for n := range 600 {
		host := fmt.Sprintf("http://h%d.example:8080", n%(3*maxOpen))
		if n%(3*maxOpen) == 0 {
			host = "https://example.com"
		}
		v := page(t, fmt.Sprintf(`%s/%d?a=1&b='x'"`, host, n))
		v.Answer.Validators.LastModified = "Sat, 14 Nov 2026 09:08:07 GMT"
		l = append(l, v)
		want[folderName(host)]++
	}
	d := New(dir)
	if err := output.NewAtEnd(false, d).Finish(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	for folder, n := range want {
		urls, err := readSite(filepath.Join(dir, folder))
		if err != nil || len(urls) != n {
			t.Errorf("%s has %d URLs, want %d, %v", folder, len(urls), n, err)
		}
	}
	if n := d.LeftOut(); n != 0 {
		t.Errorf("%d left out", n)
	}
	text, err := os.ReadFile(filepath.Join(dir, "example.com", indexName))
	if err != nil || !strings.Contains(string(text), "<loc>https://example.com/sitemap-1.xml.gz</loc>") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestLimit splits files at the protocol's limits.
func TestLimit(t *testing.T) {
	if race.Short() {
		t.Skip("writes 50,001 URLs")
	}
	dir := filepath.Join(t.TempDir(), "sitemaps")
	d := New(dir)
	if err := d.Begin(); err != nil {
		t.Fatal(err)
	}
	v := page(t, "https://example.com/")
	for range 50_001 {
		if err := d.Add(v); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Publish(); err != nil {
		t.Fatal(err)
	}
	urls, err := readSite(filepath.Join(dir, "example.com"))
	if err != nil || len(urls) != 50_001 {
		t.Errorf("%d URLs, %v", len(urls), err)
	}
	files, err := os.ReadDir(filepath.Join(dir, "example.com"))
	if err != nil || len(files) != 3 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestMaxSites checks that hosts over the limit are left out.
func TestMaxSites(t *testing.T) {
	d := New(filepath.Join(t.TempDir(), "sitemaps"))
	if err := d.Begin(); err != nil {
		t.Fatal(err)
	}
	defer d.Drop()
	for n := range MaxSites + 5 {
		if err := d.Add(page(t, fmt.Sprintf("https://h%d.example/", n))); err != nil {
			t.Fatal(err)
		}
	}
	if d.LeftOut() != 5 || len(d.open) != maxOpen {
		t.Errorf("%d left out, %d open", d.LeftOut(), len(d.open))
	}
}
