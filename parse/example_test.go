package parse_test

import (
	"fmt"
	"net/http"
	"strings"

	"headway/parse"
	"headway/weburl"
)

func ExampleRead() {
	u, err := weburl.Parse("https://example.com/docs/")
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := parse.Read(parse.Answer{
		URL:    u,
		Status: http.StatusOK,
		Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
		Body: []byte(`<html lang=en><title>Docs</title>
			<link rel=canonical href="/docs/">
			<meta name=robots content="noarchive">
			<p>See the <a href="guide.html#start">guide</a> or <a rel="nofollow" href="//forum.example/">ask</a>
			<p><a href="mailto:docs@example.com">Write to us</a>`),
	}, parse.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page.Title, page.Lang, page.Robots, page.Words, "words")
	for _, l := range page.Links {
		fmt.Printf("%s %s [%s]\n", l.Kind, l.URL, l.Rel)
	}
	fmt.Println("bad:", page.Bad)
	// Output:
	// Docs en [{robots noarchive}] 8 words
	// link https://example.com/docs/ [canonical]
	// a https://example.com/docs/guide.html []
	// a https://forum.example/ [nofollow]
	// bad: map[bad_scheme:1]
}

func ExampleRead_challenge() {
	page, err := parse.Read(parse.Answer{
		Status: http.StatusForbidden,
		Header: http.Header{"Content-Type": {"text/html"}, "Cf-Mitigated": {"challenge"}},
		Body:   []byte("<title>Just a moment...</title>"),
	}, parse.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("blocked by %s (%s)\n", page.Challenge.Vendor, page.Challenge.Marker)
	// Output: blocked by cloudflare (header Cf-Mitigated: challenge)
}

func ExampleNewSitemap() {
	at, err := weburl.Parse("https://example.com/sitemap.xml")
	if err != nil {
		fmt.Println(err)
		return
	}
	const body = `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
		<url><loc>https://example.com/a</loc><lastmod>2026-01-02</lastmod><priority>0.8</priority></url>
		<url><loc>https://elsewhere.example/</loc></url>
	</urlset>`
	s := parse.NewSitemap(strings.NewReader(body), at, parse.SitemapOptions{})
	for e := range s.Entries() {
		fmt.Println(e.URL, e.LastMod.Format("2 January 2006"), e.Priority)
	}
	if s.Err() != nil {
		fmt.Println(s.Err())
	}
	fmt.Println(s.Report().Form, s.Report().Entries, "entries,", s.Report().Foreign, "of another host")
	// Output:
	// https://example.com/a 2 January 2026 0.8
	// urlset 2 entries, 1 of another host
}

func ExampleSimHash_Distance() {
	read := func(text string) parse.SimHash {
		page, err := parse.Read(parse.Answer{Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte(text)}, parse.Options{})
		if err != nil {
			fmt.Println(err)
		}
		return page.SimHash
	}
	a := read("<p>" + strings.Repeat("the same text again and again ", 20) + "at nine")
	b := read("<div>" + strings.Repeat("the same text again and again ", 20) + "at ten")
	c := read("<p>something else altogether, of other words in another order")
	fmt.Println(a.Distance(b) < 8, a.Distance(c) > 16)
	// Output: true true
}
