package headway_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/job"
	labtemper "headway/lab/temper"
	"headway/limit"
	"headway/politeness"
	"headway/store"
	"headway/store/memory"
	"headway/visit"
	"headway/weburl"
)

// errCut is the error of a store behind a cut connection.
var errCut = errors.New("the line is cut")

// line is a store behind a connection that can be cut.
type line struct {
	*memory.Store
	cut  atomic.Bool
	deaf atomic.Bool   // the response to the next Acquire is lost
	held atomic.Int64  // how often Release fails
	mute bool          // the first response to each Commit is lost
	done int64         // the last commit whose response was lost
	slow time.Duration // duration of Join
	far  time.Duration // maximum duration of Hosts
	fast time.Duration // how far the worker's clock is ahead of the one that stored a host

	stale atomic.Int64 // maximum age of the time passed to Acquire
}

func (l *line) err() error {
	if l.cut.Load() {
		return errCut
	}
	return nil
}

func (l *line) Join(ctx context.Context, now time.Time, name string) (store.WorkerID, error) {
	if err := l.err(); err != nil {
		return 0, err
	}
	time.Sleep(l.slow)
	return l.Store.Join(ctx, now, name)
}

func (l *line) Acquire(ctx context.Context, now time.Time, w store.WorkerID, most int) ([]store.Lease, error) {
	if err := l.err(); err != nil {
		return nil, err
	}
	l.stale.Store(max(l.stale.Load(), int64(time.Since(now))))
	leases, err := l.Store.Acquire(ctx, now, w, most)
	if err == nil && len(leases) > 0 && l.deaf.Swap(false) {
		return nil, errCut
	}
	return leases, err
}

func (l *line) Renew(ctx context.Context, w store.WorkerID) error {
	if err := l.err(); err != nil {
		return err
	}
	return l.Store.Renew(ctx, w)
}

func (l *line) Release(ctx context.Context, w store.WorkerID, leases ...store.Lease) error {
	if err := l.err(); err != nil {
		return err
	}
	if l.held.Add(-1) >= 0 {
		return errCut
	}
	return l.Store.Release(ctx, w, leases...)
}

func (l *line) Leave(ctx context.Context, w store.WorkerID) error {
	if err := l.err(); err != nil {
		return err
	}
	return l.Store.Leave(ctx, w)
}

func (l *line) Abandon(ctx context.Context, w store.WorkerID) error {
	if err := l.err(); err != nil {
		return err
	}
	return l.Store.Abandon(ctx, w)
}

// Commit takes a while, so that a crash interrupts some.
func (l *line) Commit(ctx context.Context, c store.Commit) (store.Receipt, error) {
	time.Sleep(time.Duration(len(c.Visits)+1) * 150 * time.Millisecond)
	if err := l.err(); err != nil {
		return store.Receipt{}, err
	}
	r, err := l.Store.Commit(ctx, c)
	if err == nil && l.mute && c.Number > l.done {
		l.done = c.Number
		return store.Receipt{}, errCut
	}
	return r, err
}

func (l *line) ReserveRate(ctx context.Context, now time.Time, wants []store.RateWindow) ([]time.Duration, error) {
	if err := l.err(); err != nil {
		return nil, err
	}
	return l.Store.ReserveRate(ctx, now, wants)
}

func (l *line) Heads(ctx context.Context, now time.Time, wants []store.Want) ([]visit.Item, error) {
	if err := l.err(); err != nil {
		return nil, err
	}
	return l.Store.Heads(ctx, now, wants)
}

func (l *line) TakeHosts(ctx context.Context, id job.ID, most int64, hosts []string) (store.Taken, error) {
	if err := l.err(); err != nil {
		return store.Taken{}, err
	}
	l.travel()
	return l.Store.TakeHosts(ctx, id, most, hosts)
}

func (l *line) ReserveRequests(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	l.travel()
	if err := l.err(); err != nil {
		return store.Reserved{}, err
	}
	return l.Store.ReserveRequests(ctx, r)
}

