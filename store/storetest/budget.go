package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"headway/job"
	"headway/store"
	"headway/visit"
)

func testBudget(t *testing.T, open Open) {
	reserve := func(o *owner, n int) int {
		o.t.Helper()
		got, err := o.store.Reserve(o.ctx, o.id, o.job, n)
		o.check(err)
		return got
	}
	t.Run("many at a time while many are left, then one by one", func(t *testing.T) {
		w := newWorld(t, open, store.SingleTokens+50)
		if n := reserve(w.w, 40); n != 40 {
			t.Fatalf("got %d", n)
		}
		if n := reserve(w.w, 40); n != 40 {
			t.Fatalf("got %d", n)
		}
		total := 80
		for i := 0; ; i++ {
			n := reserve(w.w, 40)
			if n == 0 {
				break
			}
			if n != 1 {
				t.Fatalf("got %d with %d left", n, store.SingleTokens+50-total)
			}
			total += n
			if i > 2000 {
				t.Fatal("no end of tokens")
			}
		}
		if total != store.SingleTokens+50 {
			t.Errorf("%d tokens in all", total)
		}
		if c := w.counts(); c.Tokens != int64(total) {
			t.Errorf("counts say %d", c.Tokens)
		}
	})
	t.Run("pages use tokens, other outcomes keep them", func(t *testing.T) {
		w := newWorld(t, open, 3)
		w.add("http://a.example/1", "http://a.example/2", "http://a.example/3", "http://a.example/4")
		if _, err := w.w.commit(store.Commit{Visits: visits(w.visited("http://a.example/1"))}); !errors.Is(err, store.ErrTokens) {
			t.Fatalf("a page without a token: %v", err)
		}
		reserve(w.w, 1)
		reserve(w.w, 1)
		w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/1"), w.ended("http://a.example/2", visit.Redirected, ""), w.ended("http://a.example/3", visit.Skipped, visit.RobotsDisallow))})
		if c := w.counts(); c.Tokens != 1 || c.Pages() != 1 {
			t.Errorf("tokens %d, pages %d", c.Tokens, c.Pages())
		}
		w.w.must(store.Commit{Returns: []store.Return{{Job: w.job, Tokens: 1}}})
		if _, err := w.w.commit(store.Commit{Returns: []store.Return{{Job: w.job, Tokens: 1}}}); !errors.Is(err, store.ErrTokens) {
			t.Errorf("returned more than there is: %v", err)
		}
		if a, b, c := reserve(w.w, 5), reserve(w.w, 5), reserve(w.w, 5); a+b+c != 2 {
			t.Errorf("%d tokens left", a+b+c)
		}
		w.expect("waiting 1, fetched 1, redirected 1, skipped:robots_disallow 1")
	})
	t.Run("tokens of a worker that leaves or dies are returned", func(t *testing.T) {
		w := newWorld(t, open, 2)
		other := w.newOwner(0)
		reserve(w.w, 1)
		reserve(other, 1)
		if n := reserve(other, 1); n != 0 {
			t.Fatalf("a third token of two")
		}
		w.check(w.store.Leave(w.ctx, other.id))
		third := w.newOwner(0)
		if n := reserve(third, 1); n != 1 {
			t.Fatal("the token of a worker that left is lost")
		}
		w.now = w.now.Add(overdue)
		w.check(w.store.Renew(w.ctx, third.id))
		third.acquire(0) // declares the first worker dead
		if n := reserve(third, 1); n != 1 {
			t.Fatal("the token of a dead worker is lost")
		}
		if _, err := w.store.Reserve(w.ctx, w.w.id, w.job, 1); !errors.Is(err, store.ErrFenced) {
			t.Errorf("a dead worker reserves: %v", err)
		}
		if c := w.counts(); c.Tokens != 2 {
			t.Errorf("tokens %d", c.Tokens)
		}
	})
	t.Run("a job without a limit has no account", func(t *testing.T) {
		w := newWorld(t, open, 0)
		if n := reserve(w.w, 100_000); n != 100_000 {
			t.Errorf("got %d", n)
		}
		w.w.must(store.Commit{Returns: []store.Return{{Job: w.job, Tokens: 7}}})
		if c := w.counts(); c.Tokens != 0 {
			t.Errorf("tokens %d", c.Tokens)
		}
		if _, err := w.store.Reserve(w.ctx, w.w.id, w.job+1000, 1); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("no such job: %v", err)
		}
	})
	t.Run("extending", func(t *testing.T) {
		w := newWorld(t, open, 2)
		w.add("http://a.example/1", "http://a.example/2", "http://a.example/3")
		reserve(w.w, 1)
		reserve(w.w, 1)
		w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/1"), w.ended("http://a.example/2", visit.Deferred, ""))})
		if err := w.store.Extend(w.ctx, w.now, w.job, 1); !errors.Is(err, store.ErrConflict) {
			t.Errorf("below what is spent and reserved: %v", err)
		}
		w.check(w.store.Extend(w.ctx, w.now, w.job, 4))
		w.expect("waiting 2, fetched 1")
		if a, b, c := reserve(w.w, 5), reserve(w.w, 5), reserve(w.w, 5); a+b+c != 2 {
			t.Errorf("%d further tokens, want 2", a+b+c)
		}
		w.check(w.store.Extend(w.ctx, w.now, w.job, 0))
		w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/2"), w.visited("http://a.example/3"))})
		w.expect("fetched 3")
		if err := w.store.Extend(w.ctx, w.now, w.job, 100); !errors.Is(err, store.ErrConflict) {
			t.Errorf("a limit for a job that had none: %v", err)
		}
	})
}

