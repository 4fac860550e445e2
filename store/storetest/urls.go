package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// equalURLs lets cmp compare URLs, which are values.
var equalURLs = cmp.Comparer(func(a, b weburl.URL) bool { return a == b })

func visits(list ...visit.Visit) []visit.Visit { return list }

func testURLs(t *testing.T, open Open) {
	inWorlds(t, open, []scene{
		{"adding is idempotent, also within one call", testAddTwice},
		{"two jobs see the same URL independently", testRunsApart},
		{"every field of an item is read back", testItemFields},
		{"a head is ordered by home page, depth, priority and age", testHeadOrder},
		{"heads of several queues are in the requested order", testHeadsOfQueues},
		{"a skip is counted once and a provisional one is taken back", testProvisionalSkip},
		{"a provisional skip within the batch that takes it back", testSkipWithinBatch},
		{"out of scope is counted once, in a fleet for each slot it was found in", testOutOfScope},
		{"invalid URLs are rejected and change nothing", testImpossibleURLs},
		{"lists page through all URLs in a steady order", testListPages},
		{"an owner is notified once of what others add to its slots", testArrivals},
		{"lookup of a missing URL", testLookupNothing},
	})
}

func testAddTwice(t *testing.T, w *world) {
	r := w.add("http://a.example/1", "http://a.example/2", "http://a.example/1", "http://b.example/1")
	if !slices.Equal(r.Fresh, []int{0, 1, 3}) || r.Seen != 3 {
		t.Errorf("receipt %+v", r)
	}
	r = w.add("http://a.example/2", "http://a.example/3")
	if !slices.Equal(r.Fresh, []int{1}) || r.Seen != 1 {
		t.Errorf("receipt of the second call %+v", r)
	}
	w.expect("waiting 4")
	if c := w.counts(); c.Admitted != 4 || c.Seen() != 4 {
		t.Errorf("counts %+v", c)
	}
}

func testRunsApart(t *testing.T, w *world) {
	w.add("http://a.example/1")
	first := w.job
	w.job = w.newJob(0)
	w.add("http://a.example/1")
	w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/1"))})
	w.expect("fetched 1")
	if got := describe(w.countsOf(first)); got != "waiting 1" {
		t.Errorf("the other run has %s", got)
	}
}

func testItemFields(t *testing.T, w *world) {
	items := []visit.Item{
		{
			Job: w.job, URL: mustURL(t, "http://a.example/full?q=ä"), Via: mustURL(t, "https://b.example:8443/x"), Found: visit.FoundRedirect, Depth: 3, Hops: 2,
			Chain: []uint64{1<<64 - 1, 7}, Priority: -5, Attempt: 1, NotBefore: start.Add(-time.Second + time.Microsecond),
			Validators: visit.Validators{ETag: `W/"x"`, LastModified: "Sun, 15 Nov 2026 10:00:00 GMT"},
		},
		{Job: w.job, URL: mustURL(t, "http://a.example/seed"), Found: visit.FoundSeed, Depth: 9},
	}
	_, err := w.store.Add(w.ctx, w.now, []store.Found{{Item: items[0]}, {Item: items[1]}})
	w.check(err)
	got, err := w.store.Heads(w.ctx, w.now, []store.Want{{Host: "http://a.example", Job: w.job, Max: 9}})
	w.check(err)
	items[0].NotBefore = store.Stored(items[0].NotBefore)
	if diff := cmp.Diff(items, got, equalURLs); diff != "" {
		t.Error(diff)
	}
	e, err := w.store.Lookup(w.ctx, w.job, items[0].URL)
	w.check(err)
	if diff := cmp.Diff(store.Entry{Item: items[0], Outcome: visit.Pending, SeenAt: start}, e, equalURLs); diff != "" {
		t.Error(diff)
	}
}

func testHeadOrder(t *testing.T, w *world) {
	var found []store.Found
	for _, x := range []struct {
		path            string
		depth, priority int
	}{
		{"/deep", 3, 0},
		{"/old", 2, 0},
		{"/low", 2, -1},
		{"/new", 2, 0},
		{"/high", 2, 9},
		{"/", 5, 0},
		{"/shallow", 1, 0},
	} {
		f := store.Found{Item: w.item("http://a.example" + x.path)}
		f.Item.Depth, f.Item.Priority = x.depth, x.priority
		found = append(found, f)
	}
	_, err := w.store.Add(w.ctx, w.now, found)
	w.check(err)
	want := "http://a.example/ http://a.example/shallow http://a.example/high http://a.example/old http://a.example/new http://a.example/low http://a.example/deep"
	if got := fmt.Sprint(w.heads("http://a.example", 10)); got != "["+want+"]" {
		t.Errorf("got  %s\nwant [%s]", got, want)
	}
	if got := w.heads("http://a.example", 2); len(got) != 2 || got[1] != "http://a.example/shallow" {
		t.Errorf("the first two are %v", got)
	}
	if got := w.heads("https://a.example", 2); len(got) != 0 {
		t.Errorf("another host has %v", got)
	}
}

