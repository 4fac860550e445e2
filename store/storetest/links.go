package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// A page of these tests links to itself twice, to a URL out of scope that all pages link to,
// and to one of its version.
const (
	hub         = "http://hub.example/?a=1&b=2"
	versionPage = "http://v.example/version/%d"
)

// linksOf returns links that are different for each URL and version.
func linksOf(t testing.TB, raw string, version int) []visit.Link {
	return []visit.Link{
		{URL: mustURL(t, raw), Kind: "a", Rel: "bookmark", Anchor: "this page"},
		{URL: mustURL(t, hub), Kind: "area", Nofollow: true, Rel: "nofollow  ugc", Anchor: "Ein “Ü” und \x00 \xff"},
		{URL: mustURL(t, fmt.Sprintf(versionPage, version)), Kind: "link", Rel: "canonical"},
		{URL: mustURL(t, raw), Kind: "other", Anchor: strings.Repeat("long ", 50)},
	}
}

// testLinks stores the links of pages with their visits.
func testLinks(t *testing.T, open Open) {
	inWorlds(t, open, []scene{
		{"stored and read back", readsLinks},
		{"not kept unless wanted", skipsLinks},
		{"links to a URL, in pages", readsInlinks},
		{"replaced by the next visit", replacesLinks},
		{"deleted with the job", deletesLinks},
		{"bounded", boundsLinks},
	})
}

// linking returns a visit to a waiting page whose links are kept.
func (w *world) linking(version int, raw string) visit.Visit {
	v := w.visited(raw)
	v.Links = linksOf(w.t, raw, version)
	v.Page.Links = visit.Keep(v.Links, false)
	return v
}

// link fetches waiting pages whose links are kept.
func (w *world) link(version int, urls ...string) {
	w.t.Helper()
	var c store.Commit
	for _, raw := range urls {
		c.Visits = append(c.Visits, w.linking(version, raw))
	}
	w.w.must(c)
}

// checkLinks compares the links of a page.
func (w *world) checkLinks(what, raw string, want []visit.Link) {
	w.t.Helper()
	got, err := w.store.Links(w.ctx, w.job, mustURL(w.t, raw))
	w.check(err)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b weburl.URL) bool { return a == b })); diff != "" {
		w.t.Errorf("%s: links of %s:\n%s", what, raw, diff)
	}
}

// inlinks reads the links to a URL, a few at a time, as "page position kind", sorted by the
// store. Each page of the list must be full, except for the last.
func (w *world) inlinks(raw string, most int) (list []string) {
	w.t.Helper()
	q := store.InlinkQuery{Job: w.job, URL: mustURL(w.t, raw), Max: most}
	for {
		page, err := w.store.Inlinks(w.ctx, q)
		w.check(err)
		for _, l := range page.Links {
			if l.Link.URL.String() != raw {
				w.t.Errorf("a link to %s instead of %s", l.Link.URL, raw)
			}
			list = append(list, fmt.Sprint(l.Page, " ", l.Position, " ", l.Link.Kind))
		}
		if q.After = page.Next; q.After == "" {
			return list
		}
		if len(page.Links) != most {
			w.t.Errorf("%d links, and more", len(page.Links))
		}
	}
}

// keepsLinks checks whether links of the job were kept.
func (w *world) keepsLinks(what string, want bool) {
	w.t.Helper()
	got, err := w.store.KeepsLinks(w.ctx, w.job)
	if w.check(err); got != want {
		w.t.Errorf("%s: links kept: %t", what, got)
	}
}

// checkInlinks compares the links to a URL, in any order of their pages, read in pages of
// several sizes.
func (w *world) checkInlinks(what, raw string, want ...string) {
	w.t.Helper()
	first := w.inlinks(raw, store.MaxPage)
	for _, most := range []int{1, 2, 3} {
		if diff := cmp.Diff(first, w.inlinks(raw, most)); diff != "" {
			w.t.Errorf("%s: links to %s, %d at a time:\n%s", what, raw, most, diff)
		}
	}
	sorted := cmpopts.SortSlices(strings.Compare)
	if diff := cmp.Diff(want, first, sorted, cmpopts.EquateEmpty()); diff != "" {
		w.t.Errorf("%s: links to %s:\n%s", what, raw, diff)
	}
}

