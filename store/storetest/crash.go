package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"headway/internal/race"
	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// errStop is the error with which a test stops an engine.
var errStop = errors.New("stopped by the test")

// stopper stops at the n-th statement after it is armed, and counts the statements.
type stopper struct {
	armed bool
	left  int
	count int
}

func (s *stopper) fault(string) error {
	if !s.armed {
		return nil
	}
	s.count++
	if s.left == 0 {
		return errStop
	}
	s.left--
	return nil
}

// testCrash stops changes before each of their statements in turn, reopens the store and
// checks that all or nothing of the change is there.
func testCrash(t *testing.T, open Open) {
	for name, change := range map[string]struct {
		do            func(w *world) error
		before, after string
	}{
		"commit": {func(w *world) error {
			w.w.number++
			_, err := w.w.send(w.w.prepare(everything(w)))
			return err
		}, crashWorld, "waiting 3, fetched 2, deferred 1, failed:host_parked 1"},
		"add": {func(w *world) error {
			_, err := w.store.Add(w.ctx, w.now, everything(w).Found)
			return err
		}, crashWorld, "waiting 6, deferred 1"},
		"reopen": {func(w *world) error {
			return second(w.store.Reopen(w.ctx, w.now, w.job, []weburl.URL{mustURL(w.t, "http://a.example/later"), mustURL(w.t, "http://a.example/1")}))
		}, crashWorld, "waiting 5, skipped:nofollow 1"},
		"extend": {func(w *world) error { return w.store.Extend(w.ctx, w.now, w.job, 20) }, crashWorld, "waiting 5, skipped:nofollow 1"},
		"release and acquire": {func(w *world) error {
			if err := w.store.Release(w.ctx, w.w.id, w.w.leases[1], w.w.leases[2]); err != nil {
				return err
			}
			_, err := w.store.Acquire(w.ctx, w.now, w.w.id, store.SlotCount)
			return err
		}, crashWorld, crashWorld},
		"leave":      {func(w *world) error { return w.store.Leave(w.ctx, w.w.id) }, crashWorld, crashWorld},
		"create job": {func(w *world) error { return second(w.store.CreateJob(w.ctx, store.Job{State: job.Queued})) }, crashWorld, crashWorld},
		"set state":  {func(w *world) error { return w.store.SetState(w.ctx, w.now, w.job, job.Running, job.Paused, "") }, crashWorld, crashWorld},
		"record": {func(w *world) error {
			return w.store.Record(w.ctx, []store.Point{{Job: w.job, At: start, Span: store.MinSpan}, {Job: w.job, At: start.Add(store.MinSpan), Span: store.MinSpan}})
		}, crashWorld, crashWorld},
		"drop": {func(w *world) error { return w.store.Drop(w.ctx, w.job+1) }, crashWorld, crashWorld},
	} {
		t.Run(name, func(t *testing.T) { stopEverywhere(t, open, change.do, change.before, change.after) })
	}
}

// crashWorld is the counts before each change.
const crashWorld = "waiting 4, skipped:nofollow 1, deferred 1"

// stopEverywhere stops a change before each of its statements, each time in another store.
func stopEverywhere(t *testing.T, open Open, do func(w *world) error, before, after string) {
	stopEach(t, func(n int) int {
		place := t.TempDir()
		stop := &stopper{left: n}
		w := newCrashWorld(t, open(t, place, stop.fault))
		stop.armed = true
		err := do(w)
		stop.armed = false
		if err != nil && !errors.Is(err, errStop) {
			t.Fatalf("stopped at statement %d: %v", n, err)
		}
		w.check(w.store.Close())
		w.store = open(t, place, nil)
		w.inspectCrash(n, err == nil, before, after)
		w.check(w.store.Close())
		return stop.count
	})
}

// stopEach calls try with the number of statements after which it stops a change: first
// with more than the change has, so that it completes and try returns their number, then
// with fewer. A store is opened twice for each: under the race detector the gaps between
// the stops triple, and with -short there is one stop, in the middle.
func stopEach(t *testing.T, try func(n int) (statements int)) {
	t.Helper()
	const most = 1000
	count := try(most)
	if count == 0 || count >= most {
		t.Fatalf("a change of %d statements", count)
	}
	t.Logf("%d points to stop at", count)
	if testing.Short() {
		try(count / 2)
		return
	}
	next := func(n int) int { return n + 1 }
	if race.Enabled {
		next = func(n int) int { return 3*n + 2 }
	}
	for n := 0; n < count; n = next(n) {
		try(n)
	}
}

