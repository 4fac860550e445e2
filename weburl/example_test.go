package weburl_test

import (
	"errors"
	"fmt"

	"headway/weburl"
)

func ExampleParse() {
	u, err := weburl.Parse("HTTPS://User@Example.COM:443/a/../%7Ebob?q=1#top")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(u)

	_, err = weburl.Parse("mailto:bob")
	if e, ok := errors.AsType[*weburl.Error](err); ok {
		fmt.Println(e.Code)
	}
	// Output:
	// https://example.com/~bob?q=1
	// bad_scheme
}

func ExampleURL_Resolve() {
	page, err := weburl.Parse("https://example.com/docs/guide/")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, link := range []string{"../faq.html#install", "/about", "//cdn.example.net/x.css", "?page=2"} {
		u, err := page.Resolve(link)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(u)
	}
	// Output:
	// https://example.com/docs/faq.html
	// https://example.com/about
	// https://cdn.example.net/x.css
	// https://example.com/docs/guide/?page=2
}

func ExampleURL_Domain() {
	for _, raw := range []string{"https://www.example.co.uk:8443/", "https://bob.github.io/", "http://127.0.0.1/"} {
		u, err := weburl.Parse(raw)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(u.Host(), u.Domain())
	}
	// Output:
	// https://www.example.co.uk:8443 example.co.uk
	// https://bob.github.io bob.github.io
	// http://127.0.0.1 127.0.0.1
}

func ExampleExplain() {
	_, steps, err := weburl.Explain("HTTPS://example.com:443/a b#c", weburl.URL{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range steps {
		fmt.Printf("%s\n  %s\n", s.Reason, s.After)
	}
	// Output:
	// scheme lower-cased
	//   https://example.com:443/a b#c
	// default port 443 removed
	//   https://example.com/a b#c
	// invalid bytes percent-encoded: space → %20
	//   https://example.com/a%20b#c
	// fragment removed: it is not sent to servers
	//   https://example.com/a%20b
}