func readsLinks(t *testing.T, w *world) {
	const one, other, plain, waits = "http://a.example/1", "http://b.example/2", "http://a.example/plain", "http://a.example/waits"
	w.add(one, other, plain, waits)
	w.checkLinks("before the first links", one, nil)
	w.checkInlinks("before the first links", one)
	if _, err := w.store.List(w.ctx, store.Query{Job: w.job, Max: 10, Links: true}); err != nil {
		t.Errorf("before the first links: %v", err)
	}
	w.keepsLinks("before the first links", false)
	w.link(1, one, other)
	w.keepsLinks("after them", true)
	w.w.must(store.Commit{Visits: []visit.Visit{w.visited(plain)}})
	want := map[string][]visit.Link{one: linksOf(t, one, 1), other: linksOf(t, other, 1), plain: nil, waits: nil}
	for raw, is := range want {
		w.checkLinks("stored", raw, is)
	}
	if _, err := w.store.Links(w.ctx, w.job, mustURL(t, "http://a.example/unknown")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown URL: %v", err)
	}
	e, err := w.store.Lookup(w.ctx, w.job, mustURL(t, one))
	w.check(err)
	if diff := cmp.Diff(&visit.KeptLinks{Count: 4}, e.Visit.Page.Links); diff != "" || e.Visit.Links != nil {
		t.Errorf("looked up, with %d links:\n%s", len(e.Visit.Links), diff)
	}
	for _, q := range []store.Query{{}, {Links: true}, {Links: true, Texts: true}, {Links: true, Host: "http://a.example"}, {Links: true, Outcome: visit.Fetched}, {Links: true, Outcome: visit.Pending}} {
		q.Job, q.Max = w.job, 2
		for {
			page, err := w.store.List(w.ctx, q)
			w.check(err)
			for i := range page.Entries {
				e := &page.Entries[i]
				is := want[e.Item.URL.String()]
				if !q.Links {
					is = nil
				}
				var got []visit.Link
				if e.Visit != nil {
					got = e.Visit.Links
				}
				if diff := cmp.Diff(is, got, cmp.Comparer(func(a, b weburl.URL) bool { return a == b })); diff != "" {
					t.Errorf("%+v: %s:\n%s", q, e.Item.URL, diff)
				}
			}
			if q.After = page.Next; q.After == "" {
				break
			}
		}
	}
}

func skipsLinks(t *testing.T, w *world) {
	const page, some, none = "http://a.example/1", "http://a.example/some", "http://a.example/none"
	w.add(page, some, none)
	v := w.visited(page)
	v.Links = linksOf(t, page, 1)
	cut := w.linking(1, some)
	cut.Page.Links = &visit.KeptLinks{Count: 2, Cut: true}
	empty := w.visited(none)
	empty.Page.Links = &visit.KeptLinks{}
	w.w.must(store.Commit{Visits: []visit.Visit{v, cut, empty}})
	w.checkLinks("not kept", page, nil)
	w.checkLinks("cut", some, linksOf(t, some, 1)[:2])
	w.checkLinks("none on the page", none, nil)
	w.checkInlinks("not kept", page)
	w.checkInlinks("cut", some, some+" 0 a")
	for raw, want := range map[string]*visit.KeptLinks{page: nil, some: {Count: 2, Cut: true}, none: {}} {
		e, err := w.store.Lookup(w.ctx, w.job, mustURL(t, raw))
		w.check(err)
		if diff := cmp.Diff(want, e.Visit.Page.Links); diff != "" {
			t.Errorf("%s:\n%s", raw, diff)
		}
	}
}

func readsInlinks(t *testing.T, w *world) {
	const pages = 150
	var urls, want []string
	for i := range pages {
		raw := fmt.Sprintf("http://%c.example/%d", 'a'+i%3, i)
		urls, want = append(urls, raw), append(want, raw+" 1 area")
	}
	w.add(urls...)
	for i := 0; i < pages; i += 40 { // in several commits
		w.link(i, urls[i:min(i+40, pages)]...)
	}
	w.checkInlinks("all link to it", hub, want...)
	w.checkInlinks("of one commit", fmt.Sprintf(versionPage, 120), withSuffix(urls[120:], " 2 link")...)
	w.checkInlinks("of one page, twice", urls[7], urls[7]+" 0 a", urls[7]+" 3 other")
	w.checkInlinks("no links", "http://hub.example/")
	if _, err := w.store.Inlinks(w.ctx, store.InlinkQuery{Job: w.job, URL: mustURL(t, hub), Max: 1, After: "x"}); err == nil {
		t.Error("a wrong cursor was accepted")
	}
	if _, err := w.store.Inlinks(w.ctx, store.InlinkQuery{Job: w.job + 1000, URL: mustURL(t, hub), Max: 1}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown job: %v", err)
	}
}

