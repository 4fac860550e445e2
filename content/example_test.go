package content_test

import (
	"fmt"

	"headway/content"
	"headway/weburl"
)

func ExampleExtract() {
	base, err := weburl.Parse("https://harbour.example/news/")
	if err != nil {
		panic(err)
	}
	page := content.Extract([]byte(`<html lang="en"><title>Fish</title>
<nav><a href="/">Home</a> <a href="/news">News</a></nav>
<article>
  <h1>Herring</h1>
  <p>The harbour was quiet, the boats were out, and the market opened at six.
  <p>Prices are in <a href="today">today's list</a>, as always.
  <p hidden>Not for readers.
</article>
<footer>All rights reserved</footer>`), base, content.Options{Markdown: true})
	fmt.Println(page.Title, page.Language, page.Words)
	fmt.Println(page.Markdown)
	// Output:
	// Fish en 21
	// # Herring
	//
	// The harbour was quiet, the boats were out, and the market opened at six.
	//
	// Prices are in [today's list](https://harbour.example/news/today), as always.
}
