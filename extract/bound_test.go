package extract

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestBounds: what is beyond a limit is cut or left out, and the problem says so.
func TestBounds(t *testing.T) {
	long := strings.Repeat("x", MaxValue+1)
	for name, test := range map[string]struct {
		rule, html string
		problem    string
		value      bool
	}{
		"values":        {"css: i, all: true", strings.Repeat("<i>x</i>", MaxValues+1), "cut after 1000 values", true},
		"matches":       {"regex: x, all: true", strings.Repeat("x", MaxValues+1), "cut after 1000 values", true},
		"xpath values":  {"xpath: //i, all: true", strings.Repeat("<i>x</i>", MaxValues+1), "cut after 1000 values", true},
		"meta values":   {"meta: x, all: true", strings.Repeat("<meta name=x content=y>", maxMetas+1), "only the first 1000 meta elements", true},
		"bytes":         {"css: p", "<p>" + long, "cut after 65536 bytes", true},
		"all bytes":     {"css: p, all: true", strings.Repeat("<p>"+long, 20), "", true},
		"page":          {"css: p", "<p>x" + strings.Repeat(" ", MaxPage), "more than 4194304 bytes", false},
		"regex of page": {"regex: y", strings.Repeat("x", MaxPage) + "y", "only the first 4194304 bytes", false},
		"nodes":         {"css: p", strings.Repeat("<p>x", MaxNodes/2+1), "too many elements", false},
		"depth":         {"css: p", strings.Repeat("<div>", 600) + "<p>x", "nested too deeply", false},
		"formatting":    {"css: p", formats(2000) + strings.Repeat("<p>x", 20_000), "too many elements", false},
		"scripts":       {"json-ld: name", strings.Repeat(`<script type="application/ld+json">{}</script>`, maxBlocks+1), "only the first 100 JSON-LD scripts", false},
		"script":        {"json-ld: name", `<script type="application/ld+json">{"a":"` + strings.Repeat("x", maxBlock) + `"}</script>`, "more than 1048576 bytes", false},
		"nested script": {"json-ld: name", `<script type="application/ld+json">` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `</script>`, "more than 64 levels", false},
		"broken script": {"json-ld: name", `<script type="application/ld+json">{"name":"x",}</script>`, "not valid JSON", false},
		"torn script":   {"json-ld: name", `<script type="application/ld+json">{"name":</script>`, "not valid JSON", false},
		"css steps":     {"css: 'p:nth-last-child(7000)'", strings.Repeat("<p>x</p>", 20_000), "more than 20000000 steps", false},
		"xpath steps":   {"xpath: '//p[count(preceding::p) > 1000000]'", strings.Repeat("<p>x</p>", 20_000), "more than 20000000 steps", false},
		"regex steps":   {"regex: '(?:[a-z]{1,40}y){4}'", strings.Repeat("x", MaxPage-1), "more than 20000000 steps", false},
		"text":          {"css: 'div:contains(zz)'", nested(400, strings.Repeat("x", 1<<20)), "more than 20000000 steps", false},
		"ancestors":     {"css: 'q:lang(zz)'", nested(400, strings.Repeat("<p><q></q></p>", 60_000)), "more than 20000000 steps", false},
		"attributes":    {"css: '" + strings.Repeat("[x*=zz]", 100) + "'", "<p x=" + strings.Repeat("y", MaxPage-100) + ">x", "more than 20000000 steps", false},
		"xpath nodes":   {"xpath: '//q[ancestor::div[.=1]]'", nested(1, strings.Repeat("<q></q>", 20_000)), "more than 20000000 steps", false},
		"xpath value":   {"xpath: '//q[contains(/html/@x, \"1\")]'", "<html x=" + strings.Repeat("y", 1<<20) + ">" + strings.Repeat("<q></q>", 1000), "more than 20000000 steps", false},
		"invalid":       {"css: p, type: int", "<p>none<p>7", `\"none\" is not a whole number`, false},
		"some invalid":  {"css: p, type: int, all: true", "<p>none<p>7", `\"none\" is not a whole number`, true},
	} {
		fields, problems := extract(t, test.rule, test.html)
		if !strings.Contains(problems, test.problem) || (fields != "") != test.value {
			t.Errorf("%s: %.100s; %s", name, fields, problems)
		}
	}
}

// nested is HTML in elements that contain each other.
func nested(depth int, html string) string {
	return strings.Repeat("<div class=price>", depth) + html
}

