package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// said returns content that is different for each URL and version.
func said(raw string, version int) *visit.Content {
	text := fmt.Sprintf("Version %d of %s.\n\nA \x00 byte, \xff and “ü”.\n", version, raw)
	return &visit.Content{
		Text: text, Markdown: "# Page\n\n" + text, Author: "A. Writer", Published: "2026-11-15", Words: 9 + version, Digest: fmt.Sprint("digest ", version),
		Fields: visit.Object(fmt.Sprintf(`{"price":%d,"name":"<b>"}`, version)), FieldProblems: `{"date":"none"}`,
	}
}

// testContent stores the texts of pages with their visits.
func testContent(t *testing.T, open Open) {
	inWorlds(t, open, []scene{
		{"stored and read back", readsContent},
		{"replaced by the next visit", replacesContent},
		{"deleted with the job", deletesContent},
		{"bounded", boundsContent},
	})
}

// signals are the AI-use signals of the same pages.
var signals = []visit.Signal{{Source: visit.SignalRobots, Line: 3, Text: "content-signal: ai-train=no", Training: visit.TrainingRefused}, {Source: visit.SignalMeta, Text: "robots: noimageai"}}

// say fetches waiting pages with content.
func (w *world) say(version int, urls ...string) {
	w.t.Helper()
	var c store.Commit
	for _, raw := range urls {
		v := w.visited(raw)
		v.Page.Content, v.Page.Signals = said(raw, version), signals
		c.Visits = append(c.Visits, v)
	}
	w.w.must(c)
}

// content reads the content of one page.
func (w *world) content(raw string) *visit.Content {
	w.t.Helper()
	is, err := w.store.Content(w.ctx, w.job, mustURL(w.t, raw))
	w.check(err)
	return is
}

func same(t *testing.T, what string, got, want *visit.Content) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s:\n%s", what, diff)
	}
}

func readsContent(t *testing.T, w *world) {
	const one, other, plain, waits = "http://a.example/1", "http://b.example/2", "http://a.example/plain", "http://a.example/waits"
	w.add(one, other, plain, waits)
	if _, err := w.store.List(w.ctx, store.Query{Job: w.job, Max: 10, Texts: true}); err != nil {
		t.Errorf("before the first text: %v", err)
	}
	w.say(1, one, other)
	w.w.must(store.Commit{Visits: []visit.Visit{w.visited(plain)}})
	want := map[string]*visit.Content{one: said(one, 1), other: said(other, 1), plain: nil, waits: nil}
	for raw, is := range want {
		same(t, raw, w.content(raw), is)
	}
	if _, err := w.store.Content(w.ctx, w.job, mustURL(t, "http://a.example/unknown")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown URL: %v", err)
	}
	e, err := w.store.Lookup(w.ctx, w.job, mustURL(t, one))
	w.check(err)
	same(t, "looked up, without texts", e.Visit.Page.Content, want[one].Facts())
	if !slices.Equal(e.Visit.Page.Signals, signals) {
		t.Errorf("signals %+v", e.Visit.Page.Signals)
	}
	for _, q := range []store.Query{{}, {Host: "http://a.example"}, {Outcome: visit.Fetched}, {Outcome: visit.Pending}} {
		for _, texts := range []bool{false, true} {
			q.Job, q.Max, q.Texts, q.After = w.job, 2, texts, ""
			for {
				page, err := w.store.List(w.ctx, q)
				w.check(err)
				for i := range page.Entries {
					e := &page.Entries[i]
					is := want[e.Item.URL.String()]
					if !texts {
						is = is.Facts()
					}
					var got *visit.Content
					if e.Visit != nil {
						got = e.Visit.Page.Content
					}
					same(t, fmt.Sprintf("%+v: %s", q, e.Item.URL), got, is)
				}
				if q.After = page.Next; q.After == "" {
					break
				}
			}
		}
	}
}

