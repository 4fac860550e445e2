package parquet

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"headway/output"
	"headway/output/outputtest"
	"headway/visit"
)

// TestKeptLinks writes the links that a crawl kept, and says how many pages have none. What
// an earlier run collected is removed.
func TestKeptLinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "links.parquet")
	if err := os.WriteFile(path+spoolSuffix, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	page := func(raw string, kept *visit.KeptLinks, links ...visit.Link) *visit.Visit {
		v := outputtest.Visit(0)
		v.Item.URL, v.Links, v.Page.Links = outputtest.URL(t, raw), links, kept
		return v
	}
	one := visit.Link{URL: outputtest.URL(t, "https://example.com/1"), Kind: "a", Anchor: "One \xff", Rel: "nofollow ugc", Nofollow: true}
	two := visit.Link{URL: outputtest.URL(t, "https://other.example/"), Kind: "link"}
	redirect := page("https://example.com/old", nil, two)
	redirect.Outcome, redirect.Answer.Location = visit.Redirected, two.URL
	l := outputtest.Ledger{
		page("https://example.com/a", &visit.KeptLinks{Count: 2}, one, two),
		page("https://example.com/b", &visit.KeptLinks{Count: 1, Cut: true}, two, one),
		page("https://example.com/c", nil, one),
		page("https://example.com/d", &visit.KeptLinks{}),
		redirect,
	}
	w := output.NewAtEnd(false, NewPages(path+".pages"), NewLinks(path))
	if !w.ReadsLinks() || output.NewAtEnd(false, NewFirstLinks(path)).ReadsLinks() {
		t.Error("only a file of all links reads them")
	}
	if err := w.Finish(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.ReadFile[Link](path)
	if err != nil {
		t.Fatal(err)
	}
	want := []Link{
		{From: "https://example.com/a", To: "https://example.com/1", Kind: "a", Nofollow: true, Anchor: "One \ufffd", Rel: "nofollow ugc", Position: 1},
		{From: "https://example.com/a", To: "https://other.example/", Kind: "link", Position: 2},
		{From: "https://example.com/b", To: "https://other.example/", Kind: "link", Position: 1},
	}
	slices.SortFunc(rows, func(a, b Link) int { return cmp.Or(strings.Compare(a.From, b.From), int(a.Position-b.Position)) })
	if diff := gocmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	meta, err := metaOf(path)
	if err != nil || meta[LinksKey] != AllLinks || meta[PagesKey] != "3" || meta[MissingKey] != "1" {
		t.Errorf("metadata %v, %v", meta, err)
	}
	if _, err := os.Stat(path + spoolSuffix); !os.IsNotExist(err) {
		t.Errorf("the spool: %v", err)
	}
}
