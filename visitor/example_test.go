package visitor_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/lab"
	"headway/politeness"
	"headway/visitor"
	"headway/weburl"
)

// One page, looked at politely: robots.txt first, then the page in its turn.
func ExampleVisitor() {
	seeds, stop := startLab(3)
	defer stop()
	dialer, err := guard.New(guard.Config{AllowPrivate: []guard.Range{{Prefix: netip.MustParsePrefix("127.0.0.0/8"), Ports: []uint16{seeds[0].Port()}}}})
	if err != nil {
		panic(err)
	}
	client, err := fetch.New(fetch.Config{Dialer: dialer})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	policy, _ := politeness.Preset("owned")
	v := visitor.Visitor{Client: client, Agent: "example", Policy: policy, Owned: true}
	for _, path := range []string{"/", "/private/diary.html"} {
		u, err := seeds[0].Resolve(path)
		if err != nil {
			panic(err)
		}
		look, err := v.Visit(context.Background(), u)
		if err != nil {
			panic(err)
		}
		fmt.Println(path, look.Visit.Outcome)
		if !look.Robots.Decision.Allowed {
			fmt.Println(look.Visit.Reason, "by", look.Robots.Decision.Rule)
		}
	}
	// Output:
	// / fetched
	// /private/diary.html skipped
	// robots_disallow by Disallow: /private/
}

// startLab serves a site of so many pages until it is stopped.
func startLab(pages int) (seeds []weburl.URL, stop func()) {
	site := lab.Plain()
	site.Site.Pages = pages
	l, err := lab.New(lab.Config{Listen: "0.0.0.0:0", ListenTLS: "0.0.0.0:0", Hosts: lab.Uniform(1, site)})
	if err != nil {
		panic(err)
	}
	if err := l.Listen(context.Background()); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	for _, raw := range l.Seeds() {
		u, err := weburl.Parse(strings.TrimSpace(raw))
		if err != nil {
			panic(err)
		}
		seeds = append(seeds, u)
	}
	return seeds, func() {
		cancel()
		if err := <-done; err != nil {
			panic(err)
		}
	}
}