func testJobs(t *testing.T, open Open) {
	t.Run("a job is read as it was stored", func(t *testing.T) {
		w := newWorld(t, open, 5)
		j, err := w.store.Job(w.ctx, w.job)
		w.check(err)
		if j.ID != w.job || j.Name != "test" || j.State != job.Running || j.MaxPages != 5 || string(j.Spec) != `{"seeds":1}` || !j.CreatedAt.Equal(start) || !j.StartedAt.Equal(start) || !j.EndedAt.IsZero() {
			t.Errorf("%+v", j)
		}
		if _, err := w.store.Job(w.ctx, w.job+1000); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("no such job: %v", err)
		}
		if _, err := w.store.CreateJob(w.ctx, store.Job{State: job.Complete}); err == nil {
			t.Error("created a job that has ended")
		}
		second, err := w.store.CreateJob(w.ctx, store.Job{Tenant: "t", State: job.Queued, CreatedAt: start})
		w.check(err)
		list, err := w.store.JobList(w.ctx, 0, 10)
		w.check(err)
		if len(list) != 2 || list[0].ID != w.job || list[1].ID != second || list[1].Tenant != "t" || !list[1].StartedAt.IsZero() {
			t.Errorf("list %+v", list)
		}
		if list, err = w.store.JobList(w.ctx, w.job, 10); err != nil || len(list) != 1 {
			t.Errorf("list after the first: %+v, %v", list, err)
		}
		if list, err = w.store.JobList(w.ctx, 0, 1); err != nil || len(list) != 1 {
			t.Errorf("list of one: %+v, %v", list, err)
		}
	})
	t.Run("states follow each other", func(t *testing.T) {
		w := newWorld(t, open, 0)
		set := func(from, to job.State) error {
			w.now = w.now.Add(time.Second)
			return w.store.SetState(w.ctx, w.now, w.job, from, to, "because")
		}
		if err := set(job.Queued, job.Running); !errors.Is(err, store.ErrConflict) {
			t.Errorf("from a state it is not in: %v", err)
		}
		if err := set(job.Running, job.Queued); err == nil {
			t.Error("running became queued")
		}
		w.check(set(job.Running, job.Partial))
		j, err := w.store.Job(w.ctx, w.job)
		w.check(err)
		if j.State != job.Partial || j.Reason != "because" || !j.EndedAt.Equal(w.now) {
			t.Errorf("%+v", j)
		}
		w.check(set(job.Partial, job.Queued))
		w.check(set(job.Queued, job.Running))
		if j, err = w.store.Job(w.ctx, w.job); err != nil || !j.EndedAt.IsZero() || !j.StartedAt.Equal(w.now) {
			t.Errorf("%+v, %v", j, err)
		}
		if err := w.store.SetState(w.ctx, w.now, w.job+1000, job.Running, job.Partial, ""); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("no such job: %v", err)
		}
	})
	t.Run("complete only when nothing waits", func(t *testing.T) {
		w := newWorld(t, open, 0)
		complete := func() bool {
			t.Helper()
			done, err := store.Complete(w.ctx, w.job, w.store)
			w.check(err)
			return done
		}
		if !complete() {
			t.Error("a job without URLs waits")
		}
		w.add("http://a.example/0")
		for i := range 20 {
			if complete() {
				t.Fatalf("complete with a page to come after %d", i)
			}
			c := store.Commit{Visits: visits(w.visited(fmt.Sprintf("http://a.example/%d", i)))}
			if i < 19 {
				c.Found = w.found(fmt.Sprintf("http://a.example/%d", i+1))
			}
			w.w.must(c)
		}
		if !complete() {
			t.Error("not complete at the end")
		}
	})
	t.Run("dropping deletes one job and nothing else", func(t *testing.T) {
		w := newWorld(t, open, 5)
		w.add("http://a.example/1", "http://a.example/2")
		_, err := w.store.Reserve(w.ctx, w.w.id, w.job, 1)
		w.check(err)
		w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/1")), Hosts: []store.Host{{Host: "http://a.example", Pace: time.Second}}})
		if err := w.store.Drop(w.ctx, w.job); !errors.Is(err, store.ErrConflict) {
			t.Errorf("dropped while running: %v", err)
		}
		first := w.job
		w.job = w.newJob(0)
		w.add("http://a.example/1")
		w.check(w.store.SetState(w.ctx, w.now, first, job.Running, job.Cancelled, ""))
		w.check(w.store.Drop(w.ctx, first))
		for name, err := range map[string]error{
			"job":    second(w.store.Job(w.ctx, first)),
			"lookup": second(w.store.Lookup(w.ctx, first, mustURL(t, "http://a.example/1"))),
			"counts": second(w.store.Counts(w.ctx, first)),
			"drop":   w.store.Drop(w.ctx, first),
		} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s of a dropped job: %v", name, err)
			}
		}
		w.expect("waiting 1")
		if h, err := w.store.Host(w.ctx, "http://a.example"); err != nil || h.Pace != time.Second {
			t.Errorf("what was learned of the host: %+v, %v", h, err)
		}
		if next := w.newJob(0); next <= w.job {
			t.Errorf("the number of job %d was given before", next)
		}
	})
}

func second[T any](_ T, err error) error { return err }
