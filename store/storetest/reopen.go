package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// testReopen reopens URLs that have ended.
func testReopen(t *testing.T, open Open) {
	reopen := func(w *world, urls ...string) int {
		w.t.Helper()
		list := make([]weburl.URL, len(urls))
		for i, u := range urls {
			list[i] = mustURL(w.t, u)
		}
		n, err := w.store.Reopen(w.ctx, w.now, w.job, list)
		w.check(err)
		return n
	}
	t.Run("whatever the outcome, once", func(t *testing.T) {
		w := newWorld(t, open, 0)
		const a = "http://a.example/"
		w.add(a+"fetched", a+"dead", a+"throttled", a+"depth", a+"parked", a+"waiting")
		skip := func(u string, r visit.Reason) store.Found {
			return store.Found{Item: w.item(u), Outcome: visit.Skipped, Reason: r}
		}
		_, err := w.store.Add(w.ctx, w.now, []store.Found{skip(a+"nofollow", visit.Nofollow), skip(a+"trap", visit.TrapPath), skip("http://b.example/", visit.OutOfScope)})
		w.check(err)
		w.w.must(store.Commit{
			Visits: visits(w.visited(a+"fetched"), w.ended(a+"dead", visit.Dead, ""), w.ended(a+"throttled", visit.Throttled, ""), w.ended(a+"depth", visit.Skipped, visit.Depth)),
		})
		before := w.counts()
		all := []string{a + "fetched", a + "dead", a + "throttled", a + "depth", a + "nofollow", a + "trap", a + "dead", a + "waiting", a + "unseen", "http://b.example/", "http://unknown.example/"}
		if n := reopen(w, all...); n != 6 {
			t.Errorf("%d reopened, want 6", n)
		}
		w.expect("waiting 8, skipped:out_of_scope 1")
		if c := w.counts(); c.Admitted != before.Admitted+6 || c.Seen() != before.Seen() {
			t.Errorf("admitted %d, seen %d; before %d, %d", c.Admitted, c.Seen(), before.Admitted, before.Seen())
		}
		if n := reopen(w, all...); n != 0 {
			t.Errorf("%d reopened again", n)
		}
		w.expect("waiting 8, skipped:out_of_scope 1")
		got := w.heads("http://a.example", 20)
		slices.Sort(got)
		if want := []string{a + "dead", a + "depth", a + "fetched", a + "nofollow", a + "parked", a + "throttled", a + "trap", a + "waiting"}; !slices.Equal(got, want) {
			t.Errorf("heads %q", got)
		}
		// A link does not take back a skip that was reopened.
		if r := w.add(a+"nofollow", a+"depth"); len(r.Fresh) != 0 || r.Seen != 0 {
			t.Errorf("found again: %+v", r)
		}
		w.w.must(store.Commit{Visits: visits(w.visited(a+"dead"), w.visited(a+"nofollow"), w.visited(a+"depth"), w.ended(a+"fetched", visit.Skipped, visit.Depth))})
		w.expect("waiting 4, fetched 3, skipped:out_of_scope 1, skipped:depth 1")
		if r := w.add(a + "fetched"); len(r.Fresh) != 1 {
			t.Errorf("a provisional skip after all: %+v", r)
		}
		w.expect("waiting 5, fetched 3, skipped:out_of_scope 1")
	})
	t.Run("the previous visit is kept as an attempt", func(t *testing.T) {
		w := newWorld(t, open, 0)
		w.add("http://a.example/1", "http://a.example/2")
		w.w.must(store.Commit{Retries: []store.Retry{{Visit: visit.Visit{Item: w.item("http://a.example/1"), Outcome: visit.Pending, Wait: visit.WaitHold, Detail: "first"}, Attempt: 1, NotBefore: w.now.Add(time.Minute)}}})
		w.w.must(store.Commit{Visits: visits(w.ended("http://a.example/1", visit.Failed, visit.DNS), w.visited("http://a.example/2"))})
		if n := reopen(w, "http://a.example/1", "http://a.example/2"); n != 2 {
			t.Fatalf("%d reopened", n)
		}
		e, err := w.store.Lookup(w.ctx, w.job, mustURL(t, "http://a.example/1"))
		w.check(err)
		if e.Outcome != visit.Pending || e.Visit != nil || e.Item.Attempt != 0 || !e.Item.NotBefore.IsZero() || !e.EndedAt.IsZero() {
			t.Errorf("reopened: %+v", e)
		}
		if len(e.Attempts) != 2 || e.Attempts[0].Outcome != visit.Pending || e.Attempts[0].Detail != "first" || e.Attempts[1].Outcome != visit.Failed || e.Attempts[1].Reason != visit.DNS {
			t.Errorf("attempts %+v", e.Attempts)
		}
		e, err = w.store.Lookup(w.ctx, w.job, mustURL(t, "http://a.example/2"))
		w.check(err)
		if len(e.Attempts) != 1 || e.Attempts[0].Outcome != visit.Fetched || e.Attempts[0].Answer.Status != 200 || len(e.Attempts[0].Evidence) != 1 || e.Attempts[0].Page.Title != "A page" {
			t.Errorf("attempts %+v", e.Attempts)
		}
		for range store.MaxAttempts + 2 {
			w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/2"))})
			reopen(w, "http://a.example/2")
		}
		e, err = w.store.Lookup(w.ctx, w.job, mustURL(t, "http://a.example/2"))
		w.check(err)
		if len(e.Attempts) != store.MaxAttempts {
			t.Errorf("%d attempts are kept", len(e.Attempts))
		}
	})
	t.Run("a page counts once towards the limit", func(t *testing.T) {
		w := newWorld(t, open, 2)
		reserve := func(want int) {
			t.Helper()
			if n, err := w.store.Reserve(w.ctx, w.w.id, w.job, 1); err != nil || n != want {
				t.Fatalf("%d tokens, want %d: %v", n, want, err)
			}
		}
		w.add("http://a.example/1", "http://a.example/2", "http://a.example/3")
		reserve(1)
		reserve(1)
		w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/1"), w.ended("http://a.example/2", visit.Dead, ""), w.ended("http://a.example/3", visit.Throttled, ""))})
		reserve(0)
		reopen(w, "http://a.example/3") // it had used no token
		reserve(0)
		reopen(w, "http://a.example/1", "http://a.example/1")
		if c := w.counts(); c.Pages() != 1 {
			t.Errorf("%d pages", c.Pages())
		}
		reserve(1)
		reserve(0)
		w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/1"))})
		reserve(0)
		w.expect("waiting 1, fetched 1, dead 1")
		if err := w.store.Extend(w.ctx, w.now, w.job, 3); err != nil {
			t.Fatal(err)
		}
		reserve(1)
		reserve(0)
	})
	t.Run("the owner of the queue is notified", func(t *testing.T) {
		w := newWorld(t, open, 0)
		w.add("http://a.example/1")
		take := func() []store.Arrival {
			list, err := w.store.Arrivals(w.ctx, w.w.id, 10)
			w.check(err)
			return list
		}
		take()
		w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/1"))})
		reopen(w, "http://a.example/1")
		if list := take(); len(list) != 1 || list[0] != (store.Arrival{Host: "http://a.example", Job: w.job}) {
			t.Errorf("arrivals %v", list)
		}
	})
	t.Run("a job that has ended runs again", func(t *testing.T) {
		for _, end := range []job.State{job.Complete, job.Partial, job.Blocked, job.Failed} {
			w := newWorld(t, open, 0)
			w.add("http://a.example/1")
			w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/1"))})
			w.check(w.store.SetState(w.ctx, w.now, w.job, job.Running, end, "done"))
			if n := reopen(w, "http://a.example/1"); n != 1 {
				t.Errorf("%s: %d reopened", end, n)
			}
			w.check(w.store.SetState(w.ctx, w.now, w.job, end, job.Queued, ""))
			w.check(w.store.SetState(w.ctx, w.now, w.job, job.Queued, job.Running, ""))
			w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/1"))})
			w.expect("fetched 1")
		}
	})
	t.Run("many at once, and none of a missing job", func(t *testing.T) {
		w := newWorld(t, open, 0)
		var raw []string
		for i := range 1500 {
			raw = append(raw, fmt.Sprintf("http://h%d.example/%d", i%7, i))
		}
		w.add(raw...)
		for part := range slices.Chunk(raw, store.MaxVisits) {
			var list []visit.Visit
			for _, u := range part {
				list = append(list, w.visited(u))
			}
			w.w.must(store.Commit{Visits: list})
		}
		if n := reopen(w, raw...); n != len(raw) {
			t.Errorf("%d of %d", n, len(raw))
		}
		w.expect("waiting 1500")
		if n := reopen(w); n != 0 {
			t.Errorf("%d of none", n)
		}
		if _, err := w.store.Reopen(w.ctx, w.now, w.job, make([]weburl.URL, store.MaxFound+1)); err == nil {
			t.Error("too many were taken")
		}
		if _, err := w.store.Reopen(w.ctx, w.now, w.job+1000, nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("no such job: %v", err)
		}
	})
}