func (l *line) Host(ctx context.Context, name string) (store.Host, error) {
	l.travel()
	h, err := l.Store.Host(ctx, name)
	if err != nil || l.fast == 0 || len(h.Politeness) == 0 {
		return h, err
	}
	// A worker whose clock is ahead reads times that are further in the past.
	var s politeness.State
	if err := s.UnmarshalBinary(h.Politeness); err != nil {
		return h, err
	}
	h.LastSent = h.LastSent.Add(-l.fast)
	h.Politeness, err = politeness.Policy{}.Resume(s, s.LastSent().Add(-l.fast)).MarshalBinary()
	return h, err
}

func (l *line) Errands(ctx context.Context, wants []store.Want) ([]store.Errand, error) {
	l.travel()
	return l.Store.Errands(ctx, wants)
}

// travel simulates the round trip to a distant store.
func (l *line) travel() {
	if l.far > 0 {
		time.Sleep(rand.N(l.far)) // at random, in virtual time: responses overtake each other
	}
}

// worker is one of a fleet.
type worker struct {
	line  *line
	drain chan struct{}
	kill  context.CancelFunc
	done  chan error
}

// fleet is a set of workers on one store and a simulated web.
type fleet struct {
	*simulated
	wg     sync.WaitGroup
	worker func(*headway.Worker)                             // changes the worker's config; may be nil
	open   func(store.Job, headway.Job) (headway.Job, error) // changes the job's config; may be nil
	joined store.FleetSettings                               // that workers run with; zero: they do not follow them
}

// fleetTerms are the terms of leases in tests.
var fleetTerms = store.Terms{Renew: 500 * time.Millisecond, Start: 1500 * time.Millisecond, Cancel: 2200 * time.Millisecond, TakeOver: 3 * time.Second}

func (f *fleet) start() *worker { return f.startWith(func(*line) {}) }

// startWith starts a worker with this kind of connection.
func (f *fleet) startWith(kind func(*line)) *worker {
	w := &worker{line: &line{Store: f.st.(*memory.Store)}, drain: make(chan struct{}), done: make(chan error, 1)}
	kind(w.line)
	ctx, kill := context.WithCancel(f.Context())
	w.kill = kill
	cfg := f.cfg.Worker
	cfg.Store, cfg.Drain, cfg.Terms = w.line, w.drain, fleetTerms
	if f.worker != nil {
		f.worker(&cfg)
	}
	f.wg.Go(func() {
		w.done <- headway.Work(ctx, cfg, headway.Fleet{Settings: f.joined, Open: func(j store.Job) (headway.Job, error) {
			if f.open != nil {
				return f.open(j, f.cfg.Job)
			}
			return f.cfg.Job, nil
		}})
	})
	return w
}

// crash ends a worker like kill -9: nothing more is sent or stored.
func (w *worker) crash() {
	w.line.cut.Store(true)
	w.kill()
}

// submit queues a job.
func (f *fleet) submit(maxPages int64) job.ID {
	f.Helper()
	now := time.Now().UTC()
	id, err := f.st.CreateJob(f.Context(), store.Job{Name: "test", State: job.Running, MaxPages: maxPages, CreatedAt: now, StartedAt: now})
	if err != nil {
		f.Fatal(err)
	}
	return id
}

// await waits until a job has ended, and returns it.
func (f *fleet) await(id job.ID, within time.Duration) (store.Job, store.Counts) {
	f.Helper()
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) { // virtual time
		j, err := f.st.Job(f.Context(), id)
		if err != nil {
			f.Fatal(err)
		}
		over := time.Since(began) > within
		if !j.State.Ended() && !over {
			continue
		}
		counts, err := f.st.Counts(f.Context(), id)
		if err != nil {
			f.Fatal(err)
		}
		if j.State.Ended() {
			return j, counts
		}
		f.Fatalf("the job is %s after %v: %+v", j.State, within, counts)
	}
}

// polite checks the requests that hosts saw against the pace.
func (f *fleet) polite(pace time.Duration) {
	f.Helper()
	total := f.web.Stats().Total
	if total.MaxConcurrent > 1 {
		f.Errorf("%d requests at once on a host", total.MaxConcurrent)
	}
	if gap := time.Duration(total.MinGapMS * float64(time.Millisecond)); gap < pace {
		f.Errorf("the smallest gap is %v, want %v", gap, pace)
	}
}

