package storetest

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"headway/job"
	"headway/limit"
	"headway/store"
	"headway/visit"
)

// tenantWorld is a store with plans and tenants.
type tenantWorld struct {
	*queueWorld
	tenants store.Tenants
}

func newTenantWorld(t testing.TB, open Open, place string, fault store.Fault) *tenantWorld {
	t.Helper()
	w := newQueueWorld(t, open, place, fault)
	tenants, ok := w.store.(store.Tenants)
	if !ok {
		t.Fatal("a queue without tenants")
	}
	return &tenantWorld{w, tenants}
}

// plan stores a plan, and a tenant of the same name with this plan.
func (w *tenantWorld) plan(p store.Plan) {
	w.t.Helper()
	w.check(w.tenants.SetPlan(w.ctx, p))
	w.check(w.tenants.SetTenant(w.ctx, store.Tenant{Name: p.Name, Plan: p.Name}))
}

// ask queues a job of a tenant with a page limit.
func (w *tenantWorld) ask(tenant string, pages int64) job.ID {
	w.t.Helper()
	id, err := w.store.CreateJob(w.ctx, store.Job{Tenant: tenant, State: job.Queued, MaxPages: pages, CreatedAt: w.now})
	w.check(err)
	return id
}

// admit admits all jobs under a safety layer, and returns one of them.
func (w *tenantWorld) admit(safety limit.Limits, id job.ID) store.Job {
	w.t.Helper()
	SetSafety(w.t, w.q, safety)
	_, err := w.q.Admit(w.ctx, w.now)
	w.check(err)
	return w.read(id)
}

func (w *tenantWorld) read(id job.ID) store.Job {
	w.t.Helper()
	j, err := w.store.Job(w.ctx, id)
	w.check(err)
	return j
}

// fetch records pages of a job, as many as there are tokens for.
func (w *tenantWorld) fetch(o *owner, id job.ID, from, to int) (pages int) {
	w.t.Helper()
	w.job = id
	for i := from; i < to; i++ {
		n, err := w.store.Reserve(w.ctx, o.id, id, 1)
		w.check(err)
		if n == 0 {
			return pages
		}
		url := fmt.Sprintf("http://a.example/%d", i)
		w.add(url)
		o.must(store.Commit{Visits: visits(w.visited(url))})
		pages++
	}
	return pages
}

// used is what a tenant used this month.
func (w *tenantWorld) used(tenant string) (pages, bytes int64) {
	w.t.Helper()
	list, err := w.tenants.Usage(w.ctx, store.MonthOf(w.now), tenant)
	w.check(err)
	switch {
	case len(list) == 0:
		return 0, 0
	case len(list) > 1 || list[0].Tenant != tenant:
		w.t.Errorf("the usage of %s: %+v", tenant, list)
	}
	return list[0].Pages, list[0].Bytes
}