// withSuffix appends a suffix to each URL.
func withSuffix(urls []string, suffix string) (list []string) {
	for _, raw := range urls {
		list = append(list, raw+suffix)
	}
	return list
}

func replacesLinks(t *testing.T, w *world) {
	const page, dead = "http://a.example/1", "http://a.example/2"
	was, is := fmt.Sprintf(versionPage, 1), fmt.Sprintf(versionPage, 2)
	w.add(page, dead)
	w.link(1, page, dead)
	w.checkInlinks("of the first visit", was, page+" 2 link", dead+" 2 link")
	n, err := w.store.Reopen(w.ctx, w.now, w.job, []weburl.URL{mustURL(t, page), mustURL(t, dead)})
	if err != nil || n != 2 {
		t.Fatalf("%d reopened, %v", n, err)
	}
	w.checkLinks("waits again", page, nil)
	w.checkInlinks("waits again", was)
	w.link(2, page)
	w.w.must(store.Commit{Visits: []visit.Visit{w.ended(dead, visit.Dead, "")}})
	w.checkLinks("the later visit", page, linksOf(t, page, 2))
	w.checkLinks("dead now", dead, nil)
	w.checkInlinks("of the first visit", was)
	w.checkInlinks("of the later visit", is, page+" 2 link")
	w.checkInlinks("of both visits", hub, page+" 1 area")
	e, err := w.store.Lookup(w.ctx, w.job, mustURL(t, page))
	w.check(err)
	if len(e.Attempts) != 1 || e.Attempts[0].Links != nil {
		t.Errorf("%d attempts: %+v", len(e.Attempts), e.Attempts)
	}
}

func deletesLinks(t *testing.T, w *world) {
	const page = "http://a.example/1"
	w.add(page)
	w.link(1, page)
	gone, other := w.job, w.newJob(5)
	w.job = other
	w.add(page)
	_, err := w.store.Reserve(w.ctx, w.w.id, other, 1)
	w.check(err)
	w.link(2, page)
	w.checkInlinks("of this job only", hub, page+" 1 area")
	w.check(w.store.SetState(w.ctx, w.now, gone, job.Running, job.Complete, ""))
	w.check(w.store.Drop(w.ctx, gone))
	if _, err := w.store.Links(w.ctx, gone, mustURL(t, page)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("links of a dropped job: %v", err)
	}
	if _, err := w.store.Inlinks(w.ctx, store.InlinkQuery{Job: gone, URL: mustURL(t, hub), Max: 1}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("links in a dropped job: %v", err)
	}
	w.checkLinks("another job", page, linksOf(t, page, 2))
	w.checkInlinks("another job", hub, page+" 1 area")
	w.check(w.store.SetState(w.ctx, w.now, other, job.Running, job.Complete, ""))
	w.check(w.store.Drop(w.ctx, other))
}

func boundsLinks(t *testing.T, w *world) {
	const page = "http://a.example/1"
	w.add(page)
	w.w.number++
	refuse := func(what string, v visit.Visit) {
		if _, err := w.w.send(w.w.prepare(store.Commit{Visits: []visit.Visit{v}})); err == nil {
			t.Errorf("%s were stored", what)
		}
	}
	v := w.linking(1, page)
	v.Page.Links = &visit.KeptLinks{Count: 5}
	refuse("more links than there are", v)
	long := visit.Link{URL: mustURL(t, hub), Kind: "a", Anchor: strings.Repeat("word ", 200)}
	v.Links = nil
	for range visit.MaxLinkBytes/len(long.Anchor) + 1 {
		v.Links = append(v.Links, long)
	}
	v.Page.Links = &visit.KeptLinks{Count: len(v.Links)}
	refuse("links that are too long", v)
	v.Page.Links = visit.Keep(v.Links, false)
	kept := v.Page.Links.Count
	if !v.Page.Links.Cut || kept < len(v.Links)*9/10 {
		t.Fatalf("%+v of %d links fit", v.Page.Links, len(v.Links))
	}
	w.w.must(store.Commit{Visits: []visit.Visit{v}})
	w.checkLinks("as many as fit", page, v.Links[:kept])
	if n := len(w.inlinks(hub, 1000)); n != kept {
		t.Errorf("%d links to one URL, of %d", n, kept)
	}
}
