package main

import (
	"bytes"
	"net/url"
	"strings"

	readability "codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"

	"headway/content"
	"headway/weburl"
)

// extractor turns a page into the text of its article.
type extractor struct {
	name    string
	extract func(page []byte) string
}

const address = "https://site.example/article"

var extractors = []extractor{
	{"headway", func(page []byte) string {
		base, err := weburl.Parse(address)
		if err != nil {
			panic(err)
		}
		return content.Extract(page, base, content.Options{Text: true}).Text
	}},
	{"go-readability", func(page []byte) string {
		u, err := url.Parse(address)
		if err != nil {
			panic(err)
		}
		doc, err := html.Parse(bytes.NewReader(page))
		if err != nil {
			return ""
		}
		parser := readability.NewParser()
		article, err := parser.ParseAndMutate(doc, u)
		if err != nil || article.Node == nil {
			return ""
		}
		var out strings.Builder
		if err := article.RenderText(&out); err != nil {
			return ""
		}
		return out.String()
	}},
}
