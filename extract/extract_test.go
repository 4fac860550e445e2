package extract

import (
	"encoding/json"
	"strings"
	"testing"

	"headway/weburl"
)

const sample = `<!DOCTYPE html><html><head><base href="/shop/"><title>Lamp</title>
<meta name="Description" content="A &amp; B"><meta property="og:image" content="1.jpg"><meta property="og:image" content="2.jpg">
<script type="application/ld+json">{"@type":"Product","name":"Lamp","offers":[{"@type":"Offer","price":9.50},{"@type":"Offer","price":"12"}],"x":{"@value":true}}</script>
<script type="application/ld+json">{"@graph":[{"@type":["Thing","https://schema.org/Shop"],"name":"Alder"}]}</script>
</head><body><div id="a" class="box big"><p>One <b>two</b>
 three</p><p lang="en">Four</p><ul><li>x<li class="y">y<li>z</ul></div><p class="after">5</p>
<a href="item?id=7">item</a><a href="http://other.example/">other</a><a href="mailto:x@y">mail</a>
<table><tr><td>1</td><td>1,234</td></tr></table><span></span><span> </span><span>last</span></body></html>`

func address(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// extract applies one rule to a page.
func extract(t testing.TB, rule, html string) (fields, problems string) {
	t.Helper()
	r, err := Read("rules.yaml", []byte("f: {"+rule+"}"))
	if err != nil {
		t.Fatalf("%s: %v", rule, err)
	}
	is := r.Extract(Page{URL: address(t, "http://example.com/a"), Base: address(t, "http://example.com/shop/"), HTML: []byte(html)})
	check(t, is)
	return JSON(is), Problems(is)
}

// check checks the JSON of fields.
func check(t testing.TB, fields []Field) {
	t.Helper()
	size := 0
	for _, text := range []string{JSON(fields), Problems(fields)} {
		size += len(text)
		if text != "" && (!json.Valid([]byte(text)) || strings.ContainsAny(text, "\n\u2028\u0085")) {
			t.Fatalf("invalid JSON, or more than a line: %q", text)
		}
	}
	if size > MaxFields {
		t.Fatalf("%d bytes of JSON", size)
	}
	for _, f := range fields {
		if len(f.Values) > MaxValues || !f.List && len(f.Values) > 1 {
			t.Fatalf("%s has %d values", f.Name, len(f.Values))
		}
	}
}

func TestExtract(t *testing.T) {
	for rule, want := range map[string]string{
		// CSS
		`css: "#a > p"`:                                   `"One two three"`,
		`css: "#a p", all: true`:                          `["One two three","Four"]`,
		`css: "div b, .y, p.after", all: true`:            `["two","y","5"]`,
		`css: "p + p"`:                                    `"Four"`,
		`css: "li.y ~ li"`:                                `"z"`,
		`css: "ul li:nth-child(2)"`:                       `"y"`,
		`css: "div.box.big > ul > li:not(.y)", all: true`: `["x","z"]`,
		`css: "p:has(b)"`:                                 `"One two three"`,
		`css: "div:contains('Four') > p[lang|=en]"`:       `"Four"`,
		`css: "[class='box big'] li"`:                     `"x"`,
		`css: "span"`:                                     `"last"`,
		`css: "html body > a", attribute: HREF, type: url, all: true`: `["http://example.com/shop/item?id=7","http://other.example/"]`,
		`css: "a", attribute: title`:                                  ``,
		`css: "nav"`:                                                  ``,

		// XPath
		`xpath: "//li[2]"`:                                       `"y"`,
		`xpath: "//p/@lang"`:                                     `"en"`,
		`xpath: "//a", attribute: href`:                          `"item?id=7"`,
		`xpath: "count(//li)", type: int`:                        `3`,
		`xpath: "string(//title)"`:                               `"Lamp"`,
		`xpath: "boolean(//nav)", type: bool`:                    `false`,
		`xpath: "//div//text()[contains(., 'two')]"`:             `"two"`,
		`xpath: "//p[@class] | //li[1] | //title", all: true`:    `["Lamp","x","5"]`,
		`xpath: "//b/ancestor::*[@id]/@id"`:                      `"a"`,
		`xpath: "//li[last()]/preceding-sibling::li", all: true`: `["x","y"]`,
		`xpath: "//div//p//b | //div//b", all: true`:             `["two"]`,

		// JSON-LD
		`json-ld: name`:                                 `"Lamp"`,
		`json-ld: name, all: true`:                      `["Lamp","Alder"]`,
		`json-ld: Shop.name`:                            `"Alder"`,
		`json-ld: offers.price, type: float, all: true`: `[9.5,12]`,
		`json-ld: Offer.price`:                          `"9.50"`,
		`json-ld: x, type: bool`:                        `true`,
		`json-ld: offers`:                               ``,

		// meta
		`meta: description`:                      `"A & B"`,
		`meta: "OG:image", type: url, all: true`: `["http://example.com/shop/1.jpg","http://example.com/shop/2.jpg"]`,

		// regular expressions
		`regex: "id=(\\d+)", type: int`:      `7`,
		`regex: "<li", all: true`:            `["<li","<li","<li"]`,
		`css: td, regex: "^\\d$", type: int`: `1`,
		`css: li, regex: "[yz]", all: true`:  `["y","z"]`,

		// types
		`css: "td + td", type: int`:   `1234`,
		`css: "td + td", type: float`: `1234`,
	} {
		fields, problems := extract(t, rule, sample)
		if want != "" {
			want = `{"f":` + want + `}`
		}
		if fields != want || problems != "" && !strings.Contains(rule, "url") {
			t.Errorf("%s: %s, want %s; %s", rule, fields, want, problems)
		}
	}
}

// TestConvert converts texts, or says why not.
func TestConvert(t *testing.T) {
	for _, test := range []struct{ kind, text, want string }{
		{"int", "12", "12"},
		{"int", "-1,234,567", "-1234567"},
		{"int", "12 345", "12345"},
		{"int", "1'000", "1000"},
		{"int", "1.5", ""},
		{"int", "12 3", ""},
		{"int", "1,23", ""},
		{"int", "9223372036854775808", ""},
		{"int", "5 kg", ""},
		{"float", "1,234.50", "1234.5"},
		{"float", ".5", "0.5"},
		{"float", "-2e3", "-2000"},
		{"float", "1,250,000", "1250000"},
		{"float", "0.00001", "0.00001"},
		{"float", "1e21", "1e+21"},
		{"float", "19,99", ""},
		{"float", "1.234,5", ""},
		{"float", "NaN", ""},
		{"float", "Inf", ""},
		{"float", "0x10", ""},
		{"float", "1e999", ""},
		{"float", "1_0", ""},
		{"bool", "Yes", "true"},
		{"bool", "0", "false"},
		{"bool", "https://schema.org/True", "true"},
		{"bool", "maybe", ""},
		{"date", "2026-11-15", `"2026-11-15"`},
		{"date", "2026-11-15T10:00:00+01:00", `"2026-11-15T10:00:00+01:00"`},
		{"date", "2026-11-15 10:00", `"2026-11-15T10:00:00"`},
		{"date", "15 November 2026", `"2026-11-15"`},
		{"date", "Nov 5, 2026", `"2026-11-05"`},
		{"date", "Sun, 15 Nov 2026 10:00:00 GMT", `"2026-11-15T10:00:00Z"`},
		{"date", "Sun, 15 Nov 2026 10:00:00 UTC", `"2026-11-15T10:00:00Z"`},
		{"date", "Sun, 15 Nov 2026 10:00:00 +0100", `"2026-11-15T10:00:00+01:00"`},
		{"date", "Sun, 15 Nov 2026 10:00:00 EST", ""},
		{"date", "11/15/2026", ""},
		{"date", "2026-13-01", ""},
		{"date", "yesterday", ""},
		{"url", "../x?a=1", `"http://example.com/x?a=1"`},
		{"url", "//other.example", `"http://other.example/"`},
		{"url", "mailto:a@b", ""},
		{"string", "a \u2028 <b>\x00\"\x7f", `"a <b>\""`},
	} {
		html := "<meta name=x content='" + strings.ReplaceAll(test.text, "'", "&#39;") + "'>"
		fields, problems := extract(t, "meta: x, type: "+test.kind, html)
		want := ""
		if test.want != "" {
			want = `{"f":` + test.want + `}`
		}
		if fields != want || (problems == "") != (want != "") {
			t.Errorf("%s %q: %s, want %s; %s", test.kind, test.text, fields, want, problems)
		}
	}
}

// TestWhen applies rules to the URLs of their patterns only.
func TestWhen(t *testing.T) {
	r, err := Read("rules.yaml", []byte("a: {css: p, when: /x/**}\nb: {css: p, when: [/y, 're:\\?q=']}\nc: {css: p}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"http://h.example/x/1": "a c", "http://h.example/y": "b c", "http://h.example/?q=1": "b c", "http://h.example/": "c",
	} {
		u := address(t, url)
		if got := strings.Join(r.Names(u), " "); got != want || !r.Apply(u) {
			t.Errorf("%s: %s", url, got)
		}
		if got := len(r.Extract(Page{URL: u, Base: u, HTML: []byte("<p>x")})); got != len(strings.Fields(want)) {
			t.Errorf("%s: %d fields", url, got)
		}
	}
	var none *Rules
	if none.Apply(address(t, "http://h.example/")) || none.Text() != "" || none.String() != "" {
		t.Error("nil rules apply")
	}
}

// TestQuoted: brackets, comments and colons that are quoted or escaped are nothing else.
func TestQuoted(t *testing.T) {
	const html = `<p class="md:flex" x="a(b">1</p><p x="/* #= */">2</p><p x=":matches(" id="has(">3</p>`
	for rule, want := range map[string]string{
		`css: '.md\:flex'`:                        `"1"`,
		`css: '[x="a(b"]:not([x="a b"])'`:         `"1"`,
		`css: '[x="/* #= */"]:nth-child(2)'`:      `"2"`,
		`css: '[x=":matches("]'`:                  `"3"`,
		`css: '#has\('`:                           `"3"`,
		`css: 'p:not([x="/* #= */"])', all: true`: `["1","3"]`,
	} {
		if fields, problems := extract(t, rule, html); fields != `{"f":`+want+`}` || problems != "" {
			t.Errorf("%s: %s; %s", rule, fields, problems)
		}
	}
}

// TestNoScript: scripts are read only for rules that need them.
func TestNoScript(t *testing.T) {
	for rules, want := range map[string]int{"a: {meta: description}": 0, "a: {meta: description}\nb: {json-ld: name}": 2} {
		r, err := Read("rules.yaml", []byte(rules))
		if err != nil {
			t.Fatal(err)
		}
		p := newPage(Page{HTML: []byte(sample)}, r)
		if is := p.read(); len(is.data) != want || len(is.metas) != 3 {
			t.Errorf("%s: %d scripts, %d meta elements", rules, len(is.data), len(is.metas))
		}
	}
}

// TestNoTree: rules that need no tree build none.
func TestNoTree(t *testing.T) {
	r, err := Read("rules.yaml", []byte("a: {meta: description}\nb: {json-ld: name}\nc: {regex: Four}\nd: {css: p, when: /other}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := newPage(Page{URL: address(t, "http://h.example/"), HTML: []byte(sample)}, r)
	for i := range r.fields {
		if f := &r.fields[i]; f.applies(p.URL) {
			p.extract(f)
		}
	}
	if p.tree != nil || p.placed {
		t.Error("a tree was built")
	}
}
