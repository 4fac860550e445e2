package visitor_test

import (
	"context"
	"fmt"
	"net/netip"

	"headway/fetch"
	"headway/fetch/guard"
	"headway/lab/labtest"
	"headway/politeness"
	"headway/visitor"
)

// One page, visited politely: robots.txt first, then the page after the host's pace.
func ExampleVisitor() {
	seeds, stop := labtest.ServeSite(3)
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