// drain drains all workers.
func (f *fleet) drain(workers []*worker) {
	f.Helper()
	for _, w := range workers {
		close(w.drain)
		began := time.Now()
		if err := <-w.done; err != nil {
			f.Errorf("a worker that was drained: %v", err)
		}
		if took := time.Since(began); took > 20*time.Second {
			f.Errorf("a worker took %v to leave", took)
		}
	}
	f.wg.Wait()
}

// TestFleet lets workers join, leave and crash while a job runs. The job completes, nothing
// is recorded twice, and hosts see one crawler at its pace.
func TestFleet(t *testing.T) {
	for seed := range randomSeeds(10) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { comeAndGo(t, seed) })
		})
	}
}

func comeAndGo(t *testing.T, seed uint64) {
	const hosts, pages, pace = 12, 20, time.Second
	random := rand.New(rand.NewPCG(seed, 0))
	f := &fleet{simulated: newSimulated(t, hosts, small(pages))}
	f.cfg.Policy.Jitter = 0
	f.cfg.Policy.InFlight = 1
	if seed%2 == 1 {
		f.cfg.Sitemaps = headway.SitemapsAuto
	}
	id := f.submit(0)
	workers := []*worker{f.start(), f.start()}
	stop, stopped := make(chan struct{}), make(chan struct{})
	f.wg.Go(func() {
		defer close(stopped)
		for crashes := 0; ; {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(1+random.IntN(8000)) * time.Millisecond):
			}
			switch w := random.IntN(len(workers)); {
			case len(workers) < 2 || random.IntN(2) == 0 && len(workers) < 5:
				workers = append(workers, f.start())
			case crashes < 4 && random.IntN(2) == 0:
				crashes++
				workers[w].crash()
				workers = append(workers[:w], workers[w+1:]...)
			default:
				close(workers[w].drain)
				if err := <-workers[w].done; err != nil {
					t.Errorf("a worker that was drained: %v", err)
				}
				workers = append(workers[:w], workers[w+1:]...)
			}
		}
	})
	j, counts := f.await(id, 30*time.Minute)
	close(stop)
	<-stopped
	f.drain(workers)
	if fetched := counts.Ended[store.Ending{Outcome: visit.Fetched}]; j.State != job.Complete || fetched != hosts*pages {
		t.Errorf("%s (%s): %d pages fetched, want %d; %v", j.State, j.Reason, fetched, hosts*pages, counts.Ended)
	}
	f.polite(pace)
	total := f.web.Stats().Total
	t.Logf("%d page answers for %d pages, smallest gap %.0f ms, %v", total.PageAnswers, total.UniquePages, total.MinGapMS, j.EndedAt.Sub(j.StartedAt))
	audit, err := f.st.Audit(t.Context(), id)
	if err != nil || !audit.Equal(counts) {
		t.Errorf("the rows say %+v, the counts %+v (%v)", audit, counts, err)
	}
	if left, err := f.st.Workers(t.Context()); err != nil || len(left) > 4 {
		t.Errorf("workers left: %v (%v)", left, err)
	}
}

// TestFleetBudget runs a job of 50 pages on eight workers, some of which crash: exactly 50
// pages are recorded.
func TestFleetBudget(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { budget(t, seed) })
		})
	}
}

func budget(t *testing.T, seed uint64) {
	const most = 50
	random := rand.New(rand.NewPCG(seed, 1))
	f := &fleet{simulated: newSimulated(t, 16, small(20))}
	f.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Pages: most}})
	id := f.submit(most)
	var workers []*worker
	for range 8 {
		workers = append(workers, f.start())
	}
	crashes := 0
	for range 3 {
		pass(time.Duration(500+random.IntN(3000)) * time.Millisecond)
		if j, err := f.st.Job(t.Context(), id); err == nil && !j.State.Ended() {
			workers[0].crash()
			workers = append(workers[1:], f.start())
			crashes++
		}
	}
	j, counts := f.await(id, 10*time.Minute)
	f.drain(workers)
	if counts.Pages() != most || j.State != job.Partial || j.Reason != "max_pages" {
		t.Errorf("%s (%s) with %d pages, want partial (max_pages) with %d", j.State, j.Reason, counts.Pages(), most)
	}
	// Each crashed worker had at most one request under way on each of its hosts.
	if asked := f.web.Stats().Total.PageAnswers; asked > int64(most+16*crashes) {
		t.Errorf("%d pages requested after %d crashes", asked, crashes)
	}
	f.polite(time.Second)
}

