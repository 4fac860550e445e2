package record

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headway/store"
	"headway/visit"
	"headway/weburl"
)

func mustURL(t testing.TB, raw string) weburl.URL {
	t.Helper()
	u, err := weburl.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// pageWith returns a visit whose links are kept.
func pageWith(t testing.TB, links ...visit.Link) *visit.Visit {
	t.Helper()
	v := &visit.Visit{Item: visit.Item{URL: mustURL(t, "http://site.example/a/page")}, Links: links}
	v.Page.Links = visit.Keep(links, false)
	return v
}

var sameURL = cmp.Comparer(func(a, b weburl.URL) bool { return a == b })

// TestLinks reads back what was written, also the most and longest links.
func TestLinks(t *testing.T) {
	many := make([]visit.Link, visit.MaxLinks)
	for i := range many {
		many[i] = visit.Link{URL: mustURL(t, fmt.Sprintf("http://site.example/%d", i*7919)), Kind: "a", Rel: "x", Anchor: fmt.Sprint(i)}
	}
	long := visit.Link{URL: mustURL(t, "http://site.example/"+strings.Repeat("p", 1000)), Kind: "a", Anchor: strings.Repeat("ü", 500)}
	for name, v := range map[string]*visit.Visit{
		"one": pageWith(t, visit.Link{URL: mustURL(t, "http://other.example/"), Kind: "a"}),
		"all fields": pageWith(t,
			visit.Link{URL: mustURL(t, "http://site.example/a/page"), Kind: "link", Nofollow: true, Rel: "canonical", Anchor: "\x00 \xff"},
			visit.Link{URL: mustURL(t, "http://site.example/a/page?q=1"), Kind: "not known", Rel: "nofollow ugc"},
			visit.Link{URL: mustURL(t, "https://site.example/a/"), Kind: ""}),
		"most":    pageWith(t, many...),
		"longest": pageWith(t, slices.Repeat([]visit.Link{long}, visit.MaxLinkBytes/2008)...),
	} {
		data := Links(v)
		got, err := ReadLinks(data, v.Item.URL)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(v.Kept(), got, sameURL); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	if data := Links(pageWith(t)); data != nil {
		t.Errorf("no links are %d bytes", len(data))
	}
}

// TestLinksTo reads only the links to one URL.
func TestLinksTo(t *testing.T) {
	target, other := mustURL(t, "http://site.example/x"), mustURL(t, "http://site.example/xx")
	v := pageWith(t, visit.Link{URL: target, Kind: "a", Anchor: "1"}, visit.Link{URL: other, Kind: "a", Anchor: "2"}, visit.Link{URL: target, Kind: "area", Anchor: "3"})
	for from, want := range map[int][]string{0: {"0 1", "2 3"}, 1: {"2 3"}, 3: nil} {
		var got []string
		err := LinksTo(Links(v), v.Item.URL, target, from, func(position int, l visit.Link) { got = append(got, fmt.Sprint(position, " ", l.Anchor)) })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("from %d: %q, %v", from, got, err)
		}
	}
}

// TestWrongLinks refuses what Links did not write.
func TestWrongLinks(t *testing.T) {
	v := pageWith(t, visit.Link{URL: mustURL(t, "http://site.example/x"), Kind: "a", Anchor: "text"})
	whole, err := decompressor().DecodeAll(Links(v), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string][]byte{
		"nothing":        nil,
		"torn":           whole[:len(whole)-1],
		"more":           append(slices.Clone(whole), 0),
		"too many":       {0xff, 0xff, 0x7f},
		"unknown kind":   {1, 200, 0, 0, 0, 0},
		"no URL":         {1, 2, 0, 0, 0, 0},
		"shares nothing": {1, 2, 100, 0, 0, 0},
	} {
		if _, err := ReadLinks(compressor().EncodeAll(raw, nil), v.Item.URL); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadLinks([]byte("not compressed"), v.Item.URL); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("not compressed: %v", err)
	}
}

// TestSearch finds the pages of a target among many, in rounds, and skips those that do not
// link to it any more.
func TestSearch(t *testing.T) {
	var key weburl.Key
	target := mustURL(t, "http://site.example/target")
	var index Inlinks
	links := map[int64]*visit.Visit{}
	const pages = 1000
	for i := range int64(pages) {
		v := pageWith(t, visit.Link{URL: mustURL(t, fmt.Sprintf("http://site.example/%d", i)), Kind: "a"}, visit.Link{URL: target, Kind: "a"}, visit.Link{URL: target, Kind: "area"})
		index.Add(i+100, v.Kept(), key)
		if i < 500 && i%10 != 0 {
			continue // it was visited again, and has no links now
		}
		links[i+100] = v
	}
	row := index.Row(TargetOf(target, key).Bucket())
	q := store.InlinkQuery{URL: target, Max: 7}
	found, rounds := 0, 0
	for {
		s, err := NewSearch(q, key)
		if err != nil {
			t.Fatal(err)
		}
		for s.Next() {
			rounds++
			if err := s.Read(row); err != nil {
				t.Fatal(err)
			}
			for _, page := range s.Candidates() {
				if v := links[page]; v != nil {
					if full, err := s.Check(page, v.Item.URL.String(), Links(v)); err != nil || full {
						if err != nil {
							t.Fatal(err)
						}
						break
					}
				}
			}
		}
		found += len(s.Page.Links)
		if q.After = s.Page.Next; q.After == "" {
			break
		}
		if len(s.Page.Links) != q.Max {
			t.Fatalf("%d links, and more", len(s.Page.Links))
		}
	}
	if found != 2*len(links) {
		t.Errorf("%d links of %d pages in %d rounds", found, len(links), rounds)
	}
	if err := new(Search).Read([]byte{0xff}); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a torn row: %v", err)
	}
}

// FuzzReadLinks decodes anything without a panic, and what it accepts is written and read
// back unchanged.
func FuzzReadLinks(f *testing.F) {
	v := pageWith(f, visit.Link{URL: mustURL(f, "http://site.example/a/x"), Kind: "a", Anchor: "text"}, visit.Link{URL: mustURL(f, "http://site.example/a/y"), Kind: "odd", Nofollow: true, Rel: "nofollow"})
	raw, err := decompressor().DecodeAll(Links(v), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte{1, 2, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		page := mustURL(t, "http://site.example/a/page")
		links, err := ReadLinks(compressor().EncodeAll(raw, nil), page)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		v := pageWith(t, links...)
		if v.Page.Links.Cut {
			t.Skip("longer than what is kept")
		}
		again, err := ReadLinks(Links(v), page)
		if err != nil && len(links) > 0 {
			t.Fatal(err)
		}
		if diff := cmp.Diff(links, again, sameURL); len(links) > 0 && diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzInlinks reads any row without a panic.
func FuzzInlinks(f *testing.F) {
	var index Inlinks
	u := mustURL(f, "http://site.example/")
	index.Add(7, []visit.Link{{URL: u}}, weburl.Key{})
	target := TargetOf(u, weburl.Key{})
	f.Add(index.Row(target.Bucket()), uint32(target))
	f.Fuzz(func(t *testing.T, row []byte, target uint32) {
		s := Search{Target: Target(target), most: 1}
		if err := s.Read(bytes.Clone(row)); err != nil && !errors.Is(err, store.ErrCorrupt) {
			t.Fatal(err)
		}
		if n := len(s.Candidates()); n > minCandidates {
			t.Fatalf("%d candidates", n)
		}
	})
}
