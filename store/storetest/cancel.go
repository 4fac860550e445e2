package storetest

import (
	"errors"
	"testing"

	"headway/job"
	"headway/store"
	"headway/visit"
)

// testCancel cancels a job while workers hold requests of it.
func testCancel(t *testing.T, open Open) {
	reserve := func(o *owner, n int) int {
		o.t.Helper()
		got, err := o.store.Reserve(o.ctx, o.id, o.job, n)
		o.check(err)
		return got
	}
	// newCancelled is a job with two pages in flight and one link reported to another
	// owner, and then cancelled.
	newCancelled := func(t *testing.T, limit int64) (w *world, next *owner) {
		w = newWorld(t, open, limit)
		slot := store.SlotOf(w.store.Key(), "b.example")
		w.check(w.store.Release(w.ctx, w.w.id, w.w.leases[slot]))
		next = w.newOwner(1)
		w.add("http://a.example/1", "http://a.example/2", "http://a.example/3")
		reserve(w.w, 1)
		reserve(w.w, 1)
		w.w.must(store.Commit{Found: w.found("http://b.example/1"), Errands: w.errands("http://b.example/s.xml", "http://a.example/s.xml")})
		w.check(w.store.SetState(w.ctx, w.now, w.job, job.Running, job.Cancelled, "no longer wanted"))
		return w, next
	}
	for name, limit := range map[string]int64{"with a page limit": 5, "without": 0, "at its page limit": 2} {
		t.Run(name, func(t *testing.T) {
			w, next := newCancelled(t, limit)
			if c := w.counts(); c.Tokens != 0 || c.Waiting != 4 || c.Errands != 2 {
				t.Errorf("%+v", c)
			}
			if list, err := w.store.Arrivals(w.ctx, next.id, 10); err != nil || len(list) != 0 {
				t.Errorf("arrivals %v, %v", list, err)
			}
			page, err := w.store.Hosts(w.ctx, store.HostQuery{Slots: allSlots(), Max: 10})
			if err != nil || len(page.Hosts) != 0 {
				t.Errorf("work on %v, %v", page.Hosts, err)
			}
			if n := reserve(w.w, 1) + reserve(next, 1); n != 0 {
				t.Errorf("%d tokens of a cancelled job", n)
			}
			// What was in flight is recorded, together with the pages of another job.
			cancelled := w.job
			w.job = w.newJob(0)
			w.add("http://a.example/1")
			other := w.visited("http://a.example/1")
			w.job = cancelled
			w.w.must(store.Commit{
				Visits: visits(w.visited("http://a.example/1"), other), Found: w.found("http://a.example/4", "http://b.example/2"), Ran: w.errands("http://a.example/s.xml"),
				Retries: []store.Retry{{Visit: visit.Visit{Item: w.item("http://a.example/2"), Outcome: visit.Pending, Wait: visit.WaitHold}, Attempt: 1}},
				Returns: []store.Return{{Job: w.job, Tokens: 1}},
			})
			w.expect("waiting 5, fetched 1")
			if c := w.counts(); c.Tokens != 0 || c.Errands != 1 {
				t.Errorf("%+v", c)
			}
			if list, err := w.store.Arrivals(w.ctx, next.id, 10); err != nil || len(list) != 0 {
				t.Errorf("arrivals of a cancelled job %v, %v", list, err)
			}
			if err := w.store.Extend(w.ctx, w.now, w.job, 100); !errors.Is(err, store.ErrConflict) {
				t.Errorf("extended: %v", err)
			}
			w.check(w.store.Drop(w.ctx, w.job))
			w.job = other.Item.Job
			w.expect("fetched 1")
		})
	}
	t.Run("stopped between two statements it is atomic", func(t *testing.T) {
		stopEach(t, func(n int) int {
			stop := &stopper{left: n}
			w := &world{t: t, ctx: t.Context(), store: open(t, t.TempDir(), stop.fault), now: start}
			w.job = w.newJob(5)
			w.w = w.newOwner(store.SlotCount)
			reserve(w.w, 1)
			stop.armed = true
			err := w.store.SetState(w.ctx, w.now, w.job, job.Running, job.Cancelled, "")
			stop.armed = false
			if err != nil && !errors.Is(err, errStop) {
				t.Fatal(err)
			}
			j, again := w.store.Job(w.ctx, w.job)
			w.check(again)
			if cancelled := j.State == job.Cancelled; cancelled != (err == nil) || cancelled != (w.counts().Tokens == 0) {
				t.Errorf("stopped at statement %d: %s with %d tokens, %v", n, j.State, w.counts().Tokens, err)
			}
			w.check(w.store.Close())
			return stop.count
		})
	})
	t.Run("other end states keep reserved tokens and give no more", func(t *testing.T) {
		w := newWorld(t, open, 5)
		w.add("http://a.example/1", "http://a.example/2")
		reserve(w.w, 1)
		reserve(w.w, 1)
		w.check(w.store.SetState(w.ctx, w.now, w.job, job.Running, job.Partial, "time"))
		if n := reserve(w.w, 1); n != 0 {
			t.Errorf("%d tokens of a job that has ended", n)
		}
		w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/1")), Returns: []store.Return{{Job: w.job, Tokens: 1}}})
		if c := w.counts(); c.Tokens != 0 || c.Pages() != 1 {
			t.Errorf("%+v", c)
		}
		w.check(w.store.Extend(w.ctx, w.now, w.job, 2))
		w.check(w.store.SetState(w.ctx, w.now, w.job, job.Partial, job.Queued, ""))
		w.check(w.store.SetState(w.ctx, w.now, w.job, job.Queued, job.Running, ""))
		if n, more := reserve(w.w, 1), reserve(w.w, 1); n != 1 || more != 0 {
			t.Errorf("%d and %d tokens of the two pages that one is left of", n, more)
		}
	})
}
