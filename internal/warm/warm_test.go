package warm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/store"
	"headway/visit"
	"headway/weburl"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// fakeStore is a store that can only be listed, a few entries at a time.
type fakeStore struct {
	store.URLs
	entries []store.Entry
	each    int
}

func (s fakeStore) List(_ context.Context, q store.Query) (store.Page, error) {
	var match []store.Entry
	for _, e := range s.entries {
		if e.Outcome == q.Outcome {
			match = append(match, e)
		}
	}
	from := 0
	if q.After != "" {
		if _, err := fmt.Sscan(string(q.After), &from); err != nil {
			return store.Page{}, err
		}
	}
	page := store.Page{Entries: match[from:min(from+s.each, len(match))]}
	if from+s.each < len(match) {
		page.Next = store.Cursor(fmt.Sprint(from + s.each))
	}
	return page, nil
}

// put adds a page.
func (s *fakeStore) put(t *testing.T, path string, outcome visit.Outcome, c visit.Cache, took time.Duration, sent time.Time) {
	t.Helper()
	u, err := weburl.Parse("https://example.com" + path)
	if err != nil {
		t.Fatal(err)
	}
	it := visit.Item{Job: 1, URL: u, Found: visit.FoundSitemap}
	s.entries = append(s.entries, store.Entry{Item: it, Outcome: outcome, Visit: &visit.Visit{
		Item: it, Outcome: outcome, Answer: visit.Answer{Status: 200, Cache: c}, Timing: visit.Timing{Sent: sent, FirstByte: took},
	}})
}

// site is a shop of which some pages are cached.
func site(t *testing.T) *fakeStore {
	const ms = time.Millisecond
	s := &fakeStore{each: 2}
	s.put(t, "/", visit.Fetched, visit.Cache{Verdict: visit.CacheHit, By: "X-Cache: HIT"}, 4*ms, noon)
	for i := range 5 {
		s.put(t, fmt.Sprintf("/p%d", i), visit.Fetched, visit.Cache{Verdict: visit.CacheMiss}, time.Duration(200+10*i)*ms, noon)
	}
	s.put(t, "/old", visit.NotModified, visit.Cache{Verdict: visit.CacheExpired}, 180*ms, noon)
	s.put(t, "/cart?token=x", visit.Fetched, visit.Cache{Verdict: visit.CacheMiss, Barred: "Cache-Control: no-store"}, 300*ms, noon)
	s.put(t, "/me", visit.Fetched, visit.Cache{Verdict: visit.CacheDynamic, Barred: "Cache-Control: no-store"}, 310*ms, noon)
	s.put(t, "/login", visit.Fetched, visit.Cache{Verdict: visit.CacheBypass, Barred: "Set-Cookie"}, 320*ms, noon)
	s.put(t, "/plain", visit.Fetched, visit.Cache{}, 90*ms, noon)
	s.put(t, "/gone", visit.Dead, visit.Cache{Verdict: visit.CacheMiss}, 9*ms, noon)
	return s
}

func TestRead(t *testing.T) {
	got, err := Read(t.Context(), site(t), 1, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	row := func(v visit.CacheVerdict, pages, median, p95 int64) Row {
		return Row{Verdict: v, Share: float64(pages) / 11, Latency: Latency{pages, median, p95}}
	}
	want := &Reading{
		Pages: 11, Sitemaps: 11, Latency: Latency{11, 220, 320}, Cold: Latency{6, 220, 240},
		Rows: []Row{
			row(visit.CacheHit, 1, 4, 4), row(visit.CacheExpired, 1, 180, 180), row(visit.CacheMiss, 6, 230, 300),
			row(visit.CacheBypass, 1, 320, 320), row(visit.CacheDynamic, 1, 310, 310), row(Unknown, 1, 90, 90),
		},
		Barred: []Bar{{"Cache-Control: no-store", 2, "https://example.com/cart?token=REDACTED"}, {"Set-Cookie", 1, "https://example.com/login"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var sum int64
	for _, r := range got.Rows {
		sum += r.Pages
	}
	if sum != got.Pages {
		t.Errorf("the rows add up to %d of %d pages", sum, got.Pages)
	}
}

func TestCold(t *testing.T) {
	var got []string
	err := Cold(t.Context(), site(t), 1, func(urls []weburl.URL) error {
		for _, u := range urls {
			got = append(got, u.Path())
		}
		return nil
	})
	if want := "/p0 /p1 /p2 /p3 /p4 /old"; err != nil || strings.Join(got, " ") != want {
		t.Errorf("got %v, %v; want %s", got, err, want)
	}
}

func TestPrint(t *testing.T) {
	s := site(t)
	before, err := Read(t.Context(), s, 1, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i < 7; i++ { // the misses are hits now
		v := s.entries[i].Visit
		v.Answer.Cache, v.Timing = visit.Cache{Verdict: visit.CacheHit}, visit.Timing{Sent: noon.Add(time.Hour), FirstByte: 3 * time.Millisecond}
	}
	after, err := Read(t.Context(), s, 1, noon.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := Print(&b, before, after); err != nil {
		t.Fatal(err)
	}
	want := `    cache  pages  share  median     p95  after  share  median     p95
      hit      1    9 %    4 ms    4 ms      7   64 %    3 ms    4 ms
  expired      1    9 %  180 ms  180 ms      0                       
     miss      6   55 %  230 ms  300 ms      1    9 %  300 ms  300 ms
   bypass      1    9 %  320 ms  320 ms      1    9 %  320 ms  320 ms
  dynamic      1    9 %  310 ms  310 ms      1    9 %  310 ms  310 ms
  unknown      1    9 %   90 ms   90 ms      1    9 %   90 ms   90 ms
      all     11  100 %  220 ms  320 ms     11  100 %    3 ms  320 ms
requested twice: 6 pages; median 220 ms, then 3 ms; p95 240 ms, then 3 ms
requested once, because shared caches may not store them: 3 pages
       2  Cache-Control: no-store, for example https://example.com/cart?token=REDACTED
       1  Set-Cookie, for example https://example.com/login
no cache information for 1 page
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}

	b.Reset()
	if err := Print(&b, &Reading{}, nil); err != nil || b.String() != "no page was fetched\n" {
		t.Errorf("of nothing: %q, %v", b.String(), err)
	}
}

// TestManyHeaders bounds how many headers are kept.
func TestManyHeaders(t *testing.T) {
	s := &fakeStore{each: 500}
	for i := range maxBars + 50 {
		s.put(t, fmt.Sprintf("/%d", i), visit.Fetched, visit.Cache{Barred: fmt.Sprintf("Expires: %d", i)}, 1, noon)
	}
	r, err := Read(t.Context(), s, 1, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Barred) != maxBars+1 || r.Barred[0] != (Bar{otherHeaders, 50, "https://example.com/1000"}) {
		t.Errorf("%d headers, the first %+v", len(r.Barred), r.Barred[0])
	}
}

func TestState(t *testing.T) {
	dir := t.TempDir()
	if s, err := Load(dir); err != nil || !cmp.Equal(s, State{}) {
		t.Fatalf("of nothing: %+v, %v", s, err)
	}
	want := State{Links: true, AgainAt: noon, Before: &Reading{Pages: 3}, First: Sum{3, 4, time.Second, 1}}
	if err := want.Save(dir); err != nil {
		t.Fatal(err)
	}
	if got, err := Load(dir); err != nil || !cmp.Equal(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, stateFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil {
		t.Error("half a state was read")
	}
	for range 2 {
		if err := Forget(dir); err != nil {
			t.Error(err)
		}
	}
}
