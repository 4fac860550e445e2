package scope_test

import (
	"fmt"

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
	// false non_document | .png is an image
	// false out_of_scope | not a host of the seeds
}

func ExampleRules_Widen() {
	rules, err := scope.New(scope.Config{Seeds: []weburl.URL{parse("https://example.com/")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The seed answers 301 with this target.
	target := parse("https://web.example.com/start")
	fmt.Println(rules.Decide(target, 0).In)
	fmt.Println(rules.Widen(parse("https://example.com/"), target))
	fmt.Println(rules.DecideSeed(target).In, rules.Hosts())
	// Output:
	// false
	// true
	// true [web.example.com]
}