// TestMemory: a page whose elements have the same text does not need memory for each.
func TestMemory(t *testing.T) {
	page := nested(500, strings.Repeat("x", MaxPage-10_000))
	names := "<meta name='"
	for i := range maxMetas {
		names += fmt.Sprint("n", i, " ")
	}
	for name, test := range map[string]struct {
		rule, html string
		limit      uint64
	}{
		"css":         {"css: .price, all: true", page, 400 << 20},
		"css regex":   {"css: .price, regex: y, all: true", page, 400 << 20},
		"xpath":       {"xpath: //div, all: true", page, 400 << 20},
		"xpath regex": {"xpath: //div, regex: y, all: true", page, 400 << 20},
		"xpath text":  {"xpath: 'concat(" + strings.Repeat("/,", 400) + "/)'", page, 800 << 20},
		"meta":        {"meta: n7", names + "' content=" + strings.Repeat("x", maxMeta) + ">", 2 << 20},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		extract(t, test.rule, test.html)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > test.limit {
			t.Errorf("%s: allocated %d MiB", name, used>>20)
		}
	}
}

// formats are formatting elements that are all different and never closed.
func formats(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("<font size=" + strings.Repeat("1", i%50) + string(rune('a'+i/50%26)) + ">")
	}
	return b.String()
}

// TestAllFields: the fields of a page share one limit.
func TestAllFields(t *testing.T) {
	var rules strings.Builder
	for i := range 20 {
		rules.WriteString("f" + strings.Repeat("x", i) + ": {css: p, all: true}\n")
	}
	r, err := Read("rules.yaml", []byte(rules.String()))
	if err != nil {
		t.Fatal(err)
	}
	u := address(t, "http://example.com/")
	fields := r.Extract(Page{URL: u, Base: u, HTML: []byte(strings.Repeat("<p>"+strings.Repeat("\"", 30_000), 10))})
	check(t, fields)
	if !strings.Contains(Problems(fields), "left out: the fields of the page have more than 1048576 bytes") {
		t.Error(Problems(fields))
	}
}

// TestFullPage: names and problems of fields fit, even if one field takes all the room.
func TestFullPage(t *testing.T) {
	u := address(t, "http://example.com/")
	for size := 1000; size < 1100; size += 7 {
		rules := "full: {css: p, all: true}\n"
		for i := range MaxRules - 1 {
			rules += fmt.Sprintf("f%0*d: {css: q, type: int}\n", maxName-1, i)
		}
		r, err := Read("rules.yaml", []byte(rules))
		if err != nil {
			t.Fatal(err)
		}
		html := strings.Repeat("<p>"+strings.Repeat("x", size), MaxValues) + "<q>" + strings.Repeat("\\\"", 200)
		fields := r.Extract(Page{URL: u, Base: u, HTML: []byte(html)})
		check(t, fields)
		if len(fields[0].Values) < 700 || fields[MaxRules-1].Problem == "" {
			t.Errorf("%d values; %s", len(fields[0].Values), fields[MaxRules-1].Problem)
		}
	}
}

func FuzzExtract(f *testing.F) {
	r, err := Read("rules.yaml", []byte(`
a: {css: 'div > p + p, li:nth-child(2) ~ li, a:has(b):not(.x)', all: true}
b: {xpath: '//a/@href | //p[2]/ancestor::*', type: url, all: true}
c: {json-ld: Product.offers.price, type: float, all: true}
d: {json-ld: name}
e: {meta: description, type: date}
f: {regex: '<a[^>]+>', all: true}
g: {xpath: 'count(//td)', type: int}
`))
	if err != nil {
		f.Fatal(err)
	}
	u := address(f, "http://example.com/a/b")
	f.Add([]byte(sample))
	f.Add([]byte(formats(30) + "<p>x<table><td><p></table>"))
	f.Add([]byte(`<svg><p><math><template><li><li></template><frameset><select><option><p>`))
	f.Fuzz(func(t *testing.T, html []byte) {
		first, second := r.Extract(Page{URL: u, Base: u, HTML: html}), r.Extract(Page{URL: u, Base: u, HTML: html})
		check(t, first)
		if JSON(first) != JSON(second) || Problems(first) != Problems(second) {
			t.Fatalf("not the same again: %s\n%s", JSON(first), JSON(second))
		}
	})
}
