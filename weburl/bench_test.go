package weburl

import (
	"testing"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// typical are links as found in pages: mostly clean and absolute, some with queries,
// fragments, escapes, spaces or capitals.
var typical = []string{
	"https://www.example.com/",
	"https://www.example.com/about",
	"https://www.example.com/products/shoes/running?color=blue&size=42",
	"https://www.example.com/blog/2026/11/how-we-made-the-crawler-faster.html",
	"https://www.example.com/category/news/page/17/",
	"https://www.example.com/index.php?option=com_content&view=article&id=118&Itemid=435",
	"https://www.example.com/search?q=polite+web+crawler&page=3&sort=date",
	"https://www.example.com/docs/guide/getting-started#installation",
	"https://www.example.com/assets/css/main.3f9c1b.css",
	"https://cdn.example.net/images/2026/11/header-large@2x.webp",
	"https://en.example.org/wiki/Uniform_Resource_Locator",
	"https://en.example.org/wiki/Caf%C3%A9",
	"https://en.example.org/w/index.php?title=Special:RecentChanges&limit=50",
	"http://example.org/",
	"http://example.org",
	"https://shop.example.co.uk/p/12345-blue-widget",
	"https://shop.example.co.uk/p/12345-blue-widget?utm_source=newsletter&utm_medium=email&utm_campaign=autumn",
	"https://forum.example.com/viewtopic.php?f=12&t=45012&start=20",
	"https://news.example.com/item?id=41987654",
	"https://github.example.com/owner/repo/blob/main/pkg/server/server.go#L120-L140",
	"https://github.example.com/owner/repo/issues?q=is%3Aissue+is%3Aopen",
	"https://maps.example.com/maps/place/Berlin/@52.5069704,13.2846501,11z",
	"https://video.example.com/watch?v=dQw4w9WgXcQ&list=PL1234567890",
	"https://social.example.com/@headway/1122334455",
	"https://www.example.de/stra%C3%9Fen/n%C3%BCrnberg",
	"https://www.example.fr/actualit\u00e9s/\u00e9t\u00e9",
	"https://www.example.jp/\u30cb\u30e5\u30fc\u30b9/2026",
	"https://www.example.com/feed/",
	"https://www.example.com/feed.xml",
	"https://www.example.com/sitemap.xml",
	"https://www.example.com/tag/go,http,crawler",
	"https://www.example.com/a/b/c/d/e/f/g/h/i/j.html",
	"https://user-content.example.io/u/1/avatar.png?s=64&v=4",
	"https://api.example.com:8443/v1/jobs/01J8ZQ/pages?limit=100",
	"http://localhost:8080/page/00042.html",
	"http://127.0.0.1:9000/host/17/page/9",
	"https://static.example.com/js/app.min.js?ver=6.4.2",
	"https://www.example.com/wp-content/uploads/2026/11/brochure%20final.pdf",
	"https://www.example.com/files/annual report.pdf",
	"https://www.example.com/~user/index.html",
	"https://www.example.com/%7Euser/index.html",
	"https://www.example.com/a/../b/./c.html",
	"https://WWW.Example.COM/Path",
	"https://www.example.com:443/secure",
	"https://www.example.com/cart?item[]=1&item[]=2",
	"https://www.example.com/r?to=https%3A%2F%2Fother.example%2Fpath",
	"https://www.example.com/login?next=/account/settings",
	"https://events.example.com/calendar/2026-11-15",
	"https://www.example.com/en-gb/help/article/360001234567-refunds",
	"https://www.example.com/?p=1234",
}

// relative are relative links as found in pages, with base relativeBase.
var relative = []string{
	"/",
	"/about",
	"/products/shoes/running?color=blue&size=42",
	"next.html",
	"../guide/index.html",
	"./page-2",
	"?page=3",
	"#top",
	"/docs/reference/api#fetch",
	"img/photo-2026-11-15.jpg",
	"//cdn.example.net/lib/jquery.min.js",
	"https://www.example.com/docs/other",
	"https://www.example.org/partner/page?id=7",
	"/search?q=caf%C3%A9&page=2",
	"/wiki/Main_Page",
	"/files/annual report.pdf",
}

const relativeBase = "https://www.example.com/docs/guide/page?x=1"

var (
	sinkURL URL
	sinkErr error
)

func BenchmarkParseTypical(b *testing.B) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		sinkURL, sinkErr = Parse(typical[i%len(typical)])
	}
}

func BenchmarkWhatwgTypical(b *testing.B) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		_, sinkErr = whatwg.Parse(typical[i%len(typical)])
	}
}

func BenchmarkParseCanonical(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sinkURL, sinkErr = Parse("https://www.example.com/products/shoes/running?color=blue&size=42")
	}
}

func BenchmarkReadTypical(b *testing.B) {
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		sinkURL, sinkErr = read(typical[i%len(typical)], URL{}, nil)
	}
}

func BenchmarkResolveTypical(b *testing.B) {
	base, err := Parse(relativeBase)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		sinkURL, sinkErr = base.Resolve(relative[i%len(relative)])
	}
}

func BenchmarkResolveRelative(b *testing.B) {
	base, err := Parse(relativeBase)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		sinkURL, sinkErr = base.Resolve("/products/shoes/running?color=blue&size=42")
	}
}

func BenchmarkRefuseScheme(b *testing.B) {
	base, err := Parse(relativeBase)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		sinkURL, sinkErr = base.Resolve("mailto:someone@example.com")
	}
}

func BenchmarkDomain(b *testing.B) {
	for _, raw := range []string{"https://www.example.com/", "https://shop.example.co.uk/", "https://a.b.c.d.github.io/", "http://127.0.0.1/"} {
		u, err := Parse(raw)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(u.Hostname(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sinkString = u.Domain()
			}
		})
	}
}

var sinkString string

func BenchmarkFingerprint(b *testing.B) {
	u := mustParse(b, "https://www.example.com/products/shoes/running?color=blue&size=42")
	for b.Loop() {
		sinkUint = u.Fingerprint(Key{1})
	}
}

func BenchmarkFingerprint128(b *testing.B) {
	u := mustParse(b, "https://www.example.com/products/shoes/running?color=blue&size=42")
	for b.Loop() {
		sinkFingerprint = u.Fingerprint128(Key{1})
	}
}
