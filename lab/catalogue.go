package lab

import (
	"embed"
	"strings"
)

// cataloguePrefix is the path of the catalogue, on any host.
const cataloguePrefix = "/exhibit/catalogue/"

// catalogueFiles are the pages of the catalogue: products and an article with JSON-LD, meta
// elements and microdata, tables, odd HTML, and, in the folder markdown, articles with every
// element that Markdown has.
//
//go:embed catalogue
var catalogueFiles embed.FS

// catalogueExhibits are pages to try extraction rules on. They are not linked.
var catalogueExhibits = []Exhibit{
	Exhibit{Path: cataloguePrefix, About: "links to products, an article, tables and odd HTML, for extraction rules, and in `markdown/index.html` to articles for Markdown; not linked", serve: (*exchange).catalogue}.hidden(),
}

// catalogue serves a page of the catalogue.
func (x *exchange) catalogue() {
	name := strings.TrimPrefix(x.path, cataloguePrefix)
	if name == "" {
		name = "index.html"
	}
	page, err := catalogueFiles.ReadFile("catalogue/" + name)
	if err != nil {
		x.notFound()
		return
	}
	x.page200(htmlType, string(page))
}