func testTenants(t *testing.T, open Open) {
	newTenantWorld(t, open, t.TempDir(), nil) // skips the test if the engine has no tenants
	t.Run("plans and tenants", func(t *testing.T) {
		w := newTenantWorld(t, open, t.TempDir(), nil)
		small := store.Plan{Name: "small", Limits: limit.Limits{Pages: 10, Time: time.Minute}, MonthPages: 100}
		large := store.Plan{Name: "large", Limits: limit.Limits{ConcurrentCrawls: 3}, MonthBytes: 1 << 40}
		for _, p := range []store.Plan{small, {Name: "large"}, large} { // the last one replaces the second
			w.check(w.tenants.SetPlan(w.ctx, p))
		}
		plans, err := w.tenants.Plans(w.ctx)
		w.check(err)
		if diff := cmp.Diff([]store.Plan{large, small}, plans); diff != "" {
			t.Error(diff)
		}
		want := []store.Tenant{{Name: "acme", Plan: "large"}, {Name: "byte"}}
		for _, x := range []store.Tenant{want[1], {Name: "acme", Plan: "small"}, want[0]} {
			w.check(w.tenants.SetTenant(w.ctx, x))
		}
		if err := w.tenants.SetTenant(w.ctx, store.Tenant{Name: "acme", Plan: "none"}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a plan that is not there: %v", err)
		}
		tenants, err := w.tenants.Tenants(w.ctx)
		w.check(err)
		if diff := cmp.Diff(want, tenants); diff != "" {
			t.Error(diff)
		}
		tenants, err = w.tenants.Tenants(w.ctx, "byte", "none")
		w.check(err)
		if diff := cmp.Diff(want[1:], tenants); diff != "" {
			t.Error(diff)
		}
		for _, err := range []error{
			w.tenants.SetPlan(w.ctx, store.Plan{}), w.tenants.SetPlan(w.ctx, store.Plan{Name: "x", MonthPages: -1}),
			w.tenants.SetPlan(w.ctx, store.Plan{Name: "x", Limits: limit.Limits{Pages: -1}}), w.tenants.SetTenant(w.ctx, store.Tenant{}),
		} {
			if err == nil {
				t.Error("something impossible was stored")
			}
		}
	})
	t.Run("usage equals what was recorded", func(t *testing.T) { testUsage(t, open) })
	t.Run("usage under faults", func(t *testing.T) { testUsageFaults(t, open) })
	t.Run("a job is admitted with the strictest limit", func(t *testing.T) { testAdmission(t, open) })
	t.Run("extended jobs", func(t *testing.T) { testExtension(t, open) })
	t.Run("places of a plan", func(t *testing.T) { testPlanPlaces(t, open) })
	t.Run("random histories with plans and faults", func(t *testing.T) { testPlanHistory(t, open) })
	t.Run("notices", func(t *testing.T) { testNotices(t, open) })
}

func testUsage(t *testing.T, open Open) {
	w := newTenantWorld(t, open, t.TempDir(), nil)
	w.plan(store.Plan{Name: "acme", MonthPages: 100, MonthBytes: 1 << 20})
	jobs := map[string]job.ID{"acme": w.ask("acme", 0), "unknown": w.ask("unknown", 0), "": w.ask("", 0)}
	w.admit(limit.Limits{}, 1)
	o := w.newOwner(store.SlotCount)
	for _, id := range jobs {
		w.fetch(o, id, 0, 3)
	}
	// A retry has bytes but is no page; nor is a redirect. A commit that is sent twice
	// counts once, a rejected one not at all.
	w.job = jobs["acme"]
	w.add("http://a.example/x", "http://a.example/y", "http://a.example/z")
	_, err := w.store.Reserve(w.ctx, o.id, w.job, 1)
	w.check(err)
	redirect := w.ended("http://a.example/y", visit.Redirected, "")
	redirect.Answer.WireBytes = 10
	retry := w.visited("http://a.example/z")
	retry.Outcome, retry.Wait = visit.Pending, visit.WaitHold
	o.number++
	c := o.prepare(store.Commit{Visits: visits(w.visited("http://a.example/x"), redirect), Retries: []store.Retry{{Visit: retry, Attempt: 1}}})
	for range 2 {
		_, err := o.send(c)
		w.check(err)
	}
	if _, err := o.commit(store.Commit{Visits: visits(w.visited("http://a.example/x"))}); !errors.Is(err, store.ErrNotWaiting) {
		t.Fatal(err)
	}
	if pages, bytes := w.used("acme"); pages != 4 || bytes != 5010 {
		t.Errorf("%d pages and %d bytes, want 4 and 5010", pages, bytes)
	}
	list, err := w.tenants.Usage(w.ctx, store.MonthOf(w.now))
	w.check(err)
	if len(list) != 1 || list[0].Month != 202611 {
		t.Errorf("%+v: want the one tenant that is in the table", list)
	}
	q, err := w.q.Quota(w.ctx, w.now, "acme")
	w.check(err)
	if want := (limit.Quota{Pages: 100, UsedPages: 4, Bytes: 1 << 20, UsedBytes: 5010}); q != want {
		t.Errorf("%+v, want %+v", q, want)
	}
	w.now = w.now.AddDate(0, 1, 0)
	o.now = w.now
	if q, err = w.q.Quota(w.ctx, w.now, "acme"); err != nil || q.UsedPages != 0 || q.Pages != 100 {
		t.Errorf("the next month: %+v, %v", q, err)
	}
	if q, err = w.q.Quota(w.ctx, w.now, "unknown"); err != nil || q != (limit.Quota{}) {
		t.Errorf("one that is not in the table: %+v, %v", q, err)
	}
}

