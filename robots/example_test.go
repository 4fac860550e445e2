package robots_test

import (
	"fmt"
	"time"

	"headway/robots"
	"headway/weburl"
)

func ExampleParse() {
	file := robots.Parse([]byte(`
User-agent: *
Crawl-delay: 2
Disallow: /search
Sitemap: https://example.com/sitemap.xml
`))
	delay, _ := file.For("headwaybot").Delay()
	fmt.Println("delay", delay)
	for address := range file.Sitemaps() {
		fmt.Println("sitemap", address)
	}
	// Output:
	// delay 2s
	// sitemap https://example.com/sitemap.xml
}

func ExampleFile_Decide() {
	file := robots.Parse([]byte("User-agent: *\nDisallow: /shop\nAllow: /shop/help\n"))
	for _, raw := range []string{"https://example.com/shop/cart", "https://example.com/shop/help", "https://example.com/"} {
		u, err := weburl.Parse(raw)
		if err != nil {
			fmt.Println(err)
			return
		}
		d := file.Decide("headwaybot", u)
		fmt.Printf("%-10s %v %s %q\n", u.Path(), d.Allowed, d.Reason, d.Rule)
	}
	// Output:
	// /shop/cart false robots_disallow "Disallow: /shop"
	// /shop/help true allow_rule "Allow: /shop/help"
	// /          true no_rule ""
}

func ExamplePolicy_Verdict() {
	var policy robots.Policy
	var state robots.State // a host never contacted
	now := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	fmt.Println(policy.Verdict(state, now).Access)

	state = policy.Observe(state, now, robots.Answer{Status: 503})
	v := policy.Verdict(state, now)
	fmt.Println(v.Access, v.Reason, v.Until.Sub(now))

	state = policy.Observe(state, now.Add(10*time.Second), robots.Answer{Status: 404})
	fmt.Println(policy.Verdict(state, now.Add(time.Minute)).Access)
	// Output:
	// unknown
	// deny_all robots_unreachable 10s
	// allow_all
}
