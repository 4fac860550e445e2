package parquet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"headway/internal/atomicfile"
	"headway/internal/race"
	"headway/output"
	"headway/output/outputtest"
	"headway/visit"
	"headway/weburl"
)

var format = outputtest.Drafts(NewPages, readRows)

func readRows(path string) ([]outputtest.Row, error) {
	pages, err := parquet.ReadFile[Page](path)
	var rows []outputtest.Row
	for i := range pages {
		p := &pages[i]
		rows = append(rows, outputtest.Row{URL: p.URL, Ending: output.Ending{Outcome: visit.Outcome(p.Outcome), Reason: visit.Reason(p.Reason)}})
	}
	return rows, err
}

func TestConformance(t *testing.T) { outputtest.Run(t, format) }

// TestConformanceGroups is the same with small row groups.
func TestConformanceGroups(t *testing.T) {
	defer func(rows int, bytes int64) { groupRows, groupBytes = rows, bytes }(groupRows, groupBytes)
	groupRows, groupBytes = 40, 8000
	outputtest.Run(t, format)
}

func TestKill(t *testing.T) { outputtest.Kill(t, format) }

// TestPage pins the row.
func TestPage(t *testing.T) {
	want := Page{
		URL: "https://example.com/b?a,b", Outcome: "failed", Reason: "parse", Status: 200, Depth: 2, Via: "https://example.com/a", Found: "redirect", Hops: 1, Attempt: 1,
		Sent: 1794733200123, FirstByteMS: 1.235, TotalMS: 1000, WireBytes: 10, Bytes: 20,
		ContentType: "text/html", Location: "https://example.com/c", ETag: `W/"y"`, LastModified: "Sun, 15 Nov 2026 10:00:00 GMT", RetryAfter: "5",
		Protocol: "HTTP/2.0", Remote: "192.0.2.1:443", Cache: "expired", CacheBy: "X-Cache: EXPIRED", CacheAge: 7, CacheBarred: "Vary: *",
		Title: "<b>\u2028", Description: "two\nlines", Canonical: "https://example.com/b", Language: "en", Charset: "utf-8",
		Directives: []string{"noindex", "nofollow"}, Digest: "ab", SimHash: 0xfedcba9876543210, Detail: "odd\x7f\ufffd",
		RobotsRule: "Allow: /", RobotsLine: 3, RobotsSHA256: "sha",
		Author: "A. Writer", Published: "2026-11-15", Words: 2, ContentDigest: "cd", ContentCut: true, Text: "One.\n\nTwo \ufffd.", Markdown: "# One\n\nTwo.",
		AITrain: "refused", AISignals: []string{"robots.txt line 2: content-signal: ai-train=no", "meta: robots: noimageai"},
		Fields: `{"price":9.5,"tags":["a","<b>"]}`, FieldProblems: `{"date":"none"}`,
	}
	if diff := cmp.Diff(want, pageOf(outputtest.Full(t))); diff != "" {
		t.Error(diff)
	}
	path := filepath.Join(t.TempDir(), "pages.parquet")
	if err := output.NewAtEnd(false, NewPages(path)).Finish(t.Context(), outputtest.Ledger{outputtest.Full(t)}); err != nil {
		t.Fatal(err)
	}
	rows, err := parquet.ReadFile[Page](path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Page{want}, rows); diff != "" {
		t.Error(diff)
	}
}

// linked is page number n with a few links.
func linked(t testing.TB, n int) *visit.Visit {
	v := outputtest.Visit(10 * n) // those are fetched
	for i := range n % 4 {
		v.Links = append(v.Links, visit.Link{URL: outputtest.URL(t, fmt.Sprintf("https://example.com/%d/%d", n, i)), Kind: "anchor", Nofollow: i == 1})
	}
	return v
}

// crawl is a crawl whose links are collected.
type crawl struct {
	t      *testing.T
	path   string
	ledger outputtest.Ledger
	want   []Link
}

func newCrawl(t *testing.T) *crawl {
	return &crawl{t: t, path: filepath.Join(t.TempDir(), "links.parquet")}
}