// TestFleetOrders pauses, resumes and cancels a job: the fleet reacts within two seconds.
func TestFleetOrders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{simulated: newSimulated(t, 8, small(60))}
		id := f.submit(0)
		workers := []*worker{f.start(), f.start(), f.start()}
		set := func(from, to job.State) {
			t.Helper()
			if err := f.st.SetState(t.Context(), time.Now().UTC(), id, from, to, "an order"); err != nil {
				t.Fatal(err)
			}
		}
		asked := func() int64 { return f.web.Stats().Total.Requests }
		still := func(what string) {
			t.Helper()
			pass(2 * time.Second)
			before := asked()
			pass(10 * time.Second)
			if n := asked() - before; n > 0 {
				t.Errorf("%d requests two seconds after the job was %s", n, what)
			}
		}
		pass(20 * time.Second)
		set(job.Running, job.Paused)
		still("paused")
		set(job.Paused, job.Running)
		before := asked()
		pass(10 * time.Second)
		if n := asked() - before; n < 40 {
			t.Errorf("%d requests in ten seconds after the job was resumed, want about 64", n)
		}
		set(job.Running, job.Cancelled)
		still("cancelled")
		f.drain(workers)
		f.polite(time.Second)
	})
}

// TestFleetPartition cuts a worker off from its store: it starts nothing after half a
// lease, another takes its hosts, and it rejoins once the connection is back.
func TestFleetPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, pages = 8, 60
		f := &fleet{simulated: newSimulated(t, hosts, small(pages))}
		f.cfg.Policy.InFlight = 1
		id := f.submit(0)
		workers := []*worker{f.start(), f.start()}
		pass(15 * time.Second)
		workers[0].line.cut.Store(true)
		pass(30 * time.Second)
		workers[0].line.cut.Store(false)
		j, counts := f.await(id, 10*time.Minute)
		f.drain(workers)
		if fetched := counts.Ended[store.Ending{Outcome: visit.Fetched}]; j.State != job.Complete || fetched != hosts*pages {
			t.Errorf("%s (%s): %d pages fetched, want %d", j.State, j.Reason, fetched, hosts*pages)
		}
		f.polite(time.Second)
	})
}

// TestFleetLateJoin lets Join take longer than a lease. The worker must then use the
// current time, or it would take live workers for dead.
func TestFleetLateJoin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{simulated: newSimulated(t, 1, small(1))}
		w := f.startWith(func(l *line) { l.slow = 2 * fleetTerms.TakeOver })
		pass(2 * w.line.slow)
		if stale := time.Duration(w.line.stale.Load()); stale > 0 {
			t.Errorf("slots were acquired with a time %v old", stale)
		}
		f.drain([]*worker{w})
	})
}

// TestFleetOptedOut: hosts on the opt-out list are not crawled, whatever a job says.
func TestFleetOptedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{simulated: newSimulated(t, 2, small(3))}
		gone := f.cfg.Seeds[1].Host()
		f.worker = func(c *headway.Worker) { c.OptedOut = func(u weburl.URL) bool { return u.Host() == gone } }
		id := f.submit(0)
		workers := []*worker{f.start()}
		_, counts := f.await(id, time.Minute)
		f.drain(workers)
		if n := f.web.Host("h1.site1.example").Requests; n != 0 || counts.Ended[store.Ending{Outcome: visit.Skipped, Reason: visit.OptedOut}] == 0 {
			t.Errorf("%d requests to a host that opted out: %v", n, counts.Ended)
		}
	})
}

// TestFleetBrokenJob ends an invalid job, with the reason.
func TestFleetBrokenJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{simulated: newSimulated(t, 1, small(3))}
		f.open = func(store.Job, headway.Job) (headway.Job, error) {
			return headway.Job{}, errors.New("not understood")
		}
		id := f.submit(0)
		workers := []*worker{f.start(), f.start()}
		j, _ := f.await(id, time.Minute)
		f.drain(workers)
		if j.State != job.Failed || !strings.Contains(j.Reason, "not understood") {
			t.Errorf("%s (%s)", j.State, j.Reason)
		}
	})
}

