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
)

func testCommit(t *testing.T, open Open) {
	inWorlds(t, open, []scene{
		{"visits, links, retries and hosts together", testCommitTogether},
		{"a retry waits behind what is ready", testRetryWaits},
		{"only the latest attempts are kept", testLatestAttempts},
		{"nothing is finished twice", testFinishedOnce},
		{"a commit without the lease, or with an old one, is rejected as a whole", testCommitFenced},
		{"the late commit of a dead worker is rejected, and recorded by the next owner once", testZombieCommit},
		{"a commit sent again is applied once", testCommitRepeated},
		{"parking ends what waits for a job on a host", testParks},
		{"parking many URLs takes several commits", testParksInParts},
		{"a commit of the largest size", testLargestCommit},
	})
}

func testCommitTogether(t *testing.T, w *world) {
	w.add("http://a.example/", "http://a.example/busy", "http://b.example/gone")
	v := w.visited("http://a.example/")
	v.Links = []visit.Link{{URL: mustURL(t, "http://a.example/l"), Kind: "a"}}
	w.now = w.now.Add(time.Minute)
	retry := store.Retry{
		Visit:   visit.Visit{Item: w.item("http://a.example/busy"), Outcome: visit.Pending, Wait: visit.WaitHold, Answer: visit.Answer{Status: 503}},
		Attempt: 1, NotBefore: w.now.Add(time.Hour),
	}
	r := w.w.must(store.Commit{
		Visits: visits(v, w.ended("http://b.example/gone", visit.Dead, "")), Retries: []store.Retry{retry},
		Found: w.found("http://a.example/", "http://a.example/l", "http://c.example/foreign", "http://a.example/l"),
		Hosts: []store.Host{{Host: "http://a.example", Politeness: []byte("p"), Pace: time.Second}},
	})
	if !slices.Equal(r.Fresh, []int{1, 2}) || r.Seen != 2 || r.Repeated {
		t.Errorf("receipt %+v", r)
	}
	w.expect("waiting 3, fetched 1, dead 1")
	e, err := w.store.Lookup(w.ctx, w.job, v.Item.URL)
	w.check(err)
	v.Links = nil
	if diff := cmp.Diff(store.Entry{Item: v.Item, Outcome: visit.Fetched, SeenAt: start, EndedAt: w.now, Visit: &v}, e, equalURLs); diff != "" {
		t.Error(diff)
	}
	e, err = w.store.Lookup(w.ctx, w.job, retry.Visit.Item.URL)
	w.check(err)
	if e.Item.Attempt != 1 || !e.Item.NotBefore.Equal(retry.NotBefore) || e.Outcome != visit.Pending || e.Visit != nil || len(e.Attempts) != 1 || e.Attempts[0].Answer.Status != 503 {
		t.Errorf("retried: %+v", e)
	}
}

func testRetryWaits(t *testing.T, w *world) {
	w.add("http://a.example/1", "http://a.example/2", "http://a.example/3", "http://a.example/4")
	retry := func(raw string, d time.Duration) store.Retry {
		return store.Retry{Visit: visit.Visit{Item: w.item(raw), Outcome: visit.Pending, Wait: visit.WaitHold}, Attempt: 1, NotBefore: w.now.Add(d)}
	}
	w.w.must(store.Commit{Retries: []store.Retry{retry("http://a.example/1", time.Hour), retry("http://a.example/2", time.Minute)}})
	order := func(want string) {
		t.Helper()
		if got := fmt.Sprint(w.heads("http://a.example", 9)); got != want {
			t.Errorf("at %s: %s, want %s", w.now.Sub(start), got, want)
		}
	}
	order("[http://a.example/3 http://a.example/4 http://a.example/2 http://a.example/1]")
	if got := w.heads("http://a.example", 1); !slices.Equal(got, []string{"http://a.example/3"}) {
		t.Errorf("the first is %v", got)
	}
	w.now = start.Add(time.Minute)
	order("[http://a.example/2 http://a.example/3 http://a.example/4 http://a.example/1]")
	w.now = start.Add(time.Hour)
	order("[http://a.example/1 http://a.example/2 http://a.example/3 http://a.example/4]")
}

