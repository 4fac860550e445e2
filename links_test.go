package headway_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parquet-go/parquet-go"

	"headway/job"
	"headway/output"
	outparquet "headway/output/parquet"
	"headway/store"
	"headway/store/memory"
	"headway/store/storetest"
	"headway/visit"
	"headway/weburl"
)

// pagesWithLinks are the pages of a crawl with their links.
func pagesWithLinks(t *testing.T, st store.Store, id job.ID) map[string]*visit.Visit {
	t.Helper()
	page, err := st.List(t.Context(), store.Query{Job: id, Links: true, Max: store.MaxPage})
	if err != nil || page.Next != "" {
		t.Fatalf("more after %q, %v", page.Next, err)
	}
	pages := map[string]*visit.Visit{}
	for _, e := range page.Entries {
		if e.Outcome == visit.Fetched || e.Outcome == visit.NotModified {
			pages[e.Item.URL.String()] = e.Visit
		}
	}
	return pages
}

// TestKeepLinks interrupts and resumes a crawl that keeps links. In the end each page has its
// links once, in the store and in the file, also those that were not followed.
func TestKeepLinks(t *testing.T) {
	const pages = 30
	storetest.Compress(t)
	for name, open := range localStores {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "links.parquet")
			var stored map[string]*visit.Visit
			synctest.Test(t, func(t *testing.T) {
				site := small(pages)
				site.Site.NofollowLinks, site.Site.Links = 1, 10
				s := newSimulated(t, 1, site)
				st, err := open(t)
				if err != nil {
					t.Fatal(err)
				}
				defer st.Close()
				drain := make(chan struct{})
				time.AfterFunc(10*time.Second, func() { close(drain) })
				s.cfg.Store, s.cfg.Links, s.cfg.Drain = st, true, drain
				first := s.run()
				if n := len(pagesWithLinks(t, st, first.Job)); n == 0 || n >= pages {
					t.Fatalf("%d pages before it was interrupted", n)
				}
				s.cfg.Drain, s.cfg.Outputs = nil, []output.Writer{output.NewAtEnd(true, outparquet.NewLinks(path))}
				s.fetched(s.run(), pages)
				stored = pagesWithLinks(t, st, first.Job)
			})
			checkLinks(t, stored, path)
		})
	}
}

// checkLinks compares the links in a store with those in a file.
func checkLinks(t *testing.T, stored map[string]*visit.Visit, path string) {
	t.Helper()
	rows, err := parquet.ReadFile[outparquet.Link](path)
	if err != nil {
		t.Fatal(err)
	}
	inFile := map[string]int{}
	for _, r := range rows {
		if inFile[r.From]++; int(r.Position) != inFile[r.From] {
			t.Fatalf("%+v is the link %d of its page", r, inFile[r.From])
		}
	}
	kept, nofollow, texts := 0, 0, 0
	for u, v := range stored {
		if v.Page.Links == nil || v.Page.Links.Count != len(v.Links) || v.Page.Links.Cut || len(v.Links) == 0 || inFile[u] != len(v.Links) {
			t.Fatalf("%s has %+v, %d links in the store, %d in the file", u, v.Page.Links, len(v.Links), inFile[u])
		}
		kept += len(v.Links)
		for _, l := range v.Links {
			if l.Nofollow {
				nofollow++
			}
			if l.Anchor != "" {
				texts++
			}
		}
	}
	if kept != len(rows) || nofollow == 0 || texts < kept/2 {
		t.Errorf("%d links, %d in the file, %d nofollow, %d with text", kept, len(rows), nofollow, texts)
	}
}

// TestNoLinks keeps nothing unless it is requested.
func TestNoLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 1, small(5))
		r := s.run()
		for u, v := range pagesWithLinks(t, s.st, r.Job) {
			if v.Page.Links != nil || v.Links != nil {
				t.Errorf("%s has %d links", u, len(v.Links))
			}
		}
		if kept, err := s.st.KeepsLinks(t.Context(), r.Job); err != nil || kept {
			t.Errorf("kept: %t, %v", kept, err)
		}
	})
}

// TestLinksSince takes the links of unchanged pages from an earlier crawl, and does not follow
// them again.
func TestLinksSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages = 30
		s := newSimulated(t, 1, small(pages))
		s.cfg.Links = true
		first := s.run()
		s.fetched(first, pages)
		was, from := pagesWithLinks(t, s.st, first.Job), s.st
		s.cfg.Store, s.cfg.Since = memory.Open(memory.Config{}), urlsOf(t.Context(), from, first.Job)
		s.cfg.Known = func(ctx context.Context, u weburl.URL) (*visit.Visit, error) {
			e, err := from.Lookup(ctx, first.Job, u)
			if errors.Is(err, store.ErrNotFound) || e.Visit == nil {
				return nil, nil
			}
			e.Visit.Links, err = from.Links(ctx, first.Job, u)
			return e.Visit, err
		}
		second := s.run()
		is := pagesWithLinks(t, s.cfg.Store, second.Job)
		unchanged := 0
		for u, v := range is {
			if v.Outcome != visit.NotModified {
				continue
			}
			unchanged++
			if v.Page.Links == nil || len(v.Links) != len(was[u].Links) {
				t.Errorf("%s has %d links, had %d", u, len(v.Links), len(was[u].Links))
			}
		}
		if unchanged < pages/2 || len(is) != pages {
			t.Errorf("%d of %d pages are unchanged", unchanged, len(is))
		}
	})
}