// testUsageFaults stops commits before each of their statements in turn: usage equals what
// was recorded.
func testUsageFaults(t *testing.T, open Open) {
	stop := &stopper{}
	w := newTenantWorld(t, open, t.TempDir(), stop.fault)
	w.check(w.tenants.SetTenant(w.ctx, store.Tenant{Name: "acme"}))
	w.job = w.ask("acme", 0)
	w.admit(limit.Limits{}, w.job)
	o := w.newOwner(store.SlotCount)
	for i, done := 0, false; !done; i++ {
		url := fmt.Sprintf("http://a.example/%d", i)
		w.add(url)
		stop.armed, stop.left = true, i
		_, err := o.commit(store.Commit{Visits: visits(w.visited(url))})
		stop.armed = false
		if done = err == nil; !done && !errors.Is(err, errStop) {
			t.Fatal(err)
		}
		if pages, bytes := w.used("acme"); pages != w.counts().Pages() || bytes != 1000*pages {
			t.Fatalf("stopped at statement %d: %d pages and %d bytes used, %d recorded", i, pages, bytes, w.counts().Pages())
		}
	}
	if pages, _ := w.used("acme"); pages != 1 {
		t.Errorf("%d pages used", pages)
	}
}

// testAdmission admits jobs under every combination of layers. The page limit of a job is
// exactly the strictest, and what it requested is remembered.
func testAdmission(t *testing.T, open Open) {
	for _, tc := range []struct {
		name                      string
		safety, plan, quota, used int64
		asked                     int64
		want                      string
		pages                     int // that it can fetch
	}{
		{"nothing is set", 0, 0, 0, 0, 0, "max_pages none", 12},
		{"the job alone", 0, 0, 0, 0, 5, "max_pages 5 (job)", 5},
		{"safety caps", 5, 0, 0, 0, 100, "max_pages 5 (safety; requested 100)", 5},
		{"safety where nothing was asked", 5, 0, 0, 0, 0, "max_pages 5 (safety)", 5},
		{"the plan caps", 9, 5, 0, 0, 100, "max_pages 5 (plan; requested 100)", 5},
		{"a plan above safety", 5, 9, 0, 0, 100, "max_pages 5 (safety; requested 100)", 5},
		{"the month caps", 9, 8, 10, 5, 100, "max_pages 5 (usage; requested 100)", 5},
		{"all the same", 5, 5, 5, 0, 5, "max_pages 5 (safety)", 5},
		{"nothing is left", 9, 8, 5, 5, 100, "max_pages 0 (usage; requested 100)", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newTenantWorld(t, open, t.TempDir(), nil)
			w.check(w.tenants.SetTenant(w.ctx, store.Tenant{Name: "acme"}))
			o := w.newOwner(store.SlotCount)
			before := w.ask("acme", 0)
			w.admit(limit.Limits{}, before)
			w.fetch(o, before, 0, int(tc.used))
			w.set(before, job.Running, job.Complete)
			w.plan(store.Plan{Name: "acme", Limits: limit.Limits{Pages: tc.plan, Time: time.Hour}, MonthPages: tc.quota})
			id := w.ask("acme", tc.asked)
			j := w.admit(limit.Limits{Pages: tc.safety, Time: time.Minute}, id)
			e := j.Limits()
			if got := e.Of(limit.Pages).String(); got != tc.want || e.Of(limit.Time).String() != "max_time 1m (safety)" {
				t.Errorf("%s and %s, want %s", got, e.Of(limit.Time), tc.want)
			}
			if tc.pages == 0 {
				notices, err := w.q.Notices(w.ctx, id)
				w.check(err)
				if j.State != job.Partial || j.Reason != "max_pages" || !j.EndedAt.Equal(w.now) || len(notices) != 1 || notices[0].Text != "Usage limit: Maximum 0 pages left this month (requested: 100)" {
					t.Errorf("%s (%s), %+v", j.State, j.Reason, notices)
				}
				return
			}
			if j.State != job.Running || j.MaxPages != e.Max(limit.Pages) {
				t.Errorf("%s with %d pages", j.State, j.MaxPages)
			}
			if n := w.fetch(o, id, 0, 12); n != tc.pages {
				t.Errorf("%d pages, want %d", n, tc.pages)
			}
			if pages, _ := w.used("acme"); pages != int64(tc.pages)+tc.used {
				t.Errorf("%d pages used, want %d", pages, int64(tc.pages)+tc.used)
			}
		})
	}
}

