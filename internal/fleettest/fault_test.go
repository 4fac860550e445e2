package fleettest

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"headway/internal/pgtest"
	"headway/lab/temper"
)

// maxReconnects is how often a worker may connect to its database in a second.
const maxReconnects = 5

// TestKill kills workers repeatedly and adds others: nothing is lost, nothing is
// recorded twice, and hosts see no difference.
func TestKill(t *testing.T) {
	t.Parallel()
	hosts, pages, every := 40, 12, 4*time.Second
	if full {
		hosts, pages, every = 500, 40, 20*time.Second
	}
	f := newFleet(t, setup{hosts: hosts, pages: pages})
	for range 4 {
		f.start()
	}
	id := f.submit()
	type death struct {
		at    time.Time
		hosts []string
	}
	var deaths []death
	next := time.Now().Add(every)
	j := f.await(id, f.long(), func() {
		if time.Now().After(next) {
			next = time.Now().Add(every)
			w, hosts := f.victim()
			f.kill(w)
			deaths = append(deaths, death{time.Now(), hosts})
			f.start()
		}
	})
	t.Logf("%d workers were killed", len(deaths))
	f.judge(j)
	for _, d := range deaths {
		// In CI the next worker is killed before the first is replaced.
		if full && d.at.Add(takeOver).Before(j.Ended) {
			f.takenOver(d.hosts, d.at, 0)
		}
	}
	f.leaveAll()
}

// TestTerm stops workers gracefully, one after the other, while others start.
func TestTerm(t *testing.T) {
	t.Parallel()
	f := newFaultFleet(t, pgtest.Config{})
	f.start()
	f.start()
	id := f.submit()
	next := time.Now().Add(4 * time.Second)
	f.judge(f.await(id, f.long(), func() {
		if time.Now().After(next) {
			next = time.Now().Add(4 * time.Second)
			f.start()
			f.leave(f.workers[0])
		}
	}))
}

// TestTermTwice stops a worker with requests in flight, and then again to quit at
// once.
func TestTermTwice(t *testing.T) {
	t.Parallel()
	latency, err := temper.ParseLatency("const:4s")
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(t, setup{hosts: 16, pages: 4, rules: temper.Rules{Latency: latency}}) // with eight hosts a worker might own none
	f.inject(func(f *fleet) func() {
		w, hosts := f.victim()
		f.until("it waits for an answer that is seconds away", func() bool {
			return slices.ContainsFunc(f.arrivals(), func(r request) bool {
				return slices.Contains(hosts, r.host) && time.Since(r.at) < time.Second
			})
		})
		f.signal(w, syscall.SIGTERM)
		time.Sleep(100*time.Millisecond + f.chance(400*time.Millisecond)) // it waits for its responses
		select {
		case <-w.exited:
			f.Errorf("a worker left before its answers had come:\n%s", w.errs)
		default:
		}
		at := time.Now()
		f.signal(w, syscall.SIGTERM)
		f.awaitExit(w, 20*time.Second)
		took := time.Since(at)
		stood := f.stalls.Between(at, at.Add(took))
		f.Logf("ended %v after the second signal, in which the machine stalled for %v: %v", took, stood, w.err)
		if took-stood > 2*time.Second {
			f.Errorf("a worker that was stopped twice ended after %v", took)
		}
		return func() { f.takenOver(hosts, at, 0) }
	})
}

// newFaultFleet is a fleet for fault injection.
func newFaultFleet(t *testing.T, c pgtest.Config) *fleet {
	t.Helper()
	if full {
		return newFleet(t, setup{hosts: 500, pages: 40, db: c})
	}
	return newFleet(t, setup{hosts: 16, pages: 12, db: c})
}

// fault is done to a fleet of two workers in the middle of a crawl. It returns an
// additional check for the end, or nil.
type fault func(f *fleet) (after func())

// inject does a fault at a random time. Whatever it is, nothing is lost and hosts see
// no difference.
func (f *fleet) inject(do fault) {
	f.Helper()
	f.start()
	f.start()
	id := f.submit()
	f.awaitWork()
	before := f.peaks()
	after := do(f)
	f.judge(f.await(id, f.long(), nil))
	if after != nil {
		after()
	}
	f.flat(before)
	f.leaveAll()
}

// awaitWork waits until every worker owns hosts and a random number of pages was
// served: at least one for each host, at most a third of all.
func (f *fleet) awaitWork() {
	f.Helper()
	f.until("every worker owns hosts", func() bool {
		return !slices.ContainsFunc(f.workers, func(w *worker) bool { return len(f.owned(w)) == 0 })
	})
	most := max(f.hosts*f.pages/3, f.hosts+1)
	enough := int64(f.hosts + f.random.IntN(most-f.hosts))
	f.until("work is under way", func() bool { return f.lab.Stats().Total.PageAnswers >= enough })
	f.Logf("%d pages were answered", f.lab.Stats().Total.PageAnswers)
}

