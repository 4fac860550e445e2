package storetest

import (
	"testing"

	"headway/store/internal/record"
	"headway/visit"
)

// Compress compresses and decompresses something, as the engines do with texts and links. A
// test that opens an engine in a synctest bubble calls it before, outside: the compressor is
// created when it is first used, and one that was created in a bubble cannot be used in
// another.
func Compress(t testing.TB) {
	t.Helper()
	v := visit.Visit{Page: visit.Page{Content: &visit.Content{Text: "text"}}}
	if err := record.ReadTexts(record.Texts(v.Page.Content), &v); err != nil || v.Page.Content.Text != "text" {
		t.Fatalf("%q, %v", v.Page.Content.Text, err)
	}
}