// TestFleetLateWorkers starts workers with jobs in every state.
func TestFleetLateWorkers(t *testing.T) {
	for _, tc := range []struct {
		state job.State
		want  job.State // final state; empty: unchanged
	}{{job.Running, job.Complete}, {job.Draining, job.Partial}, {job.Paused, ""}} {
		t.Run(string(tc.state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fleet{simulated: newSimulated(t, 2, small(3))}
				id := f.submit(0)
				if tc.state != job.Running {
					if err := f.st.SetState(t.Context(), time.Now().UTC(), id, job.Running, tc.state, ""); err != nil {
						t.Fatal(err)
					}
				}
				workers := []*worker{f.start()}
				if tc.want != "" {
					if j, _ := f.await(id, time.Minute); j.State != tc.want {
						t.Errorf("%s (%s), want %s", j.State, j.Reason, tc.want)
					}
				} else {
					pass(time.Minute)
					if j, err := f.st.Job(t.Context(), id); err != nil || j.State != tc.state || f.web.Stats().Total.Requests != 0 {
						t.Errorf("%s (%s) after %d requests: %v", j.State, j.Reason, f.web.Stats().Total.Requests, err)
					}
				}
				f.drain(workers)
			})
		})
	}
}

// TestFleetExtendAtStop extends a job the moment its limit stopped it, before any worker
// has seen that: the new limit applies.
func TestFleetExtendAtStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{simulated: newSimulated(t, 4, small(10))}
		f.open = func(j store.Job, c headway.Job) (headway.Job, error) {
			c.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Pages: j.MaxPages}})
			return c, nil
		}
		id := f.submit(10)
		workers := []*worker{f.start(), f.start(), f.start()}
		f.await(id, time.Minute)
		for _, err := range []error{
			f.st.Extend(t.Context(), time.Now().UTC(), id, 20),
			f.st.SetState(t.Context(), time.Now().UTC(), id, job.Partial, job.Queued, ""),
			f.st.SetState(t.Context(), time.Now().UTC(), id, job.Queued, job.Running, ""),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		j, counts := f.await(id, time.Minute)
		f.drain(workers)
		if counts.Pages() != 20 || j.State != job.Partial {
			t.Errorf("%s (%s) with %d pages, want partial with 20", j.State, j.Reason, counts.Pages())
		}
		f.polite(time.Second)
	})
}

// TestFleetLostAnswer loses the response to Acquire: the granted slots do not stay without
// a worker.
func TestFleetLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, pages = 8, 5
		f := &fleet{simulated: newSimulated(t, hosts, small(pages))}
		id := f.submit(0)
		w := f.start()
		w.line.deaf.Store(true)
		j, counts := f.await(id, 5*time.Minute)
		if w.line.deaf.Load() {
			t.Error("no answer was lost")
		}
		f.drain([]*worker{w})
		if fetched := counts.Ended[store.Ending{Outcome: visit.Fetched}]; j.State != job.Complete || fetched != hosts*pages {
			t.Errorf("%s (%s): %d pages fetched, want %d", j.State, j.Reason, fetched, hosts*pages)
		}
	})
}

// TestFleetClocks hands hosts over between workers whose clocks disagree: no request is
// early, whether the clock of the new owner is ahead or behind, and none is late for long.
func TestFleetClocks(t *testing.T) {
	for _, ahead := range []time.Duration{-10 * time.Minute, -300 * time.Millisecond, 300 * time.Millisecond, 10 * time.Minute} {
		t.Run(ahead.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const hosts, pages, pace = 8, 20, time.Second
				f := &fleet{simulated: newSimulated(t, hosts, small(pages))}
				f.cfg.Policy.Jitter = 0
				f.cfg.Policy.InFlight = 1
				id := f.submit(0)
				clock := func(l *line) { l.fast = ahead }
				workers := []*worker{f.startWith(clock)}
				for range 5 {
					pass(2500 * time.Millisecond)
					workers = append(workers, f.startWith(clock))
					pass(2500 * time.Millisecond)
					close(workers[0].drain)
					if err := <-workers[0].done; err != nil {
						t.Errorf("a worker that was drained: %v", err)
					}
					workers = workers[1:]
				}
				j, counts := f.await(id, 3*time.Minute)
				f.drain(workers)
				if fetched := counts.Ended[store.Ending{Outcome: visit.Fetched}]; j.State != job.Complete || fetched != hosts*pages {
					t.Errorf("%s (%s): %d pages fetched, want %d", j.State, j.Reason, fetched, hosts*pages)
				}
				f.polite(pace)
				t.Logf("smallest gap %.0f ms, %v", f.web.Stats().Total.MinGapMS, j.EndedAt.Sub(j.StartedAt))
			})
		})
	}
}

