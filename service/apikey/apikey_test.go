package apikey

import (
	"testing"
)

func TestNew(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		k := New()
		if len(k.Text) != Length || len(k.ID) != idLength || seen[k.ID] {
			t.Fatalf("key %q, id %q", k.Text, k.ID)
		}
		seen[k.ID] = true
		if got, ok := Read(k.Text); !ok || got != k || got.Sum() != k.Sum() {
			t.Fatalf("read %q: %+v, %v", k.Text, got, ok)
		}
	}
}

func TestRead(t *testing.T) {
	k := New().Text
	for name, text := range map[string]string{
		"nothing":        "",
		"prefix alone":   Prefix,
		"cut":            k[:len(k)-1],
		"longer":         k + "A",
		"another prefix": "xx_" + k[len(Prefix):],
		"no separator":   k[:len(Prefix)+idLength] + "x" + k[len(Prefix)+idLength+1:],
		"bad secret":     k[:len(k)-1] + "!",
		"bad id":         Prefix + "----________" + k[len(Prefix)+idLength:],
	} {
		if got, ok := Read(text); ok {
			t.Errorf("%s: %q was read as %+v", name, text, got)
		}
	}
}

// FuzzRead never panics, and what it reads has the parts it says.
func FuzzRead(f *testing.F) {
	f.Add(New().Text)
	f.Fuzz(func(t *testing.T, text string) {
		if k, ok := Read(text); ok && Prefix+k.ID+"_" != text[:len(Prefix)+idLength+1] {
			t.Errorf("%q: %+v", text, k)
		}
	})
}
