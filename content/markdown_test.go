package content

import (
	"strings"
	"testing"
)

// body is a page with one article.
func body(article string) []byte {
	return []byte("<!doctype html><body><article>" + article + "</article>")
}

// long is a paragraph that makes an article of what is around it.
const long = "<p>The harbour was quiet, the boats were out, and the market, as always, opened at six in the morning.</p>"

const longText = "The harbour was quiet, the boats were out, and the market, as always, opened at six in the morning."

func TestMarkdown(t *testing.T) {
	tests := []struct{ name, html, want string }{
		{"headings", "<h2>Two</h2>" + long + "<h3>Three <em>x</em></h3>" + long, "## Two\n\n" + longText + "\n\n### Three *x*\n\n" + longText},
		{"title", "<h1>One</h1>" + long, "# One\n\n" + longText},
		{"marks", long + "<p>a <b>bold </b>b<i> it</i>, <del>gone</del> <strong><b>twice</b></strong> <b></b>end.</p>", longText + "\n\na **bold** b *it*, ~~gone~~ **twice** end."},
		{"code", long + "<p>Use <code>a*b</code>, <code>x`y</code> and <kbd>Ctrl</kbd>.</p>", longText + "\n\nUse `a*b`, `` x`y `` and `Ctrl`."},
		{"links", long + `<p>See, <a href="../x?a=1&amp;b=(2)#top">the <b>page</b></a>, <a href="javascript:x()">not this</a>, <a>nor this</a>, <a href="mailto:a@b.test">mail</a>, and now some words that are in no link.</p>`, longText + "\n\nSee, [the **page**](https://site.test/x?a=1&b=%282%29#top), not this, nor this, [mail](mailto:a@b.test), and now some words that are in no link."},
		{"misnested link", long + `<p>One, <a href=/a>two<p>three</a> four, and so on.</p>`, longText + "\n\nOne, [two](https://site.test/a)\n\nthree four, and so on."},
		{"images", long + `<p><img src="/i.png" alt="An [odd]  text"> beside, some words.</p><img src="data:image/png;base64,xx" alt=no>`, longText + "\n\n![An \\[odd\\] text](https://site.test/i.png) beside, some words."},
		{"caption", long + `<figure><img src=f.jpg><figcaption>A boat.</figcaption></figure>` + long, longText + "\n\n![](https://site.test/dir/f.jpg)\n\nA boat.\n\n" + longText},
		{"lists", long + "<ul><li>one<ul><li>inner<li>more</ul><li><p>two</p><p>second</p></ul>" + long, longText + "\n\n- one\n  - inner\n  - more\n- two\n\n  second\n\n" + longText},
		{"numbers", long + "<ol start=9><li>nine<li>ten<br>line</ol>" + long, longText + "\n\n9. nine\n10. ten  \n    line\n\n" + longText},
		{"quote", long + "<blockquote><p>one<p>two<ul><li>item</ul></blockquote>" + long, longText + "\n\n> one\n>\n> two\n>\n> - item\n\n" + longText},
		{"code block", long + "<pre class=\"language-go\">if a &lt; b {\n\tx = `y`\n}\n</pre>" + long, longText + "\n\n```go\nif a < b {\n\tx = `y`\n}\n```\n\n" + longText},
		{"code of lines", long + "<pre><code class='hl lang-c++x'><span>a</span>\n<div>b</div><div>c</div>```</code></pre>" + long, longText + "\n\n````\na\nb\nc\n```\n````\n\n" + longText},
		{"table", long + "<table><caption>Prices</caption><thead><tr><th>Fish<th>Price</thead><tr><td>Cod|s<td>1<br>2<tr><td>Eel</table>" + long, longText + "\n\nPrices\n\n| Fish | Price |\n| --- | --- |\n| Cod\\|s | 1<br>2 |\n| Eel |  |\n\n" + longText},
		{"layout table", "<table><tr><td>" + long + "<td><h2>Head</h2>" + long + "</table>", longText + "\n\n## Head\n\n" + longText},
		{"rule", long + "<hr>" + long + "<hr>", longText + "\n\n---\n\n" + longText},
		{"rule in code", long + "<pre>a\n<hr>b</pre>" + long, longText + "\n\n```\na\n```\n\n---\n\n```\nb\n```\n\n" + longText},
		{"breaks", "<p>" + longText + "<br>next<br><br>last.", longText + "  \nnext\n\nlast."},
		{"escapes", long + "<p>1. no list * [x] _y_ a_b &lt;i&gt; `c` \\ &amp;amp; ~~z~~<p># no<p>- no<p>+ no<p>&gt; no<p>-5 degrees<p>=== no", longText + "\n\n1\\. no list \\* \\[x\\] \\_y\\_ a_b \\<i> \\`c\\` \\\\ \\&amp; \\~\\~z\\~\\~\n\n\\# no\n\n\\- no\n\n\\+ no\n\n\\> no\n\n-5 degrees\n\n\\=== no"},
		{"base", `<base href="/other/">` + long + `<p><a href=x>A link</a> to the other, and some words.`, longText + "\n\n[A link](https://site.test/other/x) to the other, and some words."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			page := Extract(body(test.html), pageURL, Options{Markdown: true})
			if page.Markdown != test.want {
				t.Errorf("got\n%s\nwant\n%s", page.Markdown, test.want)
			}
			if page.Text != "" {
				t.Error("text without being asked for")
			}
		})
	}
}

