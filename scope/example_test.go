package scope_test

import (
	"fmt"
	"time"

	"headway/scope"
	"headway/weburl"
)

func parse(raw string) weburl.URL {
	u, err := weburl.Parse(raw)
	if err != nil {
		panic(err)
	}
	return u
}

func ExampleNew() {
	rules, err := scope.New(scope.Config{
		Seeds:   []weburl.URL{parse("https://example.com/")},
		Exclude: []string{"/cart/**", "/**?sort=*"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, link := range []string{
		"http://www.example.com/about",
		"https://example.com/list?sort=price",
		"https://example.com/logo.png",
		"https://elsewhere.example/",
	} {
		d := rules.Decide(parse(link), 1)
		fmt.Println(d.In, d.Reason, "|", d.Rule)
	}
	// Output:
	// true  | host
	// false excluded | exclude /**?sort=*
	// false non_document | .png is an image; use --files to include it
	// false out_of_scope | host is not a seed host
}

func ExampleRules_Widen() {
	rules, err := scope.New(scope.Config{Seeds: []weburl.URL{parse("https://example.com/")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The seed redirects (301) to this target.
	target := parse("https://web.example.com/start")
	fmt.Println(rules.Decide(target, 0).In)
	fmt.Println(rules.Widen(parse("https://example.com/"), target))
	fmt.Println(rules.DecideSeed(target).In, rules.Hosts())
	// Output:
	// false
	// true
	// true [web.example.com]
}

func ExampleNewTraps() {
	traps := scope.NewTraps(scope.TrapConfig{})
	now := time.Date(2026, time.November, 15, 0, 0, 0, 0, time.UTC)
	for _, link := range []string{
		"https://example.com/list?colour=red&size=9",
		"https://example.com/list?size=9&colour=red",
		"https://example.com/news/about/news/about/news/about",
		"https://example.com/2019/04/12/an-article",
	} {
		if d := traps.Look(parse(link), now); d.In {
			fmt.Println("in")
		} else {
			fmt.Println(d.Reason, "|", d.Rule)
		}
	}
	// Output:
	// in
	// trap_query | has the same parameters as another URL in a different order
	// trap_path | repeats /news/about
	// in
}

func ExampleDuplicates() {
	var same scope.Duplicates
	for id := range 8 {
		// Eight product pages that all say that there is no such product.
		same.Observe(parse(fmt.Sprintf("https://example.com/product/%d", id)), 0x5ca1ab1e, "0f3c")
	}
	d := same.Look(parse("https://example.com/product/8"))
	fmt.Println(d.In, d.Reason, "|", d.Rule)
	// Output: false duplicate_content | the last 8 similar pages had the same text
}