// newCrashWorld is a store with a job of ten pages, a few URLs and tokens, and
// another job that has ended.
func newCrashWorld(t *testing.T, s store.Store) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), store: s, now: start}
	w.job = w.newJob(10)
	ended := w.newJob(0)
	w.check(s.SetState(w.ctx, w.now, ended, job.Running, job.Cancelled, ""))
	w.w = w.newOwner(store.SlotCount)
	w.add("http://a.example/1", "http://a.example/2", "http://a.example/3", "http://p.example/1")
	_, err := s.Add(w.ctx, w.now, []store.Found{
		{Item: w.item("http://a.example/skip"), Outcome: visit.Skipped, Reason: visit.Nofollow},
		{Item: w.item("http://a.example/later"), Outcome: visit.Deferred},
	})
	w.check(err)
	w.w.must(store.Commit{Errands: w.errands("http://a.example/old.xml")})
	for range 3 {
		_, err := s.Reserve(w.ctx, w.w.id, w.job, 1)
		w.check(err)
	}
	return w
}

// inspectCrash checks a store that was stopped at statement n.
func (w *world) inspectCrash(n int, acknowledged bool, before, after string) {
	w.t.Helper()
	got := describe(w.counts())
	if got != before && got != after || acknowledged && got != after {
		w.t.Fatalf("stopped at statement %d (acknowledged: %v): %s", n, acknowledged, got)
	}
	pages := w.counts().Pages()
	want, errands := "[http://a.example/old.xml]", w.waitingErrands("http://a.example", 9)
	if pages > 0 {
		want = "[http://a.example/s.xml]"
	}
	if fmt.Sprint(errands) != want {
		w.t.Fatalf("stopped at statement %d: with %d pages the errands %v wait", n, pages, errands)
	}
	host, err := w.store.Host(w.ctx, "http://a.example")
	if (err == nil) != (pages > 0) || err == nil && host.Pace != time.Second {
		w.t.Fatalf("stopped at statement %d: host %+v, %v", n, host, err)
	}
	// The next owner can continue, and no tokens are lost.
	w.w = w.newOwner(store.SlotCount)
	w.now = w.now.Add(2 * store.DefaultTerms.TakeOver)
	w.w.acquire(store.SlotCount)
	if len(w.w.leases) != store.SlotCount {
		w.t.Fatalf("stopped at statement %d: the next owner has %d slots", n, len(w.w.leases))
	}
	j, err := w.store.Job(w.ctx, w.job)
	w.check(err)
	left := int(j.MaxPages - pages)
	for i := range left + 1 {
		if k, err := w.store.Reserve(w.ctx, w.w.id, w.job, 1); err != nil || (k == 1) != (i < left) {
			w.t.Fatalf("stopped at statement %d: token %d of %d: %d, %v", n, i+1, left, k, err)
		}
	}
	w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/3"))})
}

// everything is a commit that uses each of its parts.
func everything(w *world) store.Commit {
	says := w.visited("http://a.example/2")
	says.Page.Content = said("http://a.example/2", 1)
	says.Links = linksOf(w.t, "http://a.example/2", 1)
	says.Page.Links = visit.Keep(says.Links, false)
	return store.Commit{
		Visits:  visits(w.visited("http://a.example/1"), says),
		Retries: []store.Retry{{Visit: visit.Visit{Item: w.item("http://a.example/3"), Outcome: visit.Pending, Wait: visit.WaitHold}, Attempt: 1}},
		Found:   append(w.found("http://a.example/skip", "http://b.example/new", "http://a.example/1"), w.found("http://b.example/new")...),
		Parks:   []store.Park{{Job: w.job, Host: "http://p.example", Outcome: visit.Failed, Reason: visit.HostParked}},
		Hosts:   []store.Host{{Host: "http://a.example", Politeness: []byte("p"), Pace: time.Second, Change: store.Slower}},
		Paces:   []store.PaceChange{{Host: "http://a.example", At: w.now, To: time.Second, Cause: "incident"}},
		Robots:  []store.RobotsVersion{emptyRobots(w.now)},
		Errands: w.errands("http://a.example/s.xml", "http://p.example/s.xml"),
		Ran:     w.errands("http://a.example/old.xml"),
		Returns: []store.Return{{Job: w.job, Tokens: 1}},
	}
}