func TestText(t *testing.T) {
	page := Extract(body("<h1>Title</h1><p class=byline>By A. N. Other</p>"+long+"<h2>Prices</h2><ul><li>one<li>two</ul><table><tr><th>a<th>b<tr><td>1<td>2</table><p>x\u00a0&nbsp; <b>y</b>z.\x00\x01</p>"), pageURL, Options{Text: true})
	want := longText + "\n\nPrices\n\none\ntwo\n\na\tb\n1\t2\n\nx yz."
	if page.Text != want {
		t.Errorf("got\n%q\nwant\n%q", page.Text, want)
	}
	if got := len(strings.Fields(want)); page.Words != got {
		t.Errorf("%d words, want %d", page.Words, got)
	}
}

// TestMainText: what surrounds an article is left out.
func TestMainText(t *testing.T) {
	around := []string{
		"<nav><ul><li><a href=/>Home</a><li><a href=/news>News</a></ul></nav>",
		"<header><div class=logo>The Daily Harbour, since 1890.</div></header>",
		"<div class=cookie-banner><p>We use cookies, to make this site better, and to show advertising.</p><button>Accept</button></div>",
		"<aside><h2>About us</h2><p>We are a small paper, written by three people, and a dog.</p></aside>",
		"<div class='related-posts'><h3>Read also</h3><p>Storm warning, for the coast, until Friday evening.</p></div>",
		"<div id=comments><p>Great article, thank you, I liked the herring.</p></div>",
		"<ul><li><a href=/1>First other story of the day</a><li><a href=/2>Second other story of the day</a></ul>",
		"<footer><p>All rights reserved, The Daily Harbour, 2024.</p></footer>",
	}
	article := "<article><h1>Fish</h1>" + strings.Repeat(long, 4) + "</article>"
	alone := Extract([]byte("<body>"+article), pageURL, Options{Text: true})
	for _, a := range around {
		for _, html := range []string{"<body>" + a + article, "<body>" + article + a, "<body><div><div>" + a + "</div>" + article + "</div>"} {
			if got := Extract([]byte(html), pageURL, Options{Text: true}); got.Text != alone.Text || got.Digest != alone.Digest {
				t.Errorf("%s changes the text:\n%s", a, got.Text)
			}
		}
	}
}

// TestLabels: short terms and summaries belong to the texts after them.
func TestLabels(t *testing.T) {
	page := Extract([]byte(`<!doctype html><title>t</title><body><article><p>The harbour was quiet, and the boats had been out since four in the morning, as always.</p>
<dl><dt>Berth</dt><dd>A place where a ship is moored, next to a quay, for some time or for longer.</dd></dl>
<details><summary>More about boats</summary><p>By noon, the market had sold most of what they brought, apart from the herring.</p></details></article>`), pageURL, Options{Text: true, Markdown: true})
	for _, label := range []string{"Berth", "More about boats"} {
		if !strings.Contains(page.Text, label) || !strings.Contains(page.Markdown, label) {
			t.Errorf("%q is missing:\n%s\n%s", label, page.Text, page.Markdown)
		}
	}
}