// testExtension extends jobs under layers that are stricter.
func testExtension(t *testing.T, open Open) {
	w := newTenantWorld(t, open, t.TempDir(), nil)
	w.plan(store.Plan{Name: "acme", Limits: limit.Limits{Pages: 4}, MonthPages: 20})
	o := w.newOwner(store.SlotCount)
	safety := limit.Limits{Pages: 6}
	id := w.ask("acme", 2)
	extend := func(to int64, want string) {
		t.Helper()
		w.check(w.store.Extend(w.ctx, w.now, id, to))
		j := w.read(id)
		if got := j.Limits().Of(limit.Pages).String(); got != want {
			t.Errorf("extended to %d: %s, want %s", to, got, want)
		}
	}
	extend(3, "max_pages 3 (job)") // not admitted yet: the layers apply later
	w.admit(safety, id)
	if n := w.fetch(o, id, 0, 10); n != 3 {
		t.Fatalf("%d pages", n)
	}
	extend(100, "max_pages 4 (plan; requested 100)")
	if n := w.fetch(o, id, 3, 10); n != 1 {
		t.Fatalf("%d more pages, want 1", n)
	}
	w.plan(store.Plan{Name: "acme", Limits: limit.Limits{Pages: 1000}, MonthPages: 20}) // a plan upgrade does not lift the safety limit
	extend(100, "max_pages 6 (safety; requested 100)")
	extend(0, "max_pages 6 (safety)")
	w.set(id, job.Running, job.Partial)
	w.set(id, job.Partial, job.Queued)
	w.admit(limit.Limits{Pages: 50}, id) // the operator allows more; 16 pages are left this month
	if got := w.read(id); got.MaxPages != 20 || got.State != job.Running {
		t.Errorf("%s with %d pages, want 4 that it has had and 16", got.State, got.MaxPages)
	}
	if n := w.fetch(o, id, 4, 40); n != 16 {
		t.Errorf("%d more pages, want 16", n)
	}
	if pages, _ := w.used("acme"); pages != 20 {
		t.Errorf("%d pages used", pages)
	}
	w.set(id, job.Running, job.Partial)
	w.set(id, job.Partial, job.Queued)
	if j := w.admit(limit.Limits{Pages: 7}, id); j.State != job.Running || w.fetch(o, id, 40, 50) != 0 {
		t.Errorf("%s: it has had more than it may now", j.State)
	}
	// A job that ran without a limit is not counted, and gets none later.
	w.set(id, job.Running, job.Complete)
	free := w.ask("", 0)
	w.admit(limit.Limits{}, free)
	w.fetch(o, free, 0, 2)
	w.set(free, job.Running, job.Partial)
	w.set(free, job.Partial, job.Queued)
	if j := w.admit(limit.Limits{Pages: 3}, free); j.MaxPages != 0 || j.Limits().Max(limit.Pages) != 3 {
		t.Errorf("%d pages, %s", j.MaxPages, j.Limits().Of(limit.Pages))
	}

	// The other limits are extended the same way, in any combination.
	others := func(to store.Extension, want string) {
		t.Helper()
		w.check(w.q.ExtendLimits(w.ctx, w.now, id, to))
		if got := to.Describe(w.readLimits(id)); got != want {
			t.Errorf("extended to %v: %s, want %s", to, got, want)
		}
	}
	others(store.Extension{limit.Requests: 50, limit.Time: int64(time.Hour)}, "max_requests 50 (job), max_time 1h (job)")
	w.plan(store.Plan{Name: "acme", Limits: limit.Limits{Time: time.Minute}})
	others(store.Extension{limit.Time: int64(2 * time.Hour), limit.Bytes: 7}, "max_bytes 7 (job), max_time 1m (plan; requested 2h)")
	others(store.Extension{limit.Bytes: 0, limit.Requests: 60}, "max_requests 60 (job), max_bytes none")
	for _, to := range []store.Extension{{limit.Requests: 59}, {limit.Time: int64(time.Hour)}} {
		if err := w.q.ExtendLimits(w.ctx, w.now, id, to); !errors.Is(err, store.ErrConflict) {
			t.Errorf("extended to less, %v: %v", to, err)
		}
	}
	for _, to := range []store.Extension{{limit.Depth: 5}, {limit.Requests: -1}} {
		if err := w.q.ExtendLimits(w.ctx, w.now, id, to); err == nil {
			t.Errorf("extended to %v", to)
		}
	}
	for _, j := range w.active() {
		if j.ID == id && j.Limits().Of(limit.Requests).Max != 60 {
			t.Errorf("workers read %v", j.Layers)
		}
	}
}

