package parse

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"headway/internal/race"
	"headway/weburl"
)

func TestFacts(t *testing.T) {
	p, err := Read(Answer{
		URL:    pageURL,
		Status: http.StatusOK,
		Header: http.Header{
			"Content-Type": {"text/html; charset=utf-8"},
			"Link":         {`</other>; rel=canonical, </p2>; rel="next"`, `</style.css>; rel=preload; as=style`},
			"Refresh":      {"3; url=/later"},
		},
		Body: []byte(`<!DOCTYPE html><html lang="en-GB"><head><title> A  page </title>
<meta name="Description" content="what &amp; why">
<meta name="description" content="second">
<meta name=robots content="noindex, NOFOLLOW">
<meta name=TDM-Reservation content=" 1 "><meta name=tdm-reservation content=0>
<meta name="HeadwayBot" content="max-snippet:10">
<meta name=googlebot content="nosnippet">
<link rel=canonical href="/canonical?x=1">
<link rel=alternate hreflang="de" href="/de/">
<link rel="alternate" hreflang="x-default" href="/">
</head><body><p>One <b>two</b></p><a href="/a">three</a><a href="mailto:x@y.test">mail</a><a href="http://[bad/">bad</a></body></html>`),
	}, Options{Agent: "headwaybot"})
	if err != nil {
		t.Fatal(err)
	}
	want := Page{
		Type: TypeHTML, Charset: Charset{"utf-8", FromHeader},
		Base:  pageURL,
		Title: "A page", Description: "what & why", Lang: "en-GB",
		Canonical: mustParse("http://site.test/canonical?x=1"),
		Alternates: []Alternate{
			{"de", mustParse("http://site.test/de/")},
			{"x-default", mustParse("http://site.test/")},
		},
		Robots: []Directive{{"robots", "noindex, NOFOLLOW"}, {"headwaybot", "max-snippet:10"}},
		TDM:    "1",
		Bad:    map[weburl.Code]int{weburl.BadScheme: 1, weburl.BadHost: 1},
		Links: []Link{
			{mustParse("http://site.test/canonical?x=1"), RelCanonical, Element},
			{mustParse("http://site.test/de/"), RelAlternate, Element},
			{mustParse("http://site.test/"), RelAlternate, Element},
			{mustParse("http://site.test/a"), 0, Anchor},
			{mustParse("http://site.test/other"), RelCanonical, Field},
			{mustParse("http://site.test/p2"), RelNext, Field},
			{mustParse("http://site.test/later"), 0, Refresh},
		},
		Words: 5,
	}
	want.Digest, want.SimHash = p.Digest, p.SimHash // tested separately
	if diff := cmp.Diff(want, p, cmp.Comparer(func(a, b weburl.URL) bool { return a == b })); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHeaderOfOtherTypes(t *testing.T) {
	p, err := Read(Answer{
		URL:    pageURL,
		Status: http.StatusOK,
		Header: http.Header{"Content-Type": {"application/pdf"}, "Link": {`</paper.html>; rel=canonical`}},
		Body:   []byte("%PDF-1.7 <a href=/no>"),
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"header canonical http://site.test/paper.html"}, lines(p.Links)); diff != "" || p.Type != TypeOther {
		t.Errorf("type %q (-want +got):\n%s", p.Type, diff)
	}
}

func TestResources(t *testing.T) {
	const src = `<link rel=stylesheet href=/s.css><link rel=icon href=/i.ico><link rel=preconnect href=//cdn.test>
<link rel=next href=/2><img src=/a.png srcset="/a2.png 2x, /a3.png 3x"><picture><source srcset="/b.webp 1x"></picture><script src=/no.js></script>`
	got := lines(readHTML(t, src, Options{Resources: true}).Links)
	want := []string{
		"link stylesheet http://site.test/s.css", "link icon http://site.test/i.ico", "link next http://site.test/2",
		"image http://site.test/a.png", "image http://site.test/a2.png", "image http://site.test/a3.png",
		"image http://site.test/b.webp",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("with resources (-want +got):\n%s", diff)
	}
	if got := lines(readHTML(t, src, Options{}).Links); len(got) != 1 {
		t.Errorf("without resources: %v", got)
	}
}

func TestBounds(t *testing.T) {
	tests := []struct {
		name  string
		src   string
		links int
		cut   Bounds
	}{
		{"links", strings.Repeat(`<a href="/x">`, MaxLinks+1), MaxLinks, BoundLinks},
		{"exactly enough links", strings.Repeat(`<a href="/x">`, MaxLinks), MaxLinks, 0},
		{"bad references", strings.Repeat(`<a href="x:y">`, MaxReferences+1), 0, BoundLinks},
		{"srcset", `<img srcset="` + strings.Repeat("/x 1x,", MaxReferences+1) + `">`, MaxLinks, BoundLinks},
		{"title", "<title>" + strings.Repeat("t", MaxTitle+1) + "</title>", 0, BoundFacts},
		{"title of spaces", "<title>t" + strings.Repeat(" ", 100*MaxTitle) + "</title>", 0, BoundFacts},
		{"description", `<meta name=description content="` + strings.Repeat("é", MaxDescription) + `">`, 0, BoundFacts},
		{"directives", strings.Repeat(`<meta name=robots content=none>`, MaxDirectives+1), 0, BoundFacts},
		{"alternates", strings.Repeat(`<link rel=alternate hreflang=de href=/de>`, MaxAlternates+1), MaxAlternates + 1, BoundAlternates},
		{"bytes", `<a href=/x>` + strings.Repeat(" ", MaxBytes), 1, BoundBytes},
		{"depth", strings.Repeat("<div>", 200_000) + `<a href=/x>`, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := readHTML(t, tt.src, Options{Resources: true})
			if len(p.Links) != tt.links || p.Cut != tt.cut {
				t.Errorf("%d links, cut %q; want %d, %q", len(p.Links), p.Cut, tt.links, tt.cut)
			}
			checkBounds(t, p)
		})
	}
}