func replacesContent(t *testing.T, w *world) {
	const page, dead = "http://a.example/1", "http://a.example/2"
	w.add(page, dead)
	w.say(1, page, dead)
	n, err := w.store.Reopen(w.ctx, w.now, w.job, []weburl.URL{mustURL(t, page), mustURL(t, dead)})
	if err != nil || n != 2 {
		t.Fatalf("%d reopened, %v", n, err)
	}
	same(t, "a page that waits again", w.content(page), nil)
	w.say(2, page)
	w.w.must(store.Commit{Visits: []visit.Visit{w.ended(dead, visit.Dead, "")}})
	same(t, "the later visit", w.content(page), said(page, 2))
	same(t, "a page that is dead now", w.content(dead), nil)
	e, err := w.store.Lookup(w.ctx, w.job, mustURL(t, page))
	w.check(err)
	if len(e.Attempts) != 1 {
		t.Fatalf("%d attempts", len(e.Attempts))
	}
	same(t, "the earlier visit, without texts", e.Attempts[0].Page.Content, said(page, 1).Facts())
}

func deletesContent(t *testing.T, w *world) {
	const page = "http://a.example/1"
	w.add(page)
	w.say(1, page)
	gone, other := w.job, w.newJob(5)
	w.job = other
	w.add(page)
	_, err := w.store.Reserve(w.ctx, w.w.id, other, 1)
	w.check(err)
	w.say(2, page)
	w.check(w.store.SetState(w.ctx, w.now, gone, job.Running, job.Complete, ""))
	w.check(w.store.Drop(w.ctx, gone))
	if _, err := w.store.Content(w.ctx, gone, mustURL(t, page)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a dropped job: %v", err)
	}
	same(t, "another job", w.content(page), said(page, 2))
	w.check(w.store.SetState(w.ctx, w.now, other, job.Running, job.Complete, ""))
	w.check(w.store.Drop(w.ctx, other))
	if _, err := w.store.Content(w.ctx, other, mustURL(t, page)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a dropped job: %v", err)
	}
}

func boundsContent(t *testing.T, w *world) {
	const pages = store.MaxTexts/visit.MaxText + 4
	long := strings.Repeat("word ", visit.MaxText/5+1)[:visit.MaxText]
	var urls []string
	for i := range pages {
		urls = append(urls, fmt.Sprintf("http://a.example/%d", i))
	}
	w.add(urls...)
	w.w.number++
	v := w.visited(urls[0])
	v.Page.Content = &visit.Content{Text: long + "x"}
	if _, err := w.w.send(w.w.prepare(store.Commit{Visits: []visit.Visit{v}})); err == nil {
		t.Error("a text that is too long was stored")
	}
	var c store.Commit
	for _, raw := range urls {
		v := w.visited(raw)
		v.Page.Content = &visit.Content{Text: long}
		c.Visits = append(c.Visits, v)
	}
	if _, err := w.w.send(w.w.prepare(c)); err == nil {
		t.Error("a commit with too many texts was stored")
	}
	w.expect(fmt.Sprintf("waiting %d", pages))
	for _, v := range c.Visits {
		w.w.must(store.Commit{Visits: []visit.Visit{v}})
	}
	seen := 0
	for q := (store.Query{Job: w.job, Outcome: visit.Fetched, Max: store.MaxPage, Texts: true}); ; {
		page, err := w.store.List(w.ctx, q)
		w.check(err)
		size := 0
		for i := range page.Entries {
			size += page.Entries[i].Visit.Page.Content.Size()
		}
		if seen += len(page.Entries); size > 2*store.MaxTexts || size != len(page.Entries)*visit.MaxText {
			t.Errorf("%d entries with texts of %d bytes", len(page.Entries), size)
		}
		if q.After = page.Next; q.After == "" {
			break
		}
	}
	if seen != pages {
		t.Errorf("%d of %d pages were listed", seen, pages)
	}
}