func testPlanPlaces(t *testing.T, open Open) {
	w := newTenantWorld(t, open, t.TempDir(), nil)
	w.plan(store.Plan{Name: "a", Limits: limit.Limits{ConcurrentCrawls: 1}})
	w.plan(store.Plan{Name: "b", Limits: limit.Limits{ConcurrentCrawls: 2}})
	for _, name := range []string{"a1", "a2", "a3", "b1", "b2", "b3", "c1", "c2"} {
		w.submit(name[:1], name)
	}
	if got := fmt.Sprint(w.queueWorld.admit(99)); got != "[a1 b1 c1 b2 c2]" {
		t.Errorf("at first: %s", got)
	}
	for _, j := range w.active() {
		w.set(j.ID, job.Running, job.Paused) // a paused job keeps its place
	}
	if got := w.queueWorld.admit(99); len(got) != 0 {
		t.Errorf("without a place: %v", got)
	}
	w.submit("c", "c3")
	w.set(w.active()[0].ID, job.Paused, job.Cancelled)
	// a has waited longest, and has a place now; one place of the fleet is left for c.
	if got := fmt.Sprint(w.queueWorld.admit(6)); got != "[a2 c3]" {
		t.Errorf("after an end: %s", got)
	}
	w.plan(store.Plan{Name: "b", Limits: limit.Limits{ConcurrentCrawls: 3}})
	if got := fmt.Sprint(w.queueWorld.admit(99)); got != "[b3]" {
		t.Errorf("after an upgrade: %s", got)
	}
}

