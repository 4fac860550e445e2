package record

import (
	"errors"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"

	"headway/store"
	"headway/visit"
)

// TestTexts reads back what was written, also the longest texts, and refuses anything else.
func TestTexts(t *testing.T) {
	long := strings.Repeat("ü", visit.MaxText/2)
	for name, c := range map[string]visit.Content{
		"both":          {Text: "a\x00b", Markdown: "# \xff"},
		"text only":     {Text: "a"},
		"Markdown only": {Markdown: "a"},
		"fields":        {Fields: `{"a":1}`},
		"problems":      {FieldProblems: `{"a":"b"}`},
		"all":           {Text: "a", Markdown: "# a", Fields: `{"a":1}`, FieldProblems: `{"a":"b"}`},
		"longest":       {Text: long, Markdown: long, Fields: visit.Object(long)},
	} {
		c.Words = 3
		v := &visit.Visit{Page: visit.Page{Content: c.Facts()}}
		if err := ReadTexts(Texts(&c), v); err != nil || *v.Page.Content != c {
			t.Errorf("%s: %d bytes, %v", name, v.Page.Content.Size(), err)
		}
	}
	if data := Texts(&visit.Content{Words: 3}); data != nil {
		t.Errorf("no texts are %d bytes", len(data))
	}
	whole := Texts(&visit.Content{Text: "some text"})
	for name, data := range map[string][]byte{
		"torn":         whole[:len(whole)-1],
		"no length":    s2.Encode(nil, nil),
		"wrong length": s2.Encode(nil, []byte{200, 1, 0, 0, 'a'}),
		"two lengths":  s2.Encode(nil, []byte{0, 0}),
		"few fields":   s2.Encode(nil, []byte{0, 0, 2, 'a'}),
		"too long":     s2.Encode(nil, make([]byte, maxTexts+1)),
	} {
		v := &visit.Visit{Page: visit.Page{Content: &visit.Content{}}}
		if err := ReadTexts(data, v); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