func testLatestAttempts(t *testing.T, w *world) {
	w.add("http://a.example/1")
	for i := range store.MaxAttempts + 3 {
		it := w.item("http://a.example/1")
		it.Attempt = i
		w.w.must(store.Commit{Retries: []store.Retry{{Visit: visit.Visit{Item: it, Outcome: visit.Pending, Wait: visit.WaitHold}, Attempt: i + 1}}})
	}
	e, err := w.store.Lookup(w.ctx, w.job, mustURL(t, "http://a.example/1"))
	w.check(err)
	if len(e.Attempts) != store.MaxAttempts || e.Attempts[0].Item.Attempt != 3 || e.Item.Attempt != store.MaxAttempts+3 {
		t.Errorf("kept %d attempts from %d on", len(e.Attempts), e.Attempts[0].Item.Attempt)
	}
}

func testFinishedOnce(t *testing.T, w *world) {
	w.add("http://a.example/1", "http://a.example/2")
	w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/1"))})
	for name, c := range map[string]store.Commit{
		"again":           {Visits: visits(w.visited("http://a.example/2"), w.visited("http://a.example/1"))},
		"retried":         {Visits: visits(w.visited("http://a.example/2")), Retries: []store.Retry{{Visit: visit.Visit{Item: w.item("http://a.example/1"), Outcome: visit.Pending, Wait: visit.WaitHold}}}},
		"never seen":      {Visits: visits(w.visited("http://a.example/2"), w.visited("http://a.example/unseen"))},
		"found and ended": {Visits: visits(w.visited("http://a.example/2"), w.visited("http://a.example/new")), Found: w.found("http://a.example/new")},
	} {
		c.Hosts = []store.Host{{Host: "http://a.example", Politeness: []byte(name)}}
		if _, err := w.w.commit(c); !errors.Is(err, store.ErrNotWaiting) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.w.commit(store.Commit{Visits: visits(w.visited("http://a.example/2"), w.visited("http://a.example/2"))}); err == nil {
		t.Error("twice in one commit: accepted")
	}
	w.expect("waiting 1, fetched 1")
	if _, err := w.store.Host(w.ctx, "http://a.example"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a refused commit left a host behind: %v", err)
	}
}

func testCommitFenced(t *testing.T, w *world) {
	w.add("http://a.example/1", "http://b.example/1")
	slot := store.SlotOf(w.store.Key(), "a.example")
	all := store.Commit{Visits: visits(w.visited("http://a.example/1"), w.visited("http://b.example/1")), Found: w.found("http://a.example/new")}
	w.w.number++
	c := w.w.prepare(all)
	c.Leases = slices.DeleteFunc(c.Leases, func(l store.Lease) bool { return l.Slot == slot })
	if _, err := w.w.send(c); !errors.Is(err, store.ErrFenced) {
		t.Errorf("no lease named: %v", err)
	}
	c = w.w.prepare(all)
	c.Leases[0].Fence++
	if _, err := w.w.send(c); !errors.Is(err, store.ErrFenced) {
		t.Errorf("a fence from the future: %v", err)
	}
	w.check(w.store.Release(w.ctx, w.w.id, w.w.leases[slot]))
	if _, err := w.w.send(w.w.prepare(all)); !errors.Is(err, store.ErrFenced) {
		t.Errorf("released: %v", err)
	}
	next := w.newOwner(1)
	if _, err := w.w.send(w.w.prepare(all)); !errors.Is(err, store.ErrFenced) {
		t.Errorf("with a new owner: %v", err)
	}
	for name, c := range map[string]store.Commit{
		"host":  {Hosts: []store.Host{{Host: "http://a.example"}}},
		"park":  {Parks: []store.Park{{Host: "http://a.example", Job: w.job, Outcome: visit.Deferred}}},
		"retry": {Retries: []store.Retry{{Visit: visit.Visit{Item: w.item("http://a.example/1"), Outcome: visit.Pending, Wait: visit.WaitHold}}}},
	} {
		if _, err := w.w.commit(c); !errors.Is(err, store.ErrFenced) {
			t.Errorf("%s of another's slot: %v", name, err)
		}
	}
	w.expect("waiting 2")
	next.must(store.Commit{Visits: visits(w.visited("http://a.example/1"))})
	w.w.must(store.Commit{Visits: visits(w.visited("http://b.example/1"))})
	w.expect("fetched 2")
}

func testZombieCommit(t *testing.T, w *world) {
	w.add("http://a.example/1")
	w.w.number++
	late := w.w.prepare(store.Commit{Visits: visits(w.visited("http://a.example/1")), Found: w.found("http://a.example/2")})
	next := w.newOwner(0)
	w.now = w.now.Add(overdue)
	next.acquire(store.SlotCount)
	next.must(store.Commit{Visits: visits(w.ended("http://a.example/1", visit.Dead, ""))})
	if _, err := w.w.send(late); !errors.Is(err, store.ErrFenced) {
		t.Errorf("late commit: %v", err)
	}
	w.expect("dead 1")
}

func testCommitRepeated(t *testing.T, w *world) {
	w.add("http://a.example/1")
	w.w.number++
	c := w.w.prepare(store.Commit{Visits: visits(w.visited("http://a.example/1")), Found: w.found("http://a.example/2")})
	for i := range 3 {
		r, err := w.w.send(c)
		w.check(err)
		if r.Repeated != (i > 0) {
			t.Errorf("sent for the %d. time: %+v", i+1, r)
		}
	}
	w.expect("waiting 1, fetched 1")
}

func testParks(t *testing.T, w *world) {
	w.add("http://a.example/1", "http://a.example/2", "http://a.example:81/1", "http://b.example/1")
	w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/2"))})
	other := w.newJob(0)
	_, err := w.store.Add(w.ctx, w.now, []store.Found{{Item: visit.Item{Job: other, URL: mustURL(t, "http://a.example/1"), Found: visit.FoundSeed}}})
	w.check(err)
	r := w.w.must(store.Commit{
		Parks: []store.Park{{Job: w.job, Host: "http://a.example", Outcome: visit.Failed, Reason: visit.HostParked}},
	})
	if r.Left != 0 {
		t.Errorf("receipt %+v", r)
	}
	w.expect("waiting 2, fetched 1, failed:host_parked 1")
	if got := describe(w.countsOf(other)); got != "waiting 1" {
		t.Errorf("another job: %s", got)
	}
	e, err := w.store.Lookup(w.ctx, w.job, mustURL(t, "http://a.example/1"))
	w.check(err)
	if e.Outcome != visit.Failed || e.Reason != visit.HostParked || !e.EndedAt.Equal(w.now) || e.Visit != nil {
		t.Errorf("parked: %+v", e)
	}
}

func testParksInParts(t *testing.T, w *world) {
	var urls []string
	for i := range store.MaxPark + 5 {
		urls = append(urls, fmt.Sprintf("http://a.example/%d", i))
	}
	w.add(urls...)
	park := store.Commit{Parks: []store.Park{{Job: w.job, Host: "http://a.example", Outcome: visit.Deferred}}}
	if r := w.w.must(park); r.Left != 5 {
		t.Errorf("left %d", r.Left)
	}
	if r := w.w.must(park); r.Left != 0 {
		t.Errorf("left %d", r.Left)
	}
	w.expect(fmt.Sprintf("deferred %d", store.MaxPark+5))
}

func testLargestCommit(t *testing.T, w *world) {
	var urls []string
	for i := range store.MaxVisits {
		urls = append(urls, fmt.Sprintf("http://h%d.example/", i))
	}
	w.add(urls...)
	var c store.Commit
	for i, raw := range urls {
		c.Visits = append(c.Visits, w.visited(raw))
		c.Hosts = append(c.Hosts, store.Host{Host: fmt.Sprintf("http://h%d.example", i), Politeness: make([]byte, 150), LastSent: w.now})
		for k := range 20 {
			c.Found = append(c.Found, w.found(fmt.Sprintf("http://h%d.example/%d", i, k%10))...)
		}
	}
	if r := w.w.must(c); r.Seen != 10*store.MaxVisits || len(r.Fresh) != r.Seen {
		t.Errorf("seen %d, fresh %d", r.Seen, len(r.Fresh))
	}
	w.expect(fmt.Sprintf("waiting %d, fetched %d", 10*store.MaxVisits, store.MaxVisits))
	c.Visits = append(c.Visits, w.visited("http://h0.example/1"))
	if _, err := w.w.commit(c); err == nil {
		t.Error("one more than the largest: accepted")
	}
}
