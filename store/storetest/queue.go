package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"headway/job"
	"headway/limit"
	"headway/store"
)

// queueWorld is a store with a queue of jobs.
type queueWorld struct {
	*world
	q store.Queue
}

// newQueueWorld opens an empty store. Engines for a single process have no queue.
func newQueueWorld(t testing.TB, open Open, place string, fault store.Fault) *queueWorld {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), store: open(t, place, fault), now: start}
	t.Cleanup(func() { w.store.Close() })
	q, ok := w.store.(store.Queue)
	if !ok {
		t.Skip("not shared by workers: no queue")
	}
	return &queueWorld{w, q}
}

// submit queues a job, whose name contains its tenant and number.
func (w *queueWorld) submit(tenant, name string) job.ID {
	w.t.Helper()
	id, err := w.store.CreateJob(w.ctx, store.Job{Tenant: tenant, Name: name, State: job.Queued, MaxPages: 1, CreatedAt: w.now, Spec: []byte("{}")})
	w.check(err)
	return id
}

// places sets how many crawls the fleet allows at once.
func (w *queueWorld) places(most int) {
	w.t.Helper()
	SetSafety(w.t, w.q, limit.Limits{ConcurrentCrawls: int64(most)})
}

// admit returns the names of the jobs that were admitted.
func (w *queueWorld) admit(most int) (names []string) {
	w.t.Helper()
	w.places(most)
	list, err := w.q.Admit(w.ctx, w.now)
	w.check(err)
	for _, j := range list {
		if j.State != job.Running || !j.StartedAt.Equal(w.now) || j.Spec != nil || j.Layers != nil {
			w.t.Errorf("admitted %+v", j)
		}
		names = append(names, j.Name)
	}
	return names
}

func (w *queueWorld) set(id job.ID, from, to job.State) {
	w.t.Helper()
	w.check(w.store.SetState(w.ctx, w.now, id, from, to, ""))
}

func (w *queueWorld) active() []store.Job {
	w.t.Helper()
	list, err := w.q.ActiveJobs(w.ctx)
	w.check(err)
	return list
}