// TestFleetLostCommit loses the response to each commit: what a commit added is crawled
// although the receipt of the repeated one does not list it.
func TestFleetLostCommit(t *testing.T) {
	for _, sitemaps := range []headway.Sitemaps{headway.SitemapsOff, headway.SitemapsAuto} {
		t.Run(fmt.Sprint(sitemaps), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const hosts, pages = 4, 10
				f := &fleet{simulated: newSimulated(t, hosts, small(pages))}
				f.cfg.Sitemaps = sitemaps
				id := f.submit(0)
				workers := []*worker{f.startWith(func(l *line) { l.mute = true }), f.startWith(func(l *line) { l.mute = true })}
				j, counts := f.await(id, 10*time.Minute)
				f.drain(workers)
				if fetched := counts.Ended[store.Ending{Outcome: visit.Fetched}]; j.State != job.Complete || fetched != hosts*pages {
					t.Errorf("%s (%s): %d pages fetched, want %d", j.State, j.Reason, fetched, hosts*pages)
				}
				f.polite(time.Second)
			})
		})
	}
}

// TestFleetRelease retries a failed release of slots.
func TestFleetRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, pages = 8, 20
		f := &fleet{simulated: newSimulated(t, hosts, small(pages))}
		id := f.submit(0)
		workers := []*worker{f.start()}
		pass(3 * time.Second)
		workers[0].line.held.Store(2)
		workers = append(workers, f.start())
		pass(6 * time.Second)
		owned := 0
		list, err := f.st.Workers(t.Context())
		for _, w := range list {
			owned += w.Slots
		}
		if err != nil || len(list) != 2 || owned != store.SlotCount || list[0].Slots != list[1].Slots || workers[0].line.held.Load() > 0 {
			t.Errorf("%+v: %v", list, err)
		}
		f.await(id, 5*time.Minute)
		f.drain(workers)
		f.polite(time.Second)
	})
}

// TestFleetAddress lets three workers crawl 60 hosts on one address: together they send ten
// requests a second to it, as one worker would.
func TestFleetAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{simulated: onOneAddress(t, 60, 20)}
		f.worker = func(c *headway.Worker) { c.Store = f.st } // one with immediate commits
		f.cfg.Policy.Jitter = 0
		id := f.submit(0)
		workers := []*worker{f.start(), f.start(), f.start()}
		pass(20 * time.Second) // robots.txt, first responses, first exchange of address loads
		before := f.web.Stats().Total.Requests
		pass(30 * time.Second)
		rate := float64(f.web.Stats().Total.Requests-before) / 30
		if rate < 9 || rate > 10.2 {
			t.Errorf("the address got %.1f requests a second, want 10", rate)
		}
		f.await(id, 30*time.Minute)
		f.drain(workers)
		f.polite(time.Second)
	})
}

// TestFleetCancelAfter cancels a fleet job whose host keeps refusing, so that it does not
// run for ever.
func TestFleetCancelAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		temper := small(30)
		temper.Rules.Outages = []labtemper.Outage{{AfterRequests: 3, Status: 429, Form: labtemper.None}}
		f := &fleet{simulated: newSimulated(t, 1, temper)}
		f.cfg.Policy.CancelAfter = 5
		f.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Job, Limits: limit.Limits{Patience: 1000 * time.Hour}})
		id := f.submit(0)
		workers := []*worker{f.start(), f.start()}
		j, counts := f.await(id, 100*time.Hour)
		if j.State != job.Cancelled || !strings.Contains(j.Reason, "refused 5 times") {
			t.Errorf("ended %s (%s)", j.State, j.Reason)
		}
		if counts.Waiting == 0 {
			t.Error("nothing waits")
		}
		f.drain(workers)
	})
}
