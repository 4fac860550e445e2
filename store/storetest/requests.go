package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"headway/job"
	"headway/store"
)

// testRequests reserves requests: never more than the limit, whatever happens to workers.
func testRequests(t *testing.T, open Open) {
	world := func(t *testing.T) (w *world, reserve func(o *owner, most int64, n int) store.Reserved) {
		w = newWorld(t, open, 0)
		q, ok := w.store.(store.Queue)
		if !ok {
			t.Skip("not a store for many workers")
		}
		return w, func(o *owner, most int64, n int) store.Reserved {
			w.t.Helper()
			got, err := q.ReserveRequests(o.ctx, store.Reservation{Worker: o.id, Job: o.job, Max: most, N: n})
			w.check(err)
			return got
		}
	}
	want := func(t *testing.T, got store.Reserved, n int, used int64) {
		t.Helper()
		if got != (store.Reserved{N: n, Use: store.RequestUse{Requests: used}}) {
			t.Errorf("got %+v, want %d with %d used", got, n, used)
		}
	}
	t.Run("many at a time while many are left, then one by one", func(t *testing.T) {
		w, reserve := world(t)
		const most = store.SingleTokens + 50
		want(t, reserve(w.w, most, 0), 0, 0)
		want(t, reserve(w.w, most, 40), 40, 40)
		want(t, reserve(w.w, most, 40), 40, 80)
		for used := int64(81); used <= most; used++ {
			want(t, reserve(w.w, most, 40), 1, used)
		}
		want(t, reserve(w.w, most, 40), 0, most)
		want(t, reserve(w.w, most+1, 40), 1, most+1) // a higher limit
		want(t, reserve(w.w, 5, 40), 0, most+1)      // and a lower one
	})
	t.Run("what is not sent is returned", func(t *testing.T) {
		w, reserve := world(t)
		want(t, reserve(w.w, 2, 1), 1, 1)
		want(t, reserve(w.w, 2, 1), 1, 2)
		w.w.must(store.Commit{Returns: []store.Return{{Job: w.job, Requests: 1}}})
		want(t, reserve(w.w, 2, 0), 0, 1)
		want(t, reserve(w.w, 2, 5), 1, 2)
		if _, err := w.w.commit(store.Commit{Returns: []store.Return{{Job: w.job, Requests: 3}}}); !errors.Is(err, store.ErrTokens) {
			t.Errorf("returned more than there is: %v", err)
		}
		for _, r := range []store.Return{{Job: w.job}, {Job: w.job, Requests: -1}, {Job: w.job, Tokens: 1, Requests: -1}} {
			if _, err := w.w.commit(store.Commit{Returns: []store.Return{r}}); err == nil || errors.Is(err, store.ErrTokens) {
				t.Errorf("%+v: %v", r, err)
			}
		}
		want(t, reserve(w.w, 2, 0), 0, 2)
	})
	t.Run("those of a worker that leaves or dies stay used", func(t *testing.T) {
		w, reserve := world(t)
		other := w.newOwner(0)
		want(t, reserve(w.w, 3, 1), 1, 1)
		want(t, reserve(other, 3, 1), 1, 2)
		w.check(w.store.Leave(w.ctx, other.id))
		third := w.newOwner(0)
		w.now = w.now.Add(overdue)
		w.check(w.store.Renew(w.ctx, third.id))
		third.acquire(0) // declares the first worker dead
		_, err := w.store.(store.Queue).ReserveRequests(w.ctx, store.Reservation{Worker: w.w.id, Job: w.job, Max: 3, N: 1})
		if !errors.Is(err, store.ErrFenced) {
			t.Errorf("a dead worker reserves: %v", err)
		}
		want(t, reserve(third, 3, 2), 1, 3)
		want(t, reserve(third, 3, 2), 0, 3)
	})
	t.Run("requests of a job that had no limit count", func(t *testing.T) {
		w, reserve := world(t)
		w.check(w.store.Record(w.ctx, []store.Point{{Job: w.job, At: store.SpanStart(w.now, store.MinSpan), Span: store.MinSpan, Requests: 7}}))
		want(t, reserve(w.w, 8, 0), 0, 7)
		w.check(w.store.Record(w.ctx, []store.Point{{Job: w.job, At: store.SpanStart(w.now, store.MinSpan), Span: store.MinSpan, Requests: 5}}))
		want(t, reserve(w.w, 8, 3), 1, 8) // what was recorded since was reserved before
	})
	t.Run("bytes", func(t *testing.T) {
		w, _ := world(t)
		w.check(w.store.Record(w.ctx, []store.Point{{Job: w.job, At: store.SpanStart(w.now, store.MinSpan), Span: store.MinSpan, Requests: 2, Bytes: 10}}))
		for i, tc := range []struct {
			max, n int
			bytes  int64
			want   store.Reserved
		}{
			{0, 5000, 0, store.Reserved{N: 5000, Use: store.RequestUse{Requests: 5002, Bytes: 10}}},
			{0, 2, 89, store.Reserved{N: 2, Use: store.RequestUse{Requests: 5004, Bytes: 99}}},
			{5005, 2, 0, store.Reserved{N: 1, Use: store.RequestUse{Requests: 5005, Bytes: 99}}},
			{5005, 2, 0, store.Reserved{Use: store.RequestUse{Requests: 5005, Bytes: 99}}},
			{0, 2, 1, store.Reserved{Use: store.RequestUse{Requests: 5005, Bytes: 100}}},
			{0, 2, 50, store.Reserved{Use: store.RequestUse{Requests: 5005, Bytes: 150}}},
		} {
			got, err := w.store.(store.Queue).ReserveRequests(w.ctx, store.Reservation{Worker: w.w.id, Job: w.job, Max: int64(tc.max), MaxBytes: 100, N: tc.n, Bytes: tc.bytes})
			if w.check(err); got != tc.want {
				t.Errorf("%d: got %+v, want %+v", i, got, tc.want)
			}
		}
	})
	t.Run("jobs that have ended, were dropped or do not exist", func(t *testing.T) {
		w, reserve := world(t)
		want(t, reserve(w.w, 9, 1), 1, 1)
		w.check(w.store.SetState(w.ctx, w.now, w.job, job.Running, job.Partial, ""))
		want(t, reserve(w.w, 9, 1), 0, 1)
		w.check(w.store.SetState(w.ctx, w.now, w.job, job.Partial, job.Queued, ""))
		want(t, reserve(w.w, 9, 1), 1, 2)
		w.check(w.store.SetState(w.ctx, w.now, w.job, job.Queued, job.Cancelled, ""))
		w.check(w.store.Drop(w.ctx, w.job))
		q := w.store.(store.Queue)
		if _, err := q.ReserveRequests(w.ctx, store.Reservation{Worker: w.w.id, Job: w.job, Max: 9, N: 1}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a dropped job: %v", err)
		}
		for _, r := range []store.Reservation{{Worker: w.w.id, Job: w.job, Max: -1, N: 1}, {Worker: w.w.id, Job: w.job, Max: 1, N: -1}, {Worker: w.w.id, Job: w.job, Bytes: -1}, {Worker: w.w.id, Job: w.job, MaxBytes: -1}} {
			if _, err := q.ReserveRequests(w.ctx, r); err == nil || errors.Is(err, store.ErrNotFound) {
				t.Errorf("%+v: %v", r, err)
			}
		}
	})
	t.Run("several workers", func(t *testing.T) {
		w, reserve := world(t)
		const workers, most = 4, 30
		var total atomic.Int64
		var all sync.WaitGroup
		for range workers {
			o := w.newOwner(0)
			all.Go(func() {
				for got := 1; got > 0; {
					got = reserve(o, most, 3).N
					total.Add(int64(got))
				}
			})
		}
		all.Wait()
		if total.Load() != most {
			t.Errorf("%d requests of %d", total.Load(), most)
		}
	})
}