// testPlanHistory queues, admits and ends jobs of tenants with and without plans, and stops
// some admissions between two statements: no plan and no fleet ever exceeds its places, the
// order within a tenant is kept, and at the end no job waits that could be admitted.
func testPlanHistory(t *testing.T, open Open) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		stop := &stopper{}
		w := newTenantWorld(t, open, filepath.Join(dir, fmt.Sprint(n)), stop.fault)
		most := rapid.IntRange(1, 4).Draw(r, "most")
		w.places(most)
		plans := map[string]int{"a": 1, "b": 2, "c": 1 << 30}
		w.plan(store.Plan{Name: "a", Limits: limit.Limits{ConcurrentCrawls: 1}})
		w.plan(store.Plan{Name: "b", Limits: limit.Limits{ConcurrentCrawls: 2}})
		queued := map[string][]job.ID{}
		running := map[string][]job.ID{}
		admit := func(r *rapid.T) {
			list, err := w.q.Admit(w.ctx, w.now)
			if err != nil && !errors.Is(err, errStop) {
				r.Fatal(err)
			}
			for _, j := range list {
				if q := queued[j.Tenant]; len(q) == 0 || q[0] != j.ID {
					r.Fatalf("job %d of %q before %v", j.ID, j.Tenant, q)
				}
				queued[j.Tenant] = queued[j.Tenant][1:]
				running[j.Tenant] = append(running[j.Tenant], j.ID)
			}
		}
		total := func() (n int) {
			for _, list := range running {
				n += len(list)
			}
			return n
		}
		r.Repeat(map[string]func(*rapid.T){
			"submit": func(r *rapid.T) {
				tenant := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "tenant")
				queued[tenant] = append(queued[tenant], w.submit(tenant, ""))
			},
			"admit": func(r *rapid.T) {
				stop.armed, stop.left = true, rapid.IntRange(0, 16).Draw(r, "stop")
				admit(r)
				stop.armed = false
			},
			"end": func(r *rapid.T) {
				tenant := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "tenant")
				if list := running[tenant]; len(list) > 0 {
					w.set(list[0], job.Running, job.Complete)
					running[tenant] = list[1:]
				}
			},
			"": func(r *rapid.T) {
				for tenant, list := range running {
					if len(list) > plans[tenant] {
						r.Fatalf("%d jobs of %q", len(list), tenant)
					}
				}
				if len(w.active()) != total() || total() > most {
					r.Fatalf("%d jobs of %d, %d known", len(w.active()), most, total())
				}
			},
		})
		admit(r)
		for tenant, list := range queued {
			if len(list) > 0 && total() < most && len(running[tenant]) < plans[tenant] {
				r.Fatalf("%d jobs of %q wait though there is a place", len(list), tenant)
			}
		}
	})
}

func testNotices(t *testing.T, open Open) {
	w := newTenantWorld(t, open, t.TempDir(), nil)
	id := w.ask("", 10)
	w.admit(limit.Limits{}, id)
	note := func(after time.Duration, percent int, ceiling int64) bool {
		t.Helper()
		first, err := w.q.Note(w.ctx, store.Notice{Job: id, At: start.Add(after), Limit: limit.Pages, Layer: limit.Job, Max: ceiling, Observed: 9, Percent: percent, Text: "text"})
		w.check(err)
		return first
	}
	var got []bool
	for i, n := range []struct {
		percent int
		ceiling int64
	}{{80, 10}, {80, 10}, {95, 10}, {store.StoppedBy, 10}, {80, 20}, {store.StoppedBy, 10}} {
		got = append(got, note(time.Duration(i)*time.Second, n.percent, n.ceiling))
	}
	// A worker that dies after it has noted a stop leaves it to the next to end the job.
	if want := []bool{true, false, true, true, true, false}; !slices.Equal(got, want) {
		t.Errorf("new: %v, want %v", got, want)
	}
	list, err := w.q.Notices(w.ctx, id)
	w.check(err)
	var told []string
	for _, n := range list {
		told = append(told, fmt.Sprintf("%s %d %% of %d", n.At.Sub(start), n.Percent, n.Max))
		if n.Job != id || n.Limit != limit.Pages || n.Layer != limit.Job || n.Observed != 9 || n.Text != "text" {
			t.Errorf("%+v", n)
		}
	}
	if want := []string{"0s 80 % of 10", "2s 95 % of 10", "3s 100 % of 10", "4s 80 % of 20"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
	w.set(id, job.Running, job.Partial)
	w.set(id, job.Partial, job.Queued)
	w.now = w.now.Add(time.Minute)
	w.admit(limit.Limits{}, id)
	if !note(2*time.Minute, store.StoppedBy, 10) {
		t.Error("a limit that stops the job again is not new")
	}
	w.set(id, job.Running, job.Cancelled)
	w.check(w.store.Drop(w.ctx, id))
	if list, err = w.q.Notices(w.ctx, id); err != nil || len(list) != 0 {
		t.Errorf("after the job is gone: %v, %v", list, err)
	}
	if first, err := w.q.Note(w.ctx, store.Notice{Job: id, Percent: 80}); err != nil || first {
		t.Errorf("of a job that is gone: %v, %v", first, err)
	}
}

// readLimits returns the limits of a job that are in force.
func (w *tenantWorld) readLimits(id job.ID) limit.Effective {
	w.t.Helper()
	j := w.read(id)
	return j.Limits()
}