// write visits pages a up to b.
func (c *crawl) write(w output.Writer, a, b int) {
	c.t.Helper()
	for n := a; n < b; n++ {
		v := linked(c.t, n)
		c.ledger = append(c.ledger, v)
		if err := w.Write(c.t.Context(), v); err != nil {
			c.t.Fatal(err)
		}
		c.expect(v)
	}
}

// reopen drops what was expected for a page and expects its new links.
func (c *crawl) reopen(v *visit.Visit) {
	c.ledger = slices.DeleteFunc(c.ledger, func(w *visit.Visit) bool { return w.Item.URL == v.Item.URL })
	c.ledger = append(c.ledger, v)
	c.want = slices.DeleteFunc(c.want, func(l Link) bool { return l.From == v.Item.URL.String() })
	c.expect(v)
}

func (c *crawl) expect(v *visit.Visit) {
	for _, l := range v.Links {
		c.want = append(c.want, Link{From: v.Item.URL.String(), To: l.URL.String(), Kind: l.Kind, Nofollow: l.Nofollow})
	}
}

func (c *crawl) open(open func(string) (*Links, error)) *Links {
	c.t.Helper()
	w, err := open(c.path)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { w.Close() })
	return w
}

func (c *crawl) finish(w *Links, missing string) {
	c.t.Helper()
	if err := w.Finish(c.t.Context(), c.ledger); err != nil {
		c.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		c.t.Fatal(err)
	}
	c.check(missing)
}

// check compares the file with what was written.
func (c *crawl) check(missing string) {
	c.t.Helper()
	got, err := parquet.ReadFile[Link](c.path)
	if err != nil {
		c.t.Fatal(err)
	}
	if diff := cmp.Diff(c.want, got); diff != "" {
		c.t.Fatal(diff)
	}
	meta, err := metaOf(c.path)
	if err != nil || meta[LinksKey] != AllLinks || meta[MissingKey] != missing {
		c.t.Fatalf("%v, %v", meta, err)
	}
	files, err := os.ReadDir(filepath.Dir(c.path))
	if err != nil || len(files) != 1 {
		c.t.Fatalf("more than the file: %v, %v", files, err)
	}
}

func (c *crawl) absent() {
	c.t.Helper()
	if there, err := atomicfile.Exists(c.path); there || err != nil {
		c.t.Fatalf("there is a file before it was finished, %v", err)
	}
}

// TestLinks collects over several runs, finishes, continues, and finishes again.
func TestLinks(t *testing.T) {
	c := newCrawl(t)
	w := c.open(CreateLinks)
	c.write(w, 0, 20)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c.absent()
	w = c.open(ResumeLinks)
	c.write(w, 20, 50)
	c.finish(w, "0")

	c.finish(c.open(ResumeLinks), "0") // nothing was added
	w = c.open(ResumeLinks)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	c.check("0") // stays until there is more
	c.write(w, 50, 60)
	c.absent()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = c.open(ResumeLinks)
	c.write(w, 60, 70)
	c.finish(w, "0")

	c.ledger, c.want = nil, nil // another crawl
	w = c.open(CreateLinks)
	c.write(w, 3, 5)
	c.finish(w, "0")
	if w.Write(t.Context(), linked(t, 1)) == nil {
		t.Error("a closed writer takes more")
	}
}

