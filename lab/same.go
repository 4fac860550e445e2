package lab

import (
	"fmt"
	"strings"
)

// spaceExhibits are pages that lead into large URL spaces without value. They are not
// linked, so that other crawls do not find them.
var spaceExhibits = []Exhibit{
	Exhibit{Path: samePrefix + "0", About: "60 pages that link to each other and have the same text; not linked", serve: (*exchange).same}.hidden(),
	Exhibit{Path: "/exhibit/links", About: "links to an image, into repeating folders, to a rel=nofollow page and to other hosts; not linked", serve: func(x *exchange) {
		x.page200(htmlType, `<!DOCTYPE html><title>links</title><p>text
<a href="/exhibit/reached/picture.png">an image</a>
<a href="/exhibit/reached/a/b/a/b/a/b">folders that repeat</a>
<a href="/exhibit/reached/?a=1&amp;a=1&amp;a=1">a parameter that repeats</a>
<a href="/exhibit/reached/nofollow" rel="nofollow">no page to follow</a>
<a href="/exhibit/reached/followed">a page</a>
<a href="http://elsewhere.test/page">another host</a>`)
	}}.hidden(),
}

const (
	samePrefix = "/exhibit/same/"
	samePages  = 60
)

// same is one of many pages with the same text.
func (x *exchange) same() {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><title>sorry</title><h1>We are sorry</h1><p>There is no such thing here.")
	for i := range samePages {
		fmt.Fprintf(&b, `<a href="%s%d"></a>`, samePrefix, i)
	}
	x.page200(htmlType, b.String())
}