func testQueue(t *testing.T, open Open) {
	t.Run("tenants take turns, jobs of a tenant go in order", func(t *testing.T) {
		w := newQueueWorld(t, open, t.TempDir(), nil)
		for _, name := range []string{"a1", "a2", "a3", "b1", "b2", "c1"} {
			w.submit(name[:1], name)
		}
		for i, want := range []string{"a1", "b1", "c1", "a2", "b2", "a3", ""} {
			if got := strings.Join(w.admit(1), " "); got != want {
				t.Errorf("turn %d: %q, want %q", i, got, want)
			}
			if got := w.admit(1); len(got) != 0 {
				t.Errorf("turn %d: %v is admitted to a place that is taken", i, got)
			}
			for _, j := range w.active() {
				w.set(j.ID, job.Running, job.Complete)
			}
		}
	})
	t.Run("a job is slowed down and released", func(t *testing.T) {
		w := newQueueWorld(t, open, t.TempDir(), nil)
		id := w.submit("a", "a1")
		w.check(w.q.SetPace(w.ctx, w.now, id, 3*time.Second))
		w.admit(1)
		if list := w.active(); len(list) != 1 || list[0].Pace != 3*time.Second {
			t.Errorf("slowed in the queue: %+v", list)
		}
		w.check(w.q.SetPace(w.ctx, w.now, id, 0))
		if j, err := w.store.Job(w.ctx, id); err != nil || j.Pace != 0 || j.State != job.Running {
			t.Errorf("let go: %+v, %v", j, err)
		}
		for _, pace := range []time.Duration{-1, store.MaxPace + time.Second} {
			if err := w.q.SetPace(w.ctx, w.now, id, pace); err == nil {
				t.Errorf("slowed to %v", pace)
			}
		}
		if err := w.q.SetPace(w.ctx, w.now, id+1, time.Second); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("no job: %v", err)
		}
		w.set(id, job.Running, job.Complete)
		if err := w.q.SetPace(w.ctx, w.now, id, time.Second); !errors.Is(err, store.ErrConflict) {
			t.Errorf("a job that has ended: %v", err)
		}
	})
	t.Run("several at once go in the same order", func(t *testing.T) {
		w := newQueueWorld(t, open, t.TempDir(), nil)
		for _, name := range []string{"a1", "a2", "a3", "b1", "b2", "c1"} {
			w.submit(name[:1], name)
		}
		if got := fmt.Sprint(w.admit(4)); got != "[a1 b1 c1 a2]" {
			t.Errorf("four: %s", got)
		}
		w.submit("d", "d1")
		w.submit("c", "c2")
		// b has waited since its first job was admitted, before a's second; d and c came
		// last.
		if got := fmt.Sprint(w.admit(99)); got != "[b2 a3 d1 c2]" {
			t.Errorf("the rest: %s", got)
		}
	})
	t.Run("a place is kept until the job has ended", func(t *testing.T) {
		w := newQueueWorld(t, open, t.TempDir(), nil)
		first, second := w.submit("a", "a1"), w.submit("a", "a2")
		w.admit(1)
		w.set(first, job.Running, job.Paused)
		if got := w.admit(1); len(got) != 0 {
			t.Errorf("beside a paused job: %v", got)
		}
		w.set(first, job.Paused, job.Draining)
		if got := w.admit(1); len(got) != 0 {
			t.Errorf("beside a draining job: %v", got)
		}
		if list := w.active(); len(list) != 1 || list[0].ID != first || list[0].State != job.Draining || list[0].Spec != nil || list[0].Name != "a1" {
			t.Errorf("active: %+v", list)
		}
		w.set(first, job.Draining, job.Partial)
		w.now = w.now.Add(store.MinSpan)
		if got := w.admit(1); !slices.Equal(got, []string{"a2"}) {
			t.Errorf("after its end: %v", got)
		}
		// After an extension it queues again, behind the others.
		third := w.submit("a", "a3")
		w.set(first, job.Partial, job.Queued)
		w.set(second, job.Running, job.Complete)
		if got := w.admit(2); !slices.Equal(got, []string{"a3", "a1"}) {
			t.Errorf("queued again: %v", got)
		}
		if list := w.active(); len(list) != 2 || list[0].ID != first || list[1].ID != third {
			t.Errorf("active: %+v", list)
		}
	})
	t.Run("newcomers do not starve a tenant", func(t *testing.T) {
		w := newQueueWorld(t, open, t.TempDir(), nil)
		w.submit("old", "old1")
		w.submit("old", "old2")
		for i := range 5 {
			w.submit(fmt.Sprint("new", i), "new")
		}
		served := 0
		for i := range 20 {
			got := w.admit(1)
			if slices.Contains(got, "old1") || slices.Contains(got, "old2") {
				served++
			}
			w.set(w.active()[0].ID, job.Running, job.Complete)
			for k := range 3 {
				w.submit(fmt.Sprint("newer", i, k), "new")
			}
		}
		if served != 2 {
			t.Errorf("served %d times", served)
		}
	})
	t.Run("places are kept for tenants that have none", func(t *testing.T) { testQueueKept(t, open) })
	t.Run("random histories with faults", func(t *testing.T) { testQueueHistory(t, open) })
	t.Run("concurrent callers", func(t *testing.T) { testQueueCallers(t, open) })
}

// testQueueKept lets a tenant take all places that it may have. Tenants that come later
// get the rest at once, one each, and the first continues when enough are free again.
func testQueueKept(t *testing.T, open Open) {
	w := newQueueWorld(t, open, t.TempDir(), nil)
	const most, kept = 20, 2
	for i := range 2 * most {
		w.submit("a", fmt.Sprint("a", i))
	}
	if got := w.admit(most); len(got) != most-kept || got[0] != "a0" {
		t.Errorf("alone: %v", got)
	}
	for _, name := range []string{"b1", "b2", "c1", "d1"} {
		w.submit(name[:1], name)
	}
	if got := fmt.Sprint(w.admit(most)); got != "[b1 c1]" {
		t.Errorf("beside it: %s", got)
	}
	end := func(n int) {
		t.Helper()
		for _, j := range w.active()[:n] {
			w.set(j.ID, job.Running, job.Complete)
		}
	}
	end(1)
	if got := fmt.Sprint(w.admit(most)); got != "[d1]" {
		t.Errorf("to the one that has none: %s", got)
	}
	end(kept)
	if got := w.admit(most); len(got) != 0 {
		t.Errorf("to places that are kept: %v", got)
	}
	end(2)
	if got := fmt.Sprint(w.admit(most)); got != "[a18 b2]" {
		t.Errorf("in turn: %s", got)
	}
}

// queueModel is the model of a test of random histories.
type queueModel struct {
	*queueWorld
	most    int
	queued  map[string][]job.ID // by tenant, in order
	overdue map[string]map[string]bool
	running []job.ID
}