// TestLinksTruncated truncates the spool at any byte, or leaves zeros there: what was complete is
// kept, and the file says how much is missing.
func TestLinksTruncated(t *testing.T) {
	c := newCrawl(t)
	w := c.open(CreateLinks)
	for n := range 6 {
		c.write(w, 3*n, 3*n+3)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	spool, err := os.ReadFile(c.path + spoolSuffix)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	step := 17
	if race.Short() {
		step = 85 // two files are written and synced for each size
	}
	for size := len(spool); size >= 0; size -= step {
		for name, text := range map[string][]byte{"cut": spool[:size], "zeros": append(append([]byte{}, spool[:size]...), make([]byte, len(spool)-size)...)} {
			if err := os.WriteFile(c.path+spoolSuffix, text, 0o600); err != nil {
				t.Fatal(err)
			}
			w := c.open(ResumeLinks)
			if err := w.Finish(t.Context(), c.ledger); err != nil {
				t.Fatalf("%s at %d: %v", name, size, err)
			}
			got, err := parquet.ReadFile[Link](c.path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want[:len(got)], got); len(got) > 0 && diff != "" {
				t.Fatal(diff)
			}
			meta, err := metaOf(c.path)
			if err != nil {
				t.Fatal(err)
			}
			seen[meta[MissingKey]] = true
			if err := os.Remove(c.path); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, missing := range []string{"15", "3", "0"} {
		if !seen[missing] {
			t.Errorf("never were %s pages missing: %v", missing, seen)
		}
	}
}

// TestLinksKilledInFinish simulates a kill between any two steps of Finish: nothing is
// duplicated.
func TestLinksKilledInFinish(t *testing.T) {
	for name, kill := range map[string]func(c *crawl, before, spool, done []byte) map[string][]byte{
		"before the file has its name": func(_ *crawl, before, spool, _ []byte) map[string][]byte {
			return map[string][]byte{beforeSuffix: before, spoolSuffix: spool, atomicfile.PartSuffix: []byte("half")}
		},
		"before anything is removed": func(_ *crawl, before, spool, done []byte) map[string][]byte {
			return map[string][]byte{beforeSuffix: before, spoolSuffix: spool, "": done}
		},
		"before the spool is removed": func(_ *crawl, _, spool, done []byte) map[string][]byte {
			return map[string][]byte{spoolSuffix: spool, "": done}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrawl(t)
			w := c.open(CreateLinks)
			c.write(w, 0, 10)
			c.finish(w, "0")
			w = c.open(ResumeLinks)
			c.write(w, 10, 20)
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			read := func(suffix string) []byte {
				text, err := os.ReadFile(c.path + suffix)
				if err != nil {
					t.Fatal(err)
				}
				return text
			}
			before, spool := read(beforeSuffix), read(spoolSuffix)
			c.finish(w, "0")
			done := read("")
			if err := os.Remove(c.path); err != nil {
				t.Fatal(err)
			}
			for suffix, text := range kill(c, before, spool, done) {
				if err := os.WriteFile(c.path+suffix, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c.finish(c.open(ResumeLinks), "0")
			w = c.open(ResumeLinks)
			c.write(w, 20, 25)
			c.finish(w, "0")
		})
	}
}

// TestLinksStopped stops Finish and repeats it, with additions in between.
func TestLinksStopped(t *testing.T) {
	c := newCrawl(t)
	w := c.open(CreateLinks)
	c.write(w, 0, 10)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Finish(ctx, c.ledger); err == nil {
		t.Fatal("it did not stop")
	}
	c.absent()
	c.write(w, 10, 20)
	c.finish(w, "0")
}

// TestLinksReopened fetches pages again, once within a run and once after the file was
// finished: their new links count, once.
func TestLinksReopened(t *testing.T) {
	for name, between := range map[string]func(c *crawl, w *Links) *Links{
		"in one run": func(_ *crawl, w *Links) *Links { return w },
		"in another run": func(c *crawl, w *Links) *Links {
			if err := w.Close(); err != nil {
				c.t.Fatal(err)
			}
			return c.open(ResumeLinks)
		},
		"after it was finished": func(c *crawl, w *Links) *Links {
			c.finish(w, "0")
			return c.open(ResumeLinks)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func(most int) { mostPages = most }(mostPages)
			mostPages = 3 // processed together
			c := newCrawl(t)
			w := c.open(CreateLinks)
			c.write(w, 0, 10)
			w = between(c, w)
			again := func(v *visit.Visit) {
				c.reopen(v)
				if err := w.Write(t.Context(), v); err != nil {
					t.Fatal(err)
				}
			}
			more := linked(t, 3)
			more.Links = append(more.Links, visit.Link{URL: outputtest.URL(t, "https://example.com/new"), Kind: "anchor"})
			again(more)
			again(linked(t, 5))
			none := linked(t, 6)
			none.Links = nil
			again(none)
			gone := linked(t, 7)
			gone.Outcome, gone.Answer.Status, gone.Links = visit.Dead, 404, nil
			again(gone)
			same := linked(t, 9) // unchanged: it keeps its links
			same.Outcome, same.Answer.Status, same.Links = visit.NotModified, 304, nil
			if err := w.Write(t.Context(), same); err != nil {
				t.Fatal(err)
			}
			c.write(w, 10, 15)
			c.finish(w, "0")
			c.finish(c.open(ResumeLinks), "0")
		})
	}
}

// TestLinksTruncatedAndRefetched truncates the spool within the links of a page that was fetched
// again: all of its old links are better than some of the new.
func TestLinksTruncatedAndRefetched(t *testing.T) {
	c := newCrawl(t)
	w := c.open(CreateLinks)
	c.write(w, 0, 4)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	long := linked(t, 3)
	for n := range 5000 {
		long.Links = append(long.Links, visit.Link{URL: outputtest.URL(t, fmt.Sprintf("https://example.com/%d/%s", n, strings.Repeat("x", 50))), Kind: "anchor"})
	}
	if err := errors.Join(w.Write(t.Context(), long), w.Close()); err != nil {
		t.Fatal(err)
	}
	spool, err := os.ReadFile(c.path + spoolSuffix)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.path+spoolSuffix, spool[:len(spool)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	w = c.open(ResumeLinks)
	c.write(w, 4, 6)
	c.finish(w, "0")
}

// TestLinksOfOnePage is a page whose links fill many frames.
func TestLinksOfOnePage(t *testing.T) {
	c := newCrawl(t)
	v := outputtest.Visit(0)
	for n := range 20_000 {
		v.Links = append(v.Links, visit.Link{URL: outputtest.URL(t, fmt.Sprintf("https://example.com/%d/%s", n, strings.Repeat("x", 50))), Kind: "anchor"})
	}
	w := c.open(CreateLinks)
	c.ledger = append(c.ledger, v)
	if err := w.Write(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	c.expect(v)
	c.finish(w, "0")
}

// TestFirstLinks reads the links known to the store.
func TestFirstLinks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "links.parquet")
	seed := outputtest.Visit(0)
	seed.Item.Via, seed.Item.Found = weburl.URL{}, visit.FoundSeed
	l := outputtest.Ledger{seed, outputtest.Visit(7), outputtest.Visit(4)}
	if err := output.NewAtEnd(false, NewFirstLinks(path)).Finish(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	got, err := parquet.ReadFile[Link](path)
	want := []Link{{From: `https://example.com/6?q=\6`, To: `https://example.com/7?q=\7`, Kind: "link"}, {From: `https://example.com/3?q=\3`, To: `https://example.com/4?q=\4`, Kind: "link"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if meta, err := metaOf(path); err != nil || meta[LinksKey] != FirstLinks {
		t.Errorf("%v, %v", meta, err)
	}
}

func FuzzSpool(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		end, err := readSpool(strings.NewReader(string(data)), func(string) error { return nil })
		if err != nil || end < 0 || end > int64(len(data)) {
			t.Fatalf("%d of %d bytes, %v", end, len(data), err)
		}
	})
}

func BenchmarkPage(b *testing.B) {
	outputtest.BenchmarkAdd(b, NewPages(filepath.Join(b.TempDir(), "pages.parquet")))
}

// BenchmarkLinks collects the links of a page with 50.
func BenchmarkLinks(b *testing.B) {
	w, err := CreateLinks(filepath.Join(b.TempDir(), "links.parquet"))
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	v := outputtest.Visit(0)
	for n := range 50 {
		v.Links = append(v.Links, visit.Link{URL: outputtest.URL(b, fmt.Sprintf("https://example.com/section/%d/page-%d", n%7, n*n)), Kind: "anchor"})
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(b.Context(), v); err != nil {
			b.Fatal(err)
		}
	}
}
