package robots

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"headway/weburl"
)

const ourAgent = "headwaybot"

// shop returns a robots.txt typical of large shops: groups for other bots, one group
// for everyone with n rules (one in five with stars, one in ten an Allow, some
// anchored), sitemaps and comments.
func shop(n int) string {
	sections := []string{"cart", "checkout", "account", "search", "wishlist", "compare", "api", "admin", "internal", "print", "feed", "tag", "author", "static", "media", "blog"}
	leaves := []string{"", "/", "/index.php", "/edit", "/view/", "?session=", "/ajax/", "/2019/", "/draft-", ".json"}
	stars := []string{"/*?sort=%d", "/*?filter[%d", "/*&page=%d", "/*%d.pdf$", "/*/print%d$", "/%s/*/edit%d", "/%s*?utm_%d", "/*/%s/private/%d"}
	var b strings.Builder
	b.WriteString("# robots.txt of a shop\n\nUser-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\nUser-agent: AhrefsBot\nCrawl-delay: 10\nDisallow: /search\n\nUser-agent: *\nCrawl-delay: 1\n")
	for i := range n {
		section := sections[i%len(sections)]
		key := "Disallow"
		if i%10 == 7 {
			key = "Allow"
		}
		switch {
		case i%5 == 3:
			star := strings.NewReplacer("%s", section, "%d", fmt.Sprint(i/40)).Replace(stars[i/5%len(stars)])
			fmt.Fprintf(&b, "%s: %s\n", key, star)
		case i%25 == 1:
			fmt.Fprintf(&b, "\n# part %d\n%s: /%s/%d$\n", i/25, key, section, i)
		default:
			fmt.Fprintf(&b, "%s: /%s%s%d\n", key, section, leaves[i/len(sections)%len(leaves)], i)
		}
	}
	b.WriteString("\nSitemap: https://shop.test/sitemap.xml\n")
	return b.String()
}

// shopURLs are typical URLs of such a shop; about a third match a rule.
func shopURLs(t testing.TB) []weburl.URL {
	raw := []string{
		"/", "/products/red-shoes-42", "/products/red-shoes-42?colour=red&size=42", "/category/women/shoes/", "/category/women/shoes/?page=3",
		"/blog/2024/05/how-to-choose-running-shoes", "/cart0", "/checkout/17", "/account/18/orders", "/search?q=shoes", "/static/js/app.3f2a.js",
		"/media/catalogue/spring0.pdf", "/category/men?filter[0colour]=blue", "/api/edit54", "/about", "/products/blue-hat?sort=0", "/author/12/", "/tag/summer-sale",
		"/help/returns-and-refunds", "/deals/x/print3", "/internal/8", "/print/view/73abc", "/wishlist", "/products/green-coat-with-a-rather-long-name-that-sells-well-in-winter-and-autumn",
	}
	urls := make([]weburl.URL, len(raw))
	for i, s := range raw {
		urls[i] = parseURL(t, "https://shop.test"+s)
	}
	return urls
}

var (
	sinkDecision Decision
	sinkFile     *File
)

// BenchmarkDecide200 decides URLs against 200 rules. The p50 is over decisions timed
// in batches of the same URL, because a single one is near the clock's resolution.
func BenchmarkDecide200(b *testing.B) {
	rules := Parse([]byte(shop(200))).For(ourAgent)
	urls := shopURLs(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		sinkDecision = rules.Decide(urls[i%len(urls)])
	}
	b.ReportMetric(medianOf(urls, rules), "p50-ns")
}

func medianOf(urls []weburl.URL, rules *Rules) float64 {
	const batch, rounds = 64, 200
	var times []time.Duration
	for range rounds {
		for _, u := range urls {
			start := time.Now()
			for range batch {
				sinkDecision = rules.Decide(u)
			}
			times = append(times, time.Since(start)/batch)
		}
	}
	slices.Sort(times)
	return float64(times[len(times)/2])
}

// BenchmarkDecide5000 is the same against 5,000 rules.
func BenchmarkDecide5000(b *testing.B) {
	rules := Parse([]byte(shop(5000))).For(ourAgent)
	urls := shopURLs(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		sinkDecision = rules.Decide(urls[i%len(urls)])
	}
}

// BenchmarkParse200 parses a file of 200 rules and chooses ours.
func BenchmarkParse200(b *testing.B) {
	body := []byte(shop(200))
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	var times []time.Duration
	for b.Loop() {
		start := time.Now()
		sinkFile = Parse(body)
		sinkFile.For(ourAgent)
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2]), "p50-ns")
	b.ReportMetric(float64(sinkFile.Size()), "file-bytes")
}

// BenchmarkDecideWorst uses the slowest possible file: as many rules as fit, all of
// which must be compared, and the longest URL.
func BenchmarkDecideWorst(b *testing.B) {
	for name, pattern := range map[string]string{
		"short": "*ab\n", "long": "*aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\n", "stars": "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*ab\n",
	} {
		line := "Disallow:" + pattern
		body := "User-agent: *\n" + strings.Repeat(line, MaxBytes/len(line)-1)
		rules := Parse([]byte(body)).For(ourAgent)
		for _, n := range []int{80, 4000} {
			u := parseURL(b, "https://h.test/b"+strings.Repeat("a", n))
			b.Run(fmt.Sprintf("%s/url=%d", name, n), func(b *testing.B) {
				for b.Loop() {
					sinkDecision = rules.Decide(u)
				}
			})
		}
	}
}
