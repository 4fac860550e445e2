package scope

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// oracle translates a glob into a regular expression.
func oracle(pattern string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(`.*`)
			i++
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		default:
			if c == '\\' {
				i++
				c = pattern[i]
			}
			b.WriteString(regexp.QuoteMeta(string(rune(c))))
		}
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}

func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{
		{"/docs/**", "/docs/a/b"},
		{"/*/x?*", "/a/xyz"},
		{`\*\?\\`, `*?\`},
		{"**a*b**c*", "xxa/b/ab/c"},
		{"a**/b/**c?d*", "a/b/c/b/cxd"},
		{"/***/", "/a//"},
		{"", ""},
		{strings.Repeat("*a", 40) + strings.Repeat("?", 60), strings.Repeat("a", 120)},
		{strings.Repeat("ab/", 60) + "**", strings.Repeat("ab/", 70)},
		{strings.Repeat("a", 70) + "*b", strings.Repeat("a", 70) + "/b"},
		{strings.Repeat("a", 70) + "*b", strings.Repeat("a", 70) + "cb"},
		{strings.Repeat("a", 70) + "**b", strings.Repeat("a", 70) + "/b"},
		{strings.Repeat("?", 128) + "?", strings.Repeat("x", 128) + "/"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		// The oracle works on runes, URLs are ASCII.
		if len(pattern) > MaxPattern || strings.ContainsFunc(pattern+text, func(r rune) bool { return r >= 0x80 }) {
			return
		}
		g, ok := compileGlob(pattern)
		if !ok {
			if trimmed := strings.TrimRight(pattern, `\`); (len(pattern)-len(trimmed))%2 == 0 {
				t.Fatalf("%q: refused", pattern)
			}
			return
		}
		if got, want := g.match(text), oracle(pattern).MatchString(text); got != want {
			t.Errorf("%q on %q: %v, want %v", pattern, text, got, want)
		}
	})
}

// TestGlobIsLinear uses input that makes backtracking matchers exponential.
func TestGlobIsLinear(t *testing.T) {
	pattern := strings.Repeat("**a*", MaxPattern/4-1) + "b"
	g, ok := compileGlob(pattern)
	if !ok {
		t.Fatal("refused")
	}
	text := strings.Repeat("a", 4096)
	start := time.Now()
	for range 10 {
		if g.match(text) {
			t.Fatal("matches")
		}
	}
	// About 4096 bytes x 4 words each; with backtracking it would take years.
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("10 matches took %v", took)
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	r, err := New(Config{
		Seeds:   seeds(t, "https://example.com/"),
		Include: []string{"/**", "re:example"}, Exclude: []string{strings.Repeat("/ab", 60), "/cart/**"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{"https://www.example.com/a/b.html?c=d", "https://example.com/a/b.jpg", "https://example.org/"} {
		u := mustURL(t, raw)
		if n := testing.AllocsPerRun(100, func() { r.Decide(u, 1) }); n != 0 {
			t.Errorf("%s: %v allocations", raw, n)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, bc := range []struct {
		name   string
		config Config
		url    string
	}{
		{"host", Config{}, "https://example.com/shop/women/shoes/red-running-shoe-42.html?ref=home"},
		{"www", Config{}, "https://www.example.com/shop/women/shoes/red-running-shoe-42.html"},
		{"image", Config{}, "https://example.com/shop/women/shoes/red-running-shoe-42.jpg"},
		{"outside", Config{}, "https://www.elsewhere.example/shop/women/shoes/"},
		{"patterns", Config{Include: []string{"/shop/**"}, Exclude: []string{"/cart/**", "/**?sort=*"}}, "https://example.com/shop/women/shoes/red-running-shoe-42.html?ref=home"},
		{"domain", Config{Mode: Domain}, "https://shop.example.com/women/shoes/red-running-shoe-42.html"},
		{"prefix", Config{Mode: Prefix}, "https://example.com/shop/women/shoes/red-running-shoe-42.html"},
	} {
		b.Run(bc.name, func(b *testing.B) {
			bc.config.Seeds = seeds(b, "https://example.com/")
			r, err := New(bc.config)
			if err != nil {
				b.Fatal(err)
			}
			u := mustURL(b, bc.url)
			b.ReportAllocs()
			for b.Loop() {
				r.Decide(u, 1)
			}
		})
	}
}
