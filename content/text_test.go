package content

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestMeasure compares what is counted eight bytes at a time with the same byte by byte.
func TestMeasure(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		text := randomText(rng)
		chars, some, all := measure(text)
		var wantChars int32
		wantSome, wantAll, before := byte(0), ^byte(0), byte(0)
		for _, c := range text {
			class := textByte[c]
			wantChars += int32(class & byteFirst)
			wantSome |= class
			wantAll &= class
			if c == ' ' && before == ' ' {
				wantAll = 0
			}
			before = c
		}
		wantSome, wantAll = wantSome&^byteFirst, wantAll&^byteFirst
		if chars != wantChars || some != wantSome || all != wantAll {
			t.Fatalf("%q has %d characters, some %b, all %b; want %d, %b and %b", text, chars, some, all, wantChars, wantSome, wantAll)
		}
	}
}

// TestPlainLen does the same with the length of plain text.
func TestPlainLen(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		text := []byte("a" + string(randomText(rng)))
		for _, class := range []byte{byteWord, byteInner, bytePlain} {
			want := 0
			for want < len(text) && textByte[text[want]]&class != 0 && (text[want] != ' ' || text[want-1] != ' ') {
				want++
			}
			if text[want-1] == ' ' {
				want--
			}
			if got := plainLen(text, class); got != want {
				t.Fatalf("%d bytes of %q are of the class %b, want %d", got, text, class, want)
			}
		}
	}
}

// randomText is mostly words, with any byte now and then.
func randomText(rng *rand.Rand) []byte {
	text := []byte(strings.Repeat("Mostly words here and azAZ", 3))[:rng.IntN(70)]
	for range rng.IntN(3) {
		if len(text) > 0 {
			text[rng.IntN(len(text))] = byte(rng.IntN(256))
		}
	}
	return text
}