// testQueueHistory queues, admits, ends and cancels jobs of some tenants at random, and
// stops some admissions between two statements. There are never more than most, the order
// within a tenant is kept, and while a tenant's first job waits no other tenant is served
// twice.
func testQueueHistory(t *testing.T, open Open) {
	newQueueWorld(t, open, t.TempDir(), nil) // skips the test if the engine has no queue
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		stop := &stopper{}
		w := newQueueWorld(t, open, filepath.Join(dir, fmt.Sprint(n)), stop.fault)
		m := &queueModel{queueWorld: w, most: rapid.IntRange(1, 3).Draw(r, "most"), queued: map[string][]job.ID{}, overdue: map[string]map[string]bool{}}
		w.places(m.most)
		r.Repeat(map[string]func(*rapid.T){
			"submit": func(r *rapid.T) {
				tenant := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(r, "tenant")
				m.queue(tenant, w.submit(tenant, ""))
			},
			"admit": func(r *rapid.T) {
				stop.armed, stop.left = true, rapid.IntRange(0, 12).Draw(r, "stop")
				list, err := w.q.Admit(w.ctx, w.now)
				stop.armed = false
				if err != nil && !errors.Is(err, errStop) {
					r.Fatal(err)
				}
				for _, j := range list {
					m.admitted(r, j)
				}
			},
			"end": func(r *rapid.T) {
				if len(m.running) > 0 {
					w.set(m.running[0], job.Running, job.Complete)
					m.running = m.running[1:]
				}
			},
			"cancel": func(r *rapid.T) {
				tenant := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(r, "tenant")
				if list := m.queued[tenant]; len(list) > 0 {
					at := rapid.IntRange(0, len(list)-1).Draw(r, "which")
					w.set(list[at], job.Queued, job.Cancelled)
					m.queued[tenant] = slices.Delete(slices.Clone(list), at, at+1)
					if at == 0 {
						delete(m.overdue, tenant)
					}
				}
			},
			"": func(r *rapid.T) {
				var ids []job.ID
				for _, j := range w.active() {
					ids = append(ids, j.ID)
				}
				want := slices.Sorted(slices.Values(m.running))
				if !slices.Equal(ids, want) || len(ids) > m.most {
					r.Fatalf("%v are running of at most %d, want %v", ids, m.most, want)
				}
			},
		})
	})
}

// queue records a queued job.
func (m *queueModel) queue(tenant string, id job.ID) {
	m.queued[tenant] = append(m.queued[tenant], id)
}

// admitted checks and records an admission.
func (m *queueModel) admitted(r *rapid.T, j store.Job) {
	list := m.queued[j.Tenant]
	if len(list) == 0 || list[0] != j.ID {
		r.Fatalf("job %d of %q is admitted before %v", j.ID, j.Tenant, list)
	}
	m.queued[j.Tenant], m.running = list[1:], append(m.running, j.ID)
	delete(m.overdue, j.Tenant)
	for tenant, waiting := range m.queued {
		if tenant == j.Tenant || len(waiting) == 0 {
			continue
		}
		if m.overdue[tenant][j.Tenant] {
			r.Fatalf("%q is served twice while job %d of %q waits", j.Tenant, waiting[0], tenant)
		}
		if m.overdue[tenant] == nil {
			m.overdue[tenant] = map[string]bool{}
		}
		m.overdue[tenant][j.Tenant] = true
	}
}

// testQueueCallers lets workers admit and end jobs concurrently, with faults.
func testQueueCallers(t *testing.T, open Open) {
	const workers, tenants, jobs, most = 6, 3, 8, 2
	var armed atomic.Bool
	w := newQueueWorld(t, open, t.TempDir(), func(string) error {
		if armed.Load() && rand.IntN(10) == 0 {
			return errStop
		}
		return nil
	})
	w.places(most)
	for range jobs {
		for i := range tenants {
			w.submit(fmt.Sprint("tenant", i), "")
		}
	}
	armed.Store(true)
	var mu sync.Mutex
	admitted := map[job.ID]bool{}
	once := func(id job.ID) bool {
		mu.Lock()
		defer mu.Unlock()
		first := !admitted[id]
		admitted[id] = true
		return first
	}
	all := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(admitted) == tenants*jobs
	}
	work := func() error {
		for tries := 0; !all(); tries++ {
			if tries > 100_000 {
				return errors.New("no end of it")
			}
			list, err := w.q.Admit(w.ctx, w.now)
			if err != nil && !errors.Is(err, errStop) {
				return err
			}
			active, err := w.q.ActiveJobs(w.ctx)
			if err != nil && !errors.Is(err, errStop) || len(active) > most {
				return fmt.Errorf("%d active of at most %d: %w", len(active), most, err)
			}
			for _, j := range list {
				if !once(j.ID) {
					return fmt.Errorf("job %d is admitted twice", j.ID)
				}
				err := errStop
				for errors.Is(err, errStop) {
					err = w.store.SetState(w.ctx, w.now, j.ID, job.Running, job.Complete, "")
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	}
	errs := make(chan error, workers)
	for range workers {
		go func() { errs <- work() }()
	}
	for range workers {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