// checkBounds fails if anything in p is larger than allowed or not clean.
func checkBounds(t *testing.T, p Page) {
	t.Helper()
	if len(p.Links) > MaxLinks || len(p.Alternates) > MaxAlternates || len(p.Robots) > MaxDirectives {
		t.Errorf("%d links, %d alternates, %d directives", len(p.Links), len(p.Alternates), len(p.Robots))
	}
	texts := map[string]int{p.Title: MaxTitle, p.Description: MaxDescription, p.Lang: maxLanguage}
	for _, a := range p.Alternates {
		texts[a.Lang] = maxLanguage
	}
	for _, d := range p.Robots {
		texts[d.Content] = maxDirective
	}
	for text, bound := range texts {
		// Invalid bytes become three, after the cut.
		if len(text) > 3*bound || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("text %q, bound %d", text, bound)
		}
	}
	for _, l := range p.Links {
		if l.URL.IsZero() || l.Kind.String() == "" {
			t.Errorf("link %+v", l)
		}
	}
}

func TestNothingPointsIntoTheBody(t *testing.T) {
	body := []byte(`<html lang=en><title>Title</title><meta name=description content=words><meta name=robots content=none>
<link rel=alternate hreflang=de href=http://site.test/de><a href="http://site.test/x">x</a>`)
	p, err := Read(Answer{URL: pageURL, Header: http.Header{"Content-Type": {"text/html"}}, Body: body}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := fmt.Sprintf("%+v", p)
	for i := range body {
		body[i] = '!'
	}
	if after := fmt.Sprintf("%+v", p); before != after {
		t.Errorf("changed with the body:\n%s\n%s", before, after)
	}
}

func TestPanicIsContained(t *testing.T) {
	read := func() (p Page, err error) {
		defer contain(pageURL, &err)
		panic("a defect")
	}
	_, err := read()
	e, ok := errors.AsType[*PanicError](err)
	if !ok || e.Value != "a defect" || e.URL != pageURL || len(e.Stack) == 0 {
		t.Errorf("error %v", err)
	}
	if want := "parse http://site.test/dir/page.html: panic: a defect"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestReadConcurrently(t *testing.T) {
	rows := oddRows(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, row := range rows {
				p, err := Read(Answer{URL: pageURL, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []byte(row.HTML)}, Options{})
				if err != nil {
					t.Error(err)
				} else if diff := cmp.Diff(row.Links, lines(p.Links)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", row.Name, diff)
				}
			}
		})
	}
	wg.Wait()
}

// TestTimeIsLinear reads inputs designed to be slow, at one and at eight times a length.
// It measures CPU time and is generous: a quadratic step would take 64 times as long.
func TestTimeIsLinear(t *testing.T) {
	if cpuTime() == 0 {
		t.Skip("processor time is not known on this system")
	}
	if race.Short() {
		t.Skip("measures CPU time, which the race detector multiplies; make plain runs it")
	}
	pieces := []string{
		"<", "<!--", "<!", "</", "<a ", "<a href=", "<a href=\"", "<script>", "<script><!--", "<script><!--<script>", "<title>",
		"&", "&#", "&CounterClockwiseContourIntegra", "<a href=&amp", "<a x=y ", "<svg>", "<a href=x:y>", "- ", "<!-->", "\x00", "</script",
		"<base href=../>", "<a href=../>", "<meta http-equiv=refresh content=", "<img srcset=',,,(", "\u00a0", "x",
		"<a href=http://xn--a.test>", "<a href='//ü.test/é?ü'>", "&bogus;", "&aelig ", "<a href='?&eacut'>",
	}
	const length = 64 << 10
	for _, piece := range pieces {
		for _, prefix := range []string{"", "<script>", "<title>", "<textarea><!--"} {
			measure := func(n int) float64 {
				src := prefix + strings.Repeat(piece, n/len(piece))
				start := cpuTime()
				readHTML(t, src, Options{Resources: true})
				return (cpuTime() - start).Seconds()
			}
			measure(length) // warm up
			small := max(measure(length), measure(length), 0.001)
			if large := min(measure(8*length), measure(8*length)); large > 32*small {
				t.Errorf("%q after %q: %.1f ms for 64 KiB, %.1f ms for 512 KiB", piece, prefix, 1e3*small, 1e3*large)
			}
		}
	}
}

// FuzzHTML reads any input as a page with any header and checks the guarantees for every
// page; FuzzTokenizer compares the events.
func FuzzHTML(f *testing.F) {
	for _, row := range oddRows(f) {
		f.Add([]byte(row.HTML), "text/html; charset=utf-8")
	}
	f.Add([]byte("<meta charset=shift_jis><a href='?q=\x83\x5c'>"), "text/html")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		a := Answer{URL: pageURL, Status: http.StatusOK, Header: http.Header{"Content-Type": {contentType}}, Body: body}
		before := string(body)
		p, err := Read(a, Options{Resources: true, Agent: "headway"})
		if err != nil {
			t.Fatal(err)
		}
		if string(body) != before {
			t.Fatal("the body was changed")
		}
		checkBounds(t, p)
		if again, err := Read(a, Options{Resources: true, Agent: "headway"}); err != nil || fmt.Sprint(again) != fmt.Sprint(p) {
			t.Fatalf("read twice, two pages:\n%+v\n%+v", p, again)
		}
		if p.Type == TypeHTML && p.Charset.Name == utf8Name {
			compareEvents(t, body)
			comparePage(t, body)
		}
	})
}
