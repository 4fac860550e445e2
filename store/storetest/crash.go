package storetest

import (
	"errors"
	"testing"
	"time"

	"headway/store"
	"headway/visit"
)

// errStop is what a test stops an engine with.
var errStop = errors.New("stopped by the test")

// stopAt returns a fault that stops at the n-th statement after it is armed,
// and one that tells how many there were.
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

// testCrash stops a commit before each of its statements in turn, opens the
// store again and looks at what is there: all or nothing of it.
func testCrash(t *testing.T, open Open) {
	for n := 0; ; n++ {
		if n > 1000 {
			t.Fatal("a commit of more than a thousand statements")
		}
		place := t.TempDir()
		stop := &stopper{left: n}
		w := &world{t: t, ctx: t.Context(), store: open(t, place, stop.fault), now: start}
		w.job = w.newJob(10)
		w.w = w.newOwner(store.SlotCount)
		w.add("http://a.example/1", "http://a.example/2", "http://a.example/3", "http://p.example/1")
		skip := store.Found{Item: w.item("http://a.example/skip"), Outcome: visit.Skipped, Reason: visit.Nofollow}
		_, err := w.store.Add(w.ctx, w.now, []store.Found{skip})
		w.check(err)
		for range 3 {
			_, err := w.store.Reserve(w.ctx, w.w.id, w.job, 1)
			w.check(err)
		}
		w.w.number++
		c := w.w.prepare(everything(w))
		stop.armed = true
		_, err = w.w.send(c)
		stop.armed = false
		if err != nil && !errors.Is(err, errStop) {
			t.Fatalf("stopped at statement %d: %v", n, err)
		}
		acknowledged := err == nil
		w.check(w.store.Close())

		w.store = open(t, place, nil)
		before, after := "waiting 4, skipped:nofollow 1", "waiting 3, fetched 2, failed:host_parked 1"
		got := describe(w.counts())
		if got != before && got != after || acknowledged && got != after {
			t.Fatalf("stopped at statement %d (acknowledged: %v): %s", n, acknowledged, got)
		}
		host, err := w.store.Host(w.ctx, "http://a.example")
		if (err == nil) != (got == after) || err == nil && host.Pace != time.Second {
			t.Fatalf("stopped at statement %d: host %+v, %v", n, host, err)
		}
		// The next owner can go on, and tokens are all there.
		w.now = w.now.Add(time.Minute)
		w.w = w.newOwner(store.SlotCount)
		w.now = w.now.Add(store.DefaultTerms.TakeOver)
		w.w.acquire(store.SlotCount)
		want := 10
		if got == after {
			want = 8
		}
		for i := range want + 1 {
			if k, err := w.store.Reserve(w.ctx, w.w.id, w.job, 1); err != nil || (k == 1) != (i < want) {
				t.Fatalf("stopped at statement %d: token %d of %d: %d, %v", n, i+1, want, k, err)
			}
		}
		w.w.must(store.Commit{Visits: visits(w.visited("http://a.example/3"))})
		w.check(w.store.Close())
		if acknowledged {
			t.Logf("a commit has %d points to stop at", stop.count)
			return
		}
	}
}

// everything is a commit that uses each of its parts.
func everything(w *world) store.Commit {
	return store.Commit{
		Visits:  visits(w.visited("http://a.example/1"), w.visited("http://a.example/2")),
		Retries: []store.Retry{{Visit: visit.Visit{Item: w.item("http://a.example/3"), Outcome: visit.Pending, Wait: visit.WaitHold}, Attempt: 1}},
		Found:   append(w.found("http://a.example/skip", "http://b.example/new", "http://a.example/1"), w.found("http://b.example/new")...),
		Parks:   []store.Park{{Job: w.job, Host: "http://p.example", Outcome: visit.Failed, Reason: visit.HostParked}},
		Hosts:   []store.Host{{Host: "http://a.example", Politeness: []byte("p"), Pace: time.Second, Change: store.Slower}},
		Tenures: []store.JobHost{{Job: w.job, Host: "http://p.example", State: []byte("x")}},
		Paces:   []store.PaceChange{{Host: "http://a.example", At: w.now, To: time.Second, Cause: "incident"}},
		Robots:  []store.RobotsVersion{emptyRobots(w.now)},
		Returns: []store.Return{{Job: w.job, Tokens: 1}},
	}
}
