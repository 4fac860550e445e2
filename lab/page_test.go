package lab

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"testing"
)

// TestGzipEqualsPlain checks that joined deflate blocks give the same page.
func TestGzipEqualsPlain(t *testing.T) {
	l := mustNew(t, Config{Seed: 1, Hosts: Uniform(1, Plain())})
	var plain, packed body
	for n := range 60 {
		plain.reset(false)
		l.web.renderPage(&plain, &l.web.hosts[0], n, 0)
		packed.reset(true)
		l.web.renderPage(&packed, &l.web.hosts[0], n, 0)
		zr, err := gzip.NewReader(bytes.NewReader(packed.finish()))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(zr)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, plain.finish()) {
			t.Fatalf("page %d differs", n)
		}
		if kb := len(text) >> 10; kb < 7 || kb > 66 {
			t.Fatalf("page %d has %d KB", n, kb)
		}
	}
}

// TestBytesNeverChange compares the pages with recorded digests: measurements over
// different bytes are not comparable.
func TestBytesNeverChange(t *testing.T) {
	site := DefaultSite()
	site.Pages, site.Orphans, site.QueryLinks, site.RedirectRate = 90, 7, 4, 0.3
	site.Faults, site.Traps = true, Calendar
	for _, test := range []struct {
		name  string
		seed  uint64
		hosts int
		site  Site
		want  string
	}{
		{"default site", 1, 3, Site{Pages: 120, MinKB: 10, MaxKB: 60, Links: 60, CrossLinks: 6, PrivateLinks: 2, NofollowLinks: 2, Robots: "rules", Sitemap: "parts", Gzip: true, ChangeRate: 0.1}, "3f9791a3f97875b8a9ac04bf549e03f87031c424b751819965aefc84baa91bd7"},
		{"every kind of link", 42, 4, site, "8c8852f76bfea0c3bcc92adff31e219b4a6aed5fe8b40e2f54722440fe27bd77"},
	} {
		t.Run(test.name, func(t *testing.T) {
			temper := Temper{Site: test.site}
			l := mustNew(t, Config{Seed: test.seed, PublicPort: 8800, Hosts: Uniform(test.hosts, temper)})
			sum := sha256.New()
			for i := range l.web.hosts {
				base := l.web.hosts[i].base
				paths := append([]string{"/robots.txt", "/sitemap.xml", "/sitemap-0.xml", "/orphan/o3.html", "/private/x", "/calendar/2026/12", "/nf/x"}, l.web.paths...)
				for _, path := range paths {
					w := ask(l, base+path)
					fmt.Fprintln(sum, path, w.Code, w.Body.Len())
					sum.Write(w.Body.Bytes())
				}
			}
			if got := hex.EncodeToString(sum.Sum(nil)); got != test.want {
				t.Errorf("the bytes of the lab have changed: digest %s", got)
			}
		})
	}
}