// reconnects starts to count the connections of all workers; the function it returns
// checks that there were few.
func (f *fleet) reconnects() (stop func()) {
	began, before := time.Now(), map[*proxy]int64{}
	for _, w := range f.workers {
		for _, l := range w.lines {
			before[l] = l.accepted.Load()
		}
	}
	return func() {
		f.Helper()
		for l, n := range before {
			rate := float64(l.accepted.Load()-n) / time.Since(began).Seconds()
			f.Logf("%.1f connections a second", rate)
			if rate >= maxReconnects {
				f.Errorf("a worker tried %.1f connections a second, want fewer than %d", rate, maxReconnects)
			}
		}
	}
}

// cutOff disconnects workers from the database for a while, and returns when that
// began. Half a lease later they must have stopped sending requests.
func (f *fleet) cutOff(d time.Duration, list ...*worker) (at time.Time) {
	f.Helper()
	var hosts []string
	for _, w := range list {
		hosts = append(hosts, f.owned(w)...)
	}
	stop := f.reconnects()
	for _, w := range list {
		w.lines[0].cut.Store(true)
	}
	at = time.Now()
	time.Sleep(d) // so long it lasts
	for _, w := range list {
		w.lines[0].cut.Store(false)
	}
	stop()
	f.silent(hosts, at.Add(lease/2), at.Add(lease)) // no other worker may start before
	return at
}

// silent checks that hosts got no request between two times.
func (f *fleet) silent(hosts []string, from, to time.Time) {
	f.Helper()
	for _, r := range f.arrivals() {
		if r.at.Before(to) && r.at.After(from) && slices.Contains(hosts, r.host) {
			f.Errorf("%s%s was requested %v too late", r.host, r.target, r.at.Sub(from))
		}
	}
}

// allHosts are the hosts of the lab.
func (f *fleet) allHosts() (hosts []string) {
	for _, seed := range f.lab.Seeds() {
		hosts = append(hosts, strings.TrimSuffix(seed, "/"))
	}
	return hosts
}

// TestFaults injects each fault into its own fleet.
func TestFaults(t *testing.T) {
	for name, do := range map[string]fault{
		"a worker killed": func(f *fleet) func() {
			w, hosts := f.victim()
			f.kill(w)
			at := time.Now()
			return func() { f.takenOver(hosts, at, 0) }
		},
		"all workers killed": func(f *fleet) func() {
			for len(f.workers) > 0 {
				f.kill(f.workers[0])
			}
			f.start()
			f.start()
			return nil
		},
		// It knows by its own clock that its lease has expired, and joins again. Tests
		// of the store check that its commits would be refused.
		"a worker stopped for three leases": func(f *fleet) func() {
			w, hosts := f.victim()
			f.signal(w, syscall.SIGSTOP)
			at := time.Now()
			time.Sleep(3 * lease) // so long it lasts
			f.signal(w, syscall.SIGCONT)
			return func() {
				f.takenOver(hosts, at, 0)
				if !strings.Contains(w.errs.String(), "lost its place") {
					f.Error("the worker that was stopped has not noticed it")
				}
			}
		},
		"the database killed": func(f *fleet) func() {
			stop := f.reconnects()
			if err := f.db.Kill(); err != nil {
				f.Fatal(err)
			}
			time.Sleep(2 * lease) // so long it lasts
			stop()
			if err := f.db.StartServer(f.Context()); err != nil {
				f.Fatal(err)
			}
			return nil
		},
		// What was sent before the cut ends arrives after it.
		"a worker cut off": func(f *fleet) func() {
			w, hosts := f.victim()
			at := f.cutOff(3*lease, w)
			return func() {
				f.takenOver(hosts, at, lease/2)
				if !strings.Contains(w.errs.String(), "lost its place") {
					f.Error("the worker that was cut off has not noticed")
				}
			}
		},
		"all workers cut off": func(f *fleet) func() {
			at := f.cutOff(3*lease, f.workers...)
			f.silent(f.allHosts(), at.Add(lease/2), at.Add(3*lease))
			return nil
		},
		"connections half open": func(f *fleet) func() {
			stop := f.reconnects()
			w, _ := f.victim()
			w.lines[0].forget()
			return stop
		},
		"a database that answers half a second later": func(f *fleet) func() {
			for _, w := range f.workers {
				w.lines[0].delay.Store(int64(250 * time.Millisecond)) // each way
			}
			return f.reconnects()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newFaultFleet(t, pgtest.Config{Durable: true}).inject(do)
		})
	}
}

// TestFailover kills the database and promotes its synchronous standby: workers find
// it by themselves.
func TestFailover(t *testing.T) {
	t.Parallel()
	f := newFaultFleet(t, pgtest.Config{Durable: true})
	f.standby = pgtest.StartFor(t, pgtest.Config{Durable: true, From: f.db})
	if err := f.db.MakeSynchronous(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.inject(func(f *fleet) func() {
		stop := f.reconnects()
		if err := f.db.Kill(); err != nil {
			f.Fatal(err)
		}
		at := time.Now()
		if err := f.standby.Promote(f.Context()); err != nil {
			f.Fatal(err)
		}
		f.db, f.standby = f.standby, nil
		return func() {
			stop()
			f.takenOver(f.allHosts(), at, 0)
		}
	})
}
