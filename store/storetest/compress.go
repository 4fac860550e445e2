package storetest

import (
	"testing"

	"headway/store/internal/record"
	"headway/visit"
	"headway/weburl"
)

// Compress compresses and decompresses links, as the engines do. A test that opens an engine
// in a synctest bubble calls it before, outside: the compressor is created when it is first
// used, and one that was created in a bubble cannot be used in another.
func Compress(t testing.TB) {
	t.Helper()
	page, err := weburl.Parse("http://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	v := visit.Visit{Item: visit.Item{URL: page}, Links: []visit.Link{{URL: page, Anchor: "home"}}}
	v.Page.Links = visit.Keep(v.Links, false)
	links, err := record.ReadLinks(record.Links(&v), page)
	if err != nil || len(links) != 1 || links[0].Anchor != "home" {
		t.Fatalf("%v, %v", links, err)
	}
}
