package parse

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"headway/internal/htmltoken"
)

// digestOf writes text in one run per element and returns its digest.
func digestOf(runs ...string) (Digest, SimHash, int) {
	var t visibleText
	t.reset()
	for _, r := range runs {
		t.write([]byte(r), true)
	}
	return t.sum()
}

func TestDigest(t *testing.T) {
	want := Digest(xxh3.HashString128("one two & three").Bytes())
	tests := []struct {
		name string
		runs []string
	}{
		{"plain", []string{"one two & three"}},
		{"white space", []string{"\n\n one\t two  &\r\n three \f"}},
		{"runs", []string{"one", "", " ", "two", "&", "three"}},
		{"references", []string{"o&#110;e two &amp; three"}},
		{"no-break spaces", []string{"one&nbsp;two\u00a0&\u00a0&nbsp;&#160; three&nbsp;"}},
		{"NUL", []string{"o\x00ne two \x00& three\x00"}},
		{"references that are spaces", []string{"one&Tab;two&#32;&&NewLine;three"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _, words := digestOf(tt.runs...)
			if got != want || words != 4 {
				t.Errorf("%s of %d words, want %s of 4", got, words, want)
			}
		})
	}
	if d, s, words := digestOf(" \n", "&nbsp;", "\x00"); !d.IsZero() || s != 0 || words != 0 {
		t.Errorf("no text: %s %s %d", d, s, words)
	}
	if d, _, _ := digestOf("one two & four"); d == want {
		t.Error("another text, the same digest")
	}
}

// TestWords compares the words, which are found eight bytes at a time, with those of
// package strings.
func TestWords(t *testing.T) {
	pieces := []string{"a", "word", "sevenxx", "eightxxx", "ninexxxxx", " ", "  ", "\n", "\t", "é", "\u00a0", "Â", "&amp;", "&", "&nbsp;", "\x00", "日本語", "\xc2", "\x7f", "\x80"}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "parts")
		text := strings.Join(parts, "")
		// A slice with and one without extra capacity are read differently.
		tight := []byte(text)
		got := string(appendWords(nil, tight[:len(tight):len(tight)], true))
		roomy := append([]byte(text), "  &amp; more"...)[:len(text)]
		if again := string(appendWords(nil, roomy, true)); again != got {
			t.Fatalf("%q: %q and %q", text, got, again)
		}
		plain := strings.ReplaceAll(html.UnescapeString(strings.ReplaceAll(text, "\x00", "")), "\u00a0", " ")
		want := ""
		for _, w := range strings.FieldsFunc(plain, func(r rune) bool { return strings.ContainsRune(" \t\n\f\r", r) }) {
			want += w + " "
		}
		if strings.ReplaceAll(text, "\x00", "") == text && got != want { // NUL may split a reference
			t.Fatalf("%q: %q, want %q", text, got, want)
		}
	})
}

func TestDigestOfLongText(t *testing.T) {
	// Longer than a block, in runs longer and shorter than a piece.
	words := make([]string, 50_000)
	for i := range words {
		words[i] = fmt.Sprintf("word%d", i%977)
	}
	whole := strings.Join(words, " ")
	want := Digest(xxh3.HashString128(whole).Bytes())
	a, simA, nA := digestOf(whole)
	b, simB, nB := digestOf(words...)
	if a != want || b != want || simA != simB || nA != len(words) || nB != len(words) {
		t.Errorf("%s %s %d and %s %s %d, want %s of %d words", a, simA, nA, b, simB, nB, want, len(words))
	}
	d, _, n := digestOf(strings.Repeat("x", 3*textBlock))
	if n == 0 || d.IsZero() {
		t.Errorf("one very long word: %s, %d words", d, n)
	}
}

// someWords returns n words that depend on seed.
func someWords(seed uint64, n int) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("w%x", r.IntN(2000))
	}
	return out
}

func TestSimHash(t *testing.T) {
	base := someWords(1, 1000)
	_, same, _ := digestOf(strings.Join(base, "\n"))
	tests := []struct {
		name     string
		change   func([]string)
		from, to int // distance
	}{
		{"nothing", func([]string) {}, 0, 0},
		{"one word", func(w []string) { w[500] = "changed" }, 0, 3},
		{"one word in a hundred", func(w []string) {
			for i := 0; i < len(w); i += 100 {
				w[i] = "changed"
			}
		}, 0, 10},
		{"half", func(w []string) { copy(w[500:], someWords(2, 500)) }, 10, 40},
		{"everything", func(w []string) { copy(w, someWords(3, 1000)) }, 18, 46},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := append([]string{}, base...)
			tt.change(w)
			_, s, _ := digestOf(strings.Join(w, " "))
			if d := same.Distance(s); d < tt.from || d > tt.to {
				t.Errorf("distance %d, want %d to %d", d, tt.from, tt.to)
			}
		})
	}
	_, one, _ := digestOf("one")
	_, two, _ := digestOf("one two")
	_, other, _ := digestOf("two one")
	if one == 0 || one == two || two == other {
		t.Errorf("short texts: %s %s %s", one, two, other)
	}
}

// TestSimHashIsStable checks fingerprints that are already in stores.
func TestSimHashIsStable(t *testing.T) {
	_, s, _ := digestOf("the quick brown fox jumps over the lazy dog and runs away from considerably longer words")
	if want := "01148a2233522016"; s.String() != want {
		t.Errorf("%s, want %s", s, want)
	}
}

// TestBitCounts compares the parallel counters with simple ones.
func TestBitCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c bitCounts
		var plain [64]int
		for range rapid.IntRange(0, 600).Draw(t, "batches") {
			var batch [8]uint64
			for i := range batch {
				batch[i] = rapid.Uint64().Draw(t, "word")
				for bit := range plain {
					plain[bit] += int(batch[i] >> bit & 1)
				}
			}
			c.add(&batch)
		}
		c.settle()
		for bit := range plain {
			if c.count(bit, len(c.levels)) != plain[bit] {
				t.Fatalf("bit %d: %d, want %d", bit, c.count(bit, len(c.levels)), plain[bit])
			}
		}
	})
}

// TestReferences decodes every named reference in text and in an attribute, before
// different characters, and compares with x/net.
func TestReferences(t *testing.T) {
	data, err := os.ReadFile("testdata/references.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(data), "\n")
	names := strings.Fields(list)
	if len(names) < 2000 {
		t.Fatalf("%d names", len(names))
	}
	names = append(names, "#65", "#65;", "#x41", "#X41;", "#0", "#128;", "#xD800;", "#x110000;", "#99999999999;", "#", "#x", "#;", "bogus;", "CounterClockwiseContourIntegral;x", "CounterClockwiseContourIntegra;")
	for _, name := range names {
		for _, behind := range []string{"", " ", "=", "x", ";", "1"} {
			src := "&" + name + behind
			if got, want := string(htmltoken.AppendDecoded(nil, []byte(src), htmltoken.InText)), html.UnescapeString(src); got != want {
				t.Errorf("%s in text: %q, want %q", src, got, want)
			}
			z := html.NewTokenizer(strings.NewReader(`<a href="` + src + `">`))
			z.Next()
			z.TagName()
			_, want, _ := z.TagAttr()
			if got := string(htmltoken.AppendDecoded(nil, []byte(src), htmltoken.InAttribute)); got != string(want) {
				t.Errorf("%s in an attribute: %q, want %q", src, got, want)
			}
		}
	}
}
