package answer_test

import (
	"context"
	"testing"
	"time"

	"headway/answer"
	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// pages is an in-memory crawl for comparisons.
type pages struct {
	store.Reader
	state   job.State
	spec    string
	entries []store.Entry
}

func (p *pages) Job(context.Context, job.ID) (store.Job, error) {
	return store.Job{State: p.state, Spec: []byte(p.spec)}, nil
}

func (p *pages) Counts(context.Context, job.ID) (store.Counts, error) {
	c := store.Counts{Ended: map[store.Ending]int64{}}
	for _, e := range p.entries {
		c.Ended[store.Ending{Outcome: e.Outcome, Reason: e.Reason}]++
	}
	return c, nil
}

func (p *pages) List(_ context.Context, q store.Query) (store.Page, error) {
	if q.Host != "" {
		var page store.Page
		for _, e := range p.entries {
			if e.Item.URL.Host() == q.Host {
				page.Entries = append(page.Entries, e)
			}
		}
		return page, nil
	}
	if q.After == "" {
		half := len(p.entries) / 2
		return store.Page{Entries: p.entries[:half], Next: "half"}, nil
	}
	return store.Page{Entries: p.entries[len(p.entries)/2:]}, nil
}

func (p *pages) Lookup(_ context.Context, _ job.ID, u weburl.URL) (store.Entry, error) {
	for _, e := range p.entries {
		if e.Item.URL == u {
			return e, nil
		}
	}
	return store.Entry{}, store.ErrNotFound
}

func (p *pages) add(path string, o visit.Outcome, r visit.Reason, digest string, took time.Duration) {
	u, err := weburl.Parse("https://a.example" + path)
	if err != nil {
		panic(err)
	}
	v := &visit.Visit{Item: visit.Item{URL: u}, Outcome: o, Reason: r, Page: visit.Page{Digest: digest}, Timing: visit.Timing{Total: took}}
	p.entries = append(p.entries, store.Entry{Item: v.Item, Outcome: o, Reason: r, Visit: v})
}

func TestCompare(t *testing.T) {
	before, after := &pages{state: job.Complete}, &pages{state: job.Complete}
	other, err := weburl.Parse("https://b.example/")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := store.Entry{Item: visit.Item{URL: other}, Outcome: visit.Fetched, Visit: &visit.Visit{}}
	const quick, slow = 100 * time.Millisecond, time.Second
	before.add("/same", visit.Fetched, "", "x", quick)
	after.add("/same", visit.Fetched, "", "x", quick)
	before.add("/unmodified", visit.Fetched, "", "x", quick)
	after.add("/unmodified", visit.NotModified, "", "", quick)
	before.add("/changed", visit.Fetched, "", "x", quick)
	after.add("/changed", visit.Fetched, "", "y", quick)
	before.add("/slower", visit.Fetched, "", "x", quick)
	after.add("/slower", visit.Fetched, "", "x", slow)
	before.add("/gone", visit.Fetched, "", "x", quick)
	before.entries = append(before.entries, elsewhere)
	before.add("/unread", visit.NotModified, "", "", quick)
	after.add("/unread", visit.Fetched, "", "x", quick)
	before.add("/dies", visit.Fetched, "", "x", quick)
	after.add("/dies", visit.Dead, "", "", quick)
	before.add("/refuses", visit.Fetched, "", "x", quick)
	after.add("/refuses", visit.Throttled, "", "", quick)
	before.add("/waits", visit.Fetched, "", "x", quick)
	after.add("/waits", visit.Pending, "", "", 0)
	before.add("/back", visit.Dead, "", "", quick)
	after.add("/back", visit.Fetched, "", "x", quick)
	after.add("/new", visit.Fetched, "", "x", quick)
	before.add("/dead", visit.Dead, "", "", quick)
	after.add("/dead", visit.Dead, "", "", quick)
	after.add("/newly-met-and-dead", visit.Dead, "", "", quick)

	c, err := answer.Compare(t.Context(), answer.Side{Reader: before}, answer.Side{Reader: after}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[answer.ChangeKind]struct {
		total int64
		first string
	}{
		answer.PageNew: {1, "/new"}, answer.PageGone: {1, "/gone"}, answer.PageDead: {1, "/dies"}, answer.PageRecovered: {1, "/back"},
		answer.PageChanged: {1, "/changed"}, answer.PageLost: {1, "/refuses"}, answer.PageWaits: {1, "/waits"}, answer.PageApart: {1, ""}, answer.PageSlower: {1, "/slower"},
	}
	for _, ch := range c.Changes {
		if ch.Kind == answer.PageExcluded || ch.Kind == answer.PageIncluded {
			continue // see TestCompareSettings
		}
		w := want[ch.Kind]
		first := "https://a.example" + w.first
		if ch.Kind == answer.PageApart {
			first = "https://b.example/"
		}
		if ch.Total != w.total || len(ch.URLs) != 1 || ch.URLs[0].URL != first {
			t.Errorf("%s: %+v, want %+v", ch.Kind, ch, w)
		}
		delete(want, ch.Kind)
	}
	if len(want) > 0 || c.Same != 3 || c.Unread != 1 || !c.Certain {
		t.Errorf("without %v; %d the same; certain %v", want, c.Same, c.Certain)
	}
	after.state = job.Partial
	if c, err := answer.Compare(t.Context(), answer.Side{Reader: before}, answer.Side{Reader: after}, 0, nil); err != nil || c.Certain || len(c.Changes[0].URLs) > 0 {
		t.Errorf("of a partial crawl: %+v, %v", c, err)
	}
}

// TestCompareSettings distinguishes excluded pages from gone and new ones.
func TestCompareSettings(t *testing.T) {
	const seed = `"seeds":["https://a.example/"],"seed_count":1,"scope":"host"`
	before := &pages{state: job.Complete, spec: `{` + seed + `,"exclude":["/new/**"]}`}
	after := &pages{state: job.Complete, spec: `{` + seed + `,"exclude":["/old/**"]}`}
	for _, p := range []*pages{before, after} {
		p.add("/", visit.Fetched, "", "x", time.Millisecond)
	}
	before.add("/old/unmet", visit.Fetched, "", "x", time.Millisecond)
	before.add("/old/met", visit.Fetched, "", "x", time.Millisecond)
	after.add("/old/met", visit.Skipped, visit.Excluded, "", 0)
	before.add("/gone", visit.Fetched, "", "x", time.Millisecond)
	after.add("/new/unmet", visit.Fetched, "", "x", time.Millisecond)
	before.add("/new/met", visit.Skipped, visit.Excluded, "", 0)
	after.add("/new/met", visit.Fetched, "", "x", time.Millisecond)
	before.add("/put-off", visit.Deferred, "", "", 0)
	after.add("/put-off", visit.Fetched, "", "x", time.Millisecond)
	after.add("/new", visit.Fetched, "", "x", time.Millisecond)
	for i := range before.entries {
		before.entries[i].Item.Depth = 1
	}
	for i := range after.entries {
		after.entries[i].Item.Depth = 1
	}
	c, err := answer.Compare(t.Context(), answer.Side{Reader: before}, answer.Side{Reader: after}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[answer.ChangeKind]int64{answer.PageExcluded: 2, answer.PageGone: 1, answer.PageIncluded: 3, answer.PageNew: 1}
	for _, ch := range c.Changes {
		if ch.Total != want[ch.Kind] {
			t.Errorf("%s: %d, want %d", ch.Kind, ch.Total, want[ch.Kind])
		}
	}
	if len(c.Settings) != 1 || c.Settings[0] != "exclude /old/**, was /new/**" {
		t.Errorf("settings %q", c.Settings)
	}
	before.state = job.Partial
	c, err = answer.Compare(t.Context(), answer.Side{Reader: before}, answer.Side{Reader: after, Interrupted: true}, 0, nil)
	if err != nil || c.Words(answer.PageNew) != "not seen before (the earlier crawl is not complete)" || c.After.State != answer.Interrupted || c.Certain {
		t.Errorf("of a partial crawl and one that was killed: %+v, %v", c, err)
	}
}

// TestCompareMainText compares the main text if both crawls kept it, and all visible text
// otherwise.
func TestCompareMainText(t *testing.T) {
	page := func(digest, main string) *pages {
		p := &pages{state: job.Complete}
		p.add("/page", visit.Fetched, "", digest, time.Second)
		if main != "" {
			p.entries[0].Visit.Page.Content = &visit.Content{Digest: main}
		}
		return p
	}
	for name, tc := range map[string]struct {
		before, after *pages
		changed       int64
	}{
		"a changed footer":       {page("a", "main"), page("b", "main"), 0},
		"a changed article":      {page("a", "main"), page("b", "other"), 1},
		"only the earlier kept":  {page("a", "main"), page("b", ""), 1},
		"only the later kept":    {page("a", ""), page("a", "main"), 0},
		"neither kept, a change": {page("a", ""), page("b", ""), 1},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := answer.Compare(t.Context(), answer.Side{Reader: tc.before}, answer.Side{Reader: tc.after}, 10, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, change := range c.Changes {
				if change.Kind == answer.PageChanged && change.Total != tc.changed {
					t.Errorf("%d changed, want %d", change.Total, tc.changed)
				}
			}
		})
	}
}
