package extract

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file")

// TestBroken compares the messages about invalid files with testdata/broken/messages.txt.
func TestBroken(t *testing.T) {
	paths, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(paths) < 5 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	var b strings.Builder
	for _, path := range paths {
		_, err := ReadFile(path)
		bad, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if bad.Hint() == "" {
			t.Errorf("%s: no hint", path)
		}
		b.WriteString(bad.Error() + "\nhint: " + bad.Hint() + "\n\n")
	}
	const golden = "testdata/broken/messages.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestFileLimits: a file beyond a limit is refused.
func TestFileLimits(t *testing.T) {
	for name, text := range map[string]string{
		"bytes":          "a: {css: h1}\n#" + strings.Repeat("x", MaxFile),
		"fields":         many(MaxRules + 1),
		"name":           strings.Repeat("a", maxName+1) + ": {css: h1}",
		"expression":     "a: {css: '" + strings.Repeat("a", maxExpr+1) + "'}",
		"parts":          "a: {css: '" + strings.Repeat("a ", maxParts+1) + "'}",
		"path":           "a: {json-ld: " + strings.Repeat("a.", maxParts) + "a}",
		"patterns":       "a: {css: h1, when: [" + strings.Repeat("/a,", maxWhen) + "/a]}",
		"repetitions":    "a: {regex: '(?:[a-z]{100}){20}'}",
		"groups":         "a: {regex: '(a)(b)'}",
		"empty match":    "a: {regex: 'a*'}",
		"two documents":  "a: {css: h1}\n---\nb: {css: h1}",
		"not UTF-8":      "a: {css: '\xff'}",
		"nested :has":    "a: {css: 'a:has(b:has(c))'}",
		"long :not":      "a: {css: 'a:not(b c)'}",
		"selectors":      "a: {css: '" + strings.Repeat("a,", maxParts) + "a'}",
		"quoted bracket": `a: {css: '[x="("]:has(:has(:has(:has(z))))'}`,
		"escaped :has":   `a: {css: ':\has(:\has(z))'}`,
		"coded :has":     `a: {css: ':h\61s(:h\61s(z))'}`,
		"comment":        `a: {css: 'a/*(*/ b c d'}`,
		"half a comment": `a: {css: 'a:not(/*"*/b:has(c:has(d))/*"*/)'}`,
		":matches":       `a: {css: 'a:matches(x)'}`,
		":matchesOwn":    `a: {css: 'a:not(:matchesOwn(x))'}`,
		"attribute #=":   `a: {css: 'a[href#=(x)]'}`,
		"matches()":      "a: {xpath: '//a[matches(., \"x\")]'}",
		"matches ()":     "a: {xpath: '//a[matches (., \"x\")]'}",
		"self reference": "a: &a {css: *a}",
		"attribute":      "a: {meta: x, attribute: y}",
		"type alone":     "a: {json-ld: Product}",
	} {
		if r, err := Read("rules.yaml", []byte(text)); err == nil {
			t.Errorf("%s: %s accepted", name, r)
		} else if !strings.HasPrefix(err.Error(), "rules.yaml:") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r, err := Read("rules.yaml", []byte(many(MaxRules))); err != nil || len(r.fields) != MaxRules {
		t.Errorf("at the limit: %s, %v", r, err)
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("a" + strings.Repeat("x", i/26) + string(rune('a'+i%26)) + ": {css: h1}\n")
	}
	return b.String()
}

func FuzzRead(f *testing.F) {
	paths, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("a: {css: 'a > b ~ c:nth-child(2n+1), [x=\"y z\"]', attribute: href, type: url, all: true, when: ['/a/**', 're:b$']}\n"))
	f.Add([]byte("a: &x {xpath: '//a[@b]/text() | //c', regex: '(\\d+)'}\nb: *x\n"))
	f.Add([]byte(`{"a": {"json-ld": "Product.offers.price", "type": "float"}, "b": {"meta": "og:title"}}`))
	page := Page{URL: address(f, "http://example.com/a/b"), Base: address(f, "http://example.com/a/"), HTML: []byte(sample)}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read("rules.yaml", text)
		if err != nil {
			if bad, ok := errors.AsType[*Error](err); !ok || bad.Name != "rules.yaml" {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		again, err := Read("rules.yaml", []byte(r.Text()))
		if err != nil || again.String() != r.String() {
			t.Fatalf("read again: %v, %v", again, err)
		}
		first, second := r.Extract(page), r.Extract(page)
		if JSON(first) != JSON(second) || Problems(first) != Problems(second) {
			t.Fatalf("not the same again: %s\n%s", JSON(first), JSON(second))
		}
		check(t, first)
	})
}
