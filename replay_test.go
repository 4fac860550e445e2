package headway_test

import (
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headway/content"
	"headway/internal/replay"
	"headway/lab"
	"headway/limit"
	"headway/output"
	"headway/output/warc"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// replayed reads archives into a store, and returns all their URLs.
func replayed(t *testing.T, keep content.Options, dirs ...string) (map[string]*visit.Visit, replay.Result) {
	t.Helper()
	var paths []string
	for _, dir := range dirs {
		list, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, list...)
	}
	r := warc.NewReader(paths...)
	defer r.Close()
	r.Damaged = func(path string, size int64, err error) { t.Errorf("%s at %d: %v", path, size, err) }
	st := memory.Open(memory.Config{})
	result, err := replay.Run(t.Context(), replay.Config{Store: st, Agent: "headway", Content: keep}, r)
	if err != nil {
		t.Fatal(err)
	}
	return visitsOf(t, st, store.Query{Job: result.Job}), result
}

// visitsOf are the visits of a job with their texts.
func visitsOf(t *testing.T, st store.Store, q store.Query) map[string]*visit.Visit {
	t.Helper()
	visits := map[string]*visit.Visit{}
	for q.Texts, q.Max = true, store.MaxPage; ; {
		page, err := st.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			if e.Visit != nil {
				visits[e.Item.URL.String()] = e.Visit
			}
		}
		if q.After = page.Next; q.After == "" {
			return visits
		}
	}
}

// TestReplay crawls with content and an archive. What is read from the archive later equals
// what the crawl stored, in every page that it got a response for: ordinary ones, duplicates,
// odd encodings, errors, redirects, pages that were not modified.
func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		plain, museum := small(20), small(5)
		plain.Site.MinKB, plain.Site.MaxKB = 12, 16
		museum.Site.Exhibits = true
		s := simulate(t, []lab.HostSpec{{Name: "plain.example", Temper: plain}, {Name: "museum.example", Temper: museum}})
		keep := content.Options{Text: true, Markdown: true}
		s.cfg.Content = keep
		s.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Pages: 170}}) // some exhibits have no end
		dirs := []string{t.TempDir(), t.TempDir()}
		crawl := func(dir string) map[string]*visit.Visit {
			w, err := warc.Create(warc.Config{Dir: dir, MaxSize: 200 << 10})
			if err != nil {
				t.Fatal(err)
			}
			s.cfg.Store, s.cfg.Outputs = memory.Open(memory.Config{}), []output.Writer{w}
			return visitsOf(t, s.cfg.Store, store.Query{Job: s.run().Job})
		}
		first := crawl(dirs[0])
		got, result := replayed(t, keep, dirs[0])
		if result.Lost > 0 {
			t.Errorf("%d bodies are lost", result.Lost)
		}
		same(t, first, got)

		if plainly, _ := replayed(t, content.Options{}, dirs[0]); plainly["http://plain.example/"].Page.Content != nil {
			t.Error("content was not requested, but is there")
		}

		// The archive of an incremental crawl has the bodies of changed pages only.
		s.cfg.Since, s.cfg.Known = urlsOf(t.Context(), s.cfg.Store, 1), knownContent(s.cfg.Store, 1)
		second := crawl(dirs[1])
		alone, _ := replayed(t, keep, dirs[1])
		for u, v := range alone {
			if v.Outcome == visit.NotModified && v.Page.Content != nil {
				t.Errorf("%s has a text, though its body is in the first archive", u)
			}
		}
		both, _ := replayed(t, keep, dirs...)
		for u := range first {
			if second[u] == nil || second[u].Answer.Status == 0 {
				delete(both, u) // not in the second crawl
			}
		}
		same(t, second, both)
	})
}

// TestReplayLongTexts reads an archive with more text than a commit may have.
func TestReplayLongTexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := small(40)
		long.Site.MinKB, long.Site.MaxKB = 300, 320
		s := simulate(t, []lab.HostSpec{{Name: "long.example", Temper: long}})
		dir := t.TempDir()
		w, err := warc.Create(warc.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		s.cfg.Store, s.cfg.Outputs = memory.Open(memory.Config{}), []output.Writer{w}
		s.run()
		texts := 0
		got, _ := replayed(t, content.Options{Text: true, Markdown: true}, dir)
		for _, v := range got {
			texts += v.Page.Content.Size()
		}
		if texts < store.MaxTexts {
			t.Errorf("%d bytes of text, want more than %d", texts, store.MaxTexts)
		}
	})
}

// same compares the visits of a crawl that got a response with those read from its archive.
func same(t *testing.T, crawl, archive map[string]*visit.Visit) {
	t.Helper()
	said := 0
	for u, want := range crawl {
		if want.Answer.Status == 0 || want.Outcome == visit.Skipped {
			continue
		}
		got := archive[u]
		if got == nil {
			t.Errorf("%s is missing", u)
			continue
		}
		if want.Page.Content != nil {
			said++
		}
		rule := func(v *visit.Visit) string {
			if e := v.RobotsEvidence(); e != nil {
				return e.Rule
			}
			return ""
		}
		if got.Outcome != want.Outcome || got.Reason != want.Reason || got.Answer.Status != want.Answer.Status || got.Answer.DecodedBytes != want.Answer.DecodedBytes || rule(got) != rule(want) {
			t.Errorf("%s: %s %s %d %q, want %s %s %d %q", u, got.Outcome, got.Reason, got.Answer.DecodedBytes, rule(got), want.Outcome, want.Reason, want.Answer.DecodedBytes, rule(want))
		}
		if diff := cmp.Diff(want.Page, got.Page, cmpopts.EquateComparable(weburl.URL{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", u, diff)
		}
	}
	if said < 10 {
		t.Errorf("%d pages with content among %d", said, len(crawl))
	}
	var more []string
	for u, v := range archive {
		switch v.Outcome {
		case visit.Throttled, visit.ServerError, visit.Failed:
			continue // the crawl may have given up on its host before another attempt
		}
		if crawl[u] == nil {
			more = append(more, u)
		}
	}
	if slices.Sort(more); len(more) > 0 {
		t.Errorf("only in the archive: %v", more)
	}
}