func testHeadsOfQueues(t *testing.T, w *world) {
	w.add("http://a.example/1", "http://b.example/1", "http://a.example/2")
	first := w.job
	w.job = w.newJob(0)
	w.add("http://a.example/3")
	items, err := w.store.Heads(w.ctx, w.now, []store.Want{
		{Host: "http://b.example", Job: first, Max: 5},
		{Host: "http://none.example", Job: first, Max: 5},
		{Host: "http://a.example", Job: w.job, Max: 5},
		{Host: "http://a.example", Job: first, Max: 1},
		{Host: "http://a.example", Job: first + 1000, Max: 1},
	})
	w.check(err)
	var got []string
	for _, it := range items {
		got = append(got, fmt.Sprintf("%d%s", it.Job-first, it.URL.Path()))
	}
	if want := []string{"0/1", "1/3", "0/1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func testProvisionalSkip(t *testing.T, w *world) {
	skip := func(raw string, r visit.Reason) store.Found {
		return store.Found{Item: w.item(raw), Outcome: visit.Skipped, Reason: r}
	}
	add := func(found ...store.Found) store.Receipt {
		t.Helper()
		r, err := w.store.Add(w.ctx, w.now, found)
		w.check(err)
		return r
	}
	add(skip("http://a.example/n", visit.Nofollow), skip("http://a.example/d", visit.Depth), skip("http://a.example/x", visit.Excluded), skip("http://a.example/n", visit.Nofollow))
	add(skip("http://a.example/n", visit.Depth), store.Found{Item: w.item("http://a.example/later"), Outcome: visit.Deferred})
	w.expect("skipped:excluded 1, skipped:depth 1, skipped:nofollow 1, deferred 1")

	better := w.item("http://a.example/n")
	better.Depth, better.Via = 7, mustURL(t, "http://b.example/finder")
	w.now = w.now.Add(time.Second)
	r := add(store.Found{Item: better}, w.found("http://a.example/x")[0], w.found("http://a.example/later")[0])
	if !slices.Equal(r.Fresh, []int{0}) || r.Seen != 0 {
		t.Errorf("receipt %+v", r)
	}
	w.expect("waiting 1, skipped:excluded 1, skipped:depth 1, deferred 1")
	e, err := w.store.Lookup(w.ctx, w.job, better.URL)
	w.check(err)
	if e.Item.Depth != 7 || e.Item.Via != better.Via || e.Outcome != visit.Pending || !e.EndedAt.IsZero() || !e.SeenAt.Equal(start) {
		t.Errorf("taken back as %+v", e)
	}

	// Finished now, it is finished once and stays so.
	w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/n"))})
	add(store.Found{Item: better}, skip("http://a.example/n", visit.Nofollow))
	w.expect("fetched 1, skipped:excluded 1, skipped:depth 1, deferred 1")
	if c := w.counts(); c.Admitted != 1 {
		t.Errorf("admitted %d times", c.Admitted)
	}
	// A waiting URL is not skipped because of another link to it.
	w.add("http://a.example/waits")
	add(skip("http://a.example/waits", visit.Nofollow))
	w.expect("waiting 1, fetched 1, skipped:excluded 1, skipped:depth 1, deferred 1")
}

func testSkipWithinBatch(t *testing.T, w *world) {
	skip := store.Found{Item: w.item("http://a.example/n"), Outcome: visit.Skipped, Reason: visit.Nofollow}
	r, err := w.store.Add(w.ctx, w.now, []store.Found{skip, {Item: skip.Item}, skip, {Item: skip.Item}})
	w.check(err)
	if !slices.Equal(r.Fresh, []int{1}) || r.Seen != 1 {
		t.Errorf("receipt %+v", r)
	}
	w.expect("waiting 1")

	// Its place in the queue is where it was found first.
	skip.Item = w.item("http://a.example/first")
	_, err = w.store.Add(w.ctx, w.now, []store.Found{skip, w.found("http://a.example/second")[0], {Item: skip.Item}})
	w.check(err)
	if got, want := w.heads("http://a.example", 3), []string{"http://a.example/n", "http://a.example/first", "http://a.example/second"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func testOutOfScope(t *testing.T, w *world) {
	out := func(raw, via string) store.Found {
		f := store.Found{Item: w.item(raw), Outcome: visit.Skipped, Reason: visit.OutOfScope}
		f.Item.Via = mustURL(t, via)
		return f
	}
	one, other := twoSlots(t, w.store.Key())
	want := 2 // one owner counts a URL once
	if _, fleet := w.store.(store.Fleet); fleet {
		want = 3 // workers that share nothing count it once for each slot
	}
	r, err := w.store.Add(w.ctx, w.now, []store.Found{out("http://far.example/", one), out("http://far.example/", other), out("http://far.example/", one), out("http://far.example/2", one)})
	w.check(err)
	if len(r.Fresh) != 0 || r.Seen != want {
		t.Errorf("receipt %+v", r)
	}
	w.expect(fmt.Sprint("skipped:out_of_scope ", want))
	w.add("http://far.example/")
	w.expect(fmt.Sprint("waiting 1, skipped:out_of_scope ", want))
}

func testImpossibleURLs(t *testing.T, w *world) {
	good := w.item("http://a.example/good")
	noURL, noJob, deep := good, good, good
	noURL.URL, noJob.Job, deep.Hops = weburl.URL{}, 0, visit.MaxHops+1
	for name, f := range map[string]store.Found{
		"no URL":                 {Item: noURL},
		"no job":                 {Item: noJob},
		"too many hops":          {Item: deep},
		"fetched without asking": {Item: good, Outcome: visit.Fetched},
		"a reason for waiting":   {Item: good, Reason: visit.Depth},
		"skipped by a failure":   {Item: good, Outcome: visit.Skipped, Reason: visit.DNS},
		"a word of nobody":       {Item: good, Outcome: "vanished"},
	} {
		if _, err := w.store.Add(w.ctx, w.now, []store.Found{{Item: good}, f}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	unknown := good
	unknown.Job += 1000
	if _, err := w.store.Add(w.ctx, w.now, []store.Found{{Item: good}, {Item: unknown}}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("unknown job: %v", err)
	}
	w.expect("")
}

func testListPages(t *testing.T, w *world) {
	for i := range 25 {
		w.add(fmt.Sprintf("http://a.example/%d", i), fmt.Sprintf("http://b.example/%d", i))
	}
	w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/3"), w.ended("http://b.example/4", visit.Failed, visit.Timeout), w.ended("http://b.example/5", visit.Failed, visit.DNS))})
	list := func(q store.Query) (urls []string) {
		t.Helper()
		q.Job, q.Max = w.job, 7
		for {
			p, err := w.store.List(w.ctx, q)
			w.check(err)
			for _, e := range p.Entries {
				urls = append(urls, e.Item.URL.String())
			}
			if q.After = p.Next; q.After == "" {
				return urls
			}
			if len(p.Entries) == 0 {
				t.Fatal("an empty page is not the last")
			}
		}
	}
	all := list(store.Query{})
	slices.Sort(all)
	if len(slices.Compact(all)) != 50 {
		t.Errorf("%d URLs", len(all))
	}
	if n := len(list(store.Query{Host: "http://a.example"})); n != 25 {
		t.Errorf("%d of one host", n)
	}
	if n := len(list(store.Query{Outcome: visit.Pending})); n != 47 {
		t.Errorf("%d waiting", n)
	}
	if got := list(store.Query{Outcome: visit.Failed, Reason: visit.DNS}); !slices.Equal(got, []string{"http://b.example/5"}) {
		t.Errorf("failed by dns: %v", got)
	}
	if n := len(list(store.Query{Outcome: visit.Failed, Host: "http://b.example"})); n != 2 {
		t.Errorf("%d failed on b.example", n)
	}
	if _, err := w.store.List(w.ctx, store.Query{Job: w.job + 1000, Max: 1}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("list of no job: %v", err)
	}
}

func testArrivals(t *testing.T, w *world) {
	w.add("http://a.example/early")
	arrivals := func(o *owner) []store.Arrival {
		t.Helper()
		list, err := w.store.Arrivals(w.ctx, o.id, 100)
		w.check(err)
		return list
	}
	arrivals(w.w)
	w.add("http://a.example/1", "http://a.example/2", "http://b.example/1", "http://a.example/early")
	want := []store.Arrival{{Host: "http://a.example", Job: w.job}, {Host: "http://b.example", Job: w.job}}
	if got := arrivals(w.w); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := arrivals(w.w); len(got) != 0 {
		t.Errorf("told twice: %v", got)
	}
	w.w.must(store.Commit{Found: w.found("http://a.example/mine")})
	w.add("http://a.example/1")
	if got := arrivals(w.w); len(got) != 0 {
		t.Errorf("told of its own or of nothing new: %v", got)
	}
	// Links of another worker.
	slot := store.SlotOf(w.store.Key(), "c.example")
	w.check(w.store.Release(w.ctx, w.w.id, w.w.leases[slot]))
	other := w.newOwner(1)
	w.w.must(store.Commit{Found: w.found("http://c.example/")})
	if got := arrivals(other); !slices.Equal(got, []store.Arrival{{Host: "http://c.example", Job: w.job}}) {
		t.Errorf("the other owner hears %v", got)
	}
}

func testLookupNothing(t *testing.T, w *world) {
	if _, err := w.store.Lookup(w.ctx, w.job, mustURL(t, "http://a.example/")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("URL: %v", err)
	}
	if _, err := w.store.Lookup(w.ctx, w.job+1000, mustURL(t, "http://a.example/")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("job: %v", err)
	}
}
