package headway_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/job"
	"headway/lab"
	"headway/lab/temper"
	"headway/limit"
	"headway/store"
	"headway/store/memory"
	"headway/store/storetest"
)

// newLimited returns a fleet whose jobs have the limits stored with them.
func newLimited(t *testing.T, specs []lab.HostSpec, safety limit.Limits) *fleet {
	f := &fleet{simulated: simulate(t, specs)}
	storetest.SetSafety(t, f.st.(store.Queue), safety)
	f.open = func(j store.Job, c headway.Job) (headway.Job, error) {
		c.Limits = j.Limits()
		return c, nil
	}
	return f
}

// farm returns hosts of one profile.
func farm(hosts int, t lab.Temper) []lab.HostSpec {
	specs := make([]lab.HostSpec, hosts)
	for i := range specs {
		specs[i] = lab.HostSpec{Name: fmt.Sprintf("h%d.site%d.example", i, i), Temper: t}
	}
	return specs
}

// plan creates a plan and its only tenant, of the same name.
func (f *fleet) plan(p store.Plan) {
	f.Helper()
	st := f.st.(*memory.Store)
	for _, err := range []error{st.SetPlan(f.Context(), p), st.SetTenant(f.Context(), store.Tenant{Name: p.Name, Plan: p.Name})} {
		if err != nil {
			f.Fatal(err)
		}
	}
}

// request queues a job.
func (f *fleet) request(tenant string, pages int64) job.ID {
	f.Helper()
	id, err := f.st.CreateJob(f.Context(), store.Job{Tenant: tenant, State: job.Queued, MaxPages: pages, CreatedAt: time.Now().UTC()})
	if err != nil {
		f.Fatal(err)
	}
	return id
}

// notices returns the stored warnings about the limits of a job, one per line.
func (f *fleet) notices(id job.ID) string {
	f.Helper()
	list, err := f.st.(*memory.Store).Notices(f.Context(), id)
	if err != nil {
		f.Fatal(err)
	}
	var lines []string
	for _, n := range list {
		lines = append(lines, n.Text)
	}
	return strings.Join(lines, "\n")
}

// used is how many pages a tenant used this month.
func (f *fleet) used(tenant string) int64 {
	f.Helper()
	q, err := f.st.(*memory.Store).Quota(f.Context(), time.Now(), tenant)
	if err != nil {
		f.Fatal(err)
	}
	return q.UsedPages
}

// TestLimitsOfLayers lets each layer stop a job on several workers, one of which crashes:
// exactly that many pages are recorded and used, and the layer is named.
func TestLimitsOfLayers(t *testing.T) {
	for name, tc := range map[string]struct {
		safety limit.Limits
		plan   store.Plan
		asked  int64
		pages  int64
		told   []string
	}{
		"safety": {
			limit.Limits{Pages: 40},
			store.Plan{Limits: limit.Limits{Pages: 1000}, MonthPages: 1000},
			100, 40,
			[]string{"max_pages: 80 % used, * of 40 (safety)", "Safety limit: Maximum 40 pages per crawl (requested: 100)"},
		},
		"plan": {
			limit.Limits{Pages: 90},
			store.Plan{Limits: limit.Limits{Pages: 40}},
			0, 40,
			[]string{"max_pages: 80 % used, * of 40 (plan)", "Plan limit: Maximum 40 pages per crawl"},
		},
		"usage": {
			limit.Limits{Pages: 90},
			store.Plan{MonthPages: 40},
			100, 40,
			[]string{"max_pages: 80 % used, * of 40 (usage)", "Usage limit: Maximum 40 pages left this month (requested: 100)"},
		},
		"job": {
			limit.Limits{Pages: 90},
			store.Plan{Limits: limit.Limits{Pages: 45}, MonthPages: 1000},
			40, 40,
			[]string{"max_pages: 80 % used, * of 40 (job)", "Job limit: Maximum 40 pages per crawl"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newLimited(t, farm(2, small(60)), tc.safety)
				tc.plan.Name = "acme"
				f.plan(tc.plan)
				id := f.request("acme", tc.asked)
				workers := []*worker{f.start(), f.start(), f.start()}
				pass(5 * time.Second)
				workers[0].crash()
				workers = append(workers[1:], f.start())
				j, counts := f.await(id, 5*time.Minute)
				f.drain(workers)
				if j.State != job.Partial || j.Reason != "max_pages" || counts.Pages() != tc.pages || f.used("acme") != tc.pages {
					t.Errorf("%s (%s) with %d pages, %d used; want partial (max_pages) with %d", j.State, j.Reason, counts.Pages(), f.used("acme"), tc.pages)
				}
				told := f.notices(id)
				for _, want := range tc.told {
					before, after, _ := strings.Cut(want, "*")
					if !slices.ContainsFunc(strings.Split(told, "\n"), func(line string) bool { return strings.HasPrefix(line, before) && strings.HasSuffix(line, after) }) {
						t.Errorf("no notice %q in\n%s", want, told)
					}
				}
				f.polite(time.Second)
			})
		})
	}
}

// TestLimitsAtTimeout stops a job at its time limit: nothing starts after it, requests in
// flight get two seconds and are recorded, and slower ones are cancelled.
func TestLimitsAtTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, hanging := small(60), small(60)
		slow.Rules.Latency = temper.Constant(1700 * time.Millisecond)
		hanging.Rules.Latency = temper.Constant(time.Minute)
		specs := append(farm(8, slow), lab.HostSpec{Name: "h.hanging.example", Temper: hanging})
		f := newLimited(t, specs, limit.Limits{Time: 20 * time.Second})
		id := f.request("", 0)
		workers := []*worker{f.start(), f.start(), f.start()}
		for { // until it runs
			if j, err := f.st.Job(t.Context(), id); err != nil {
				t.Fatal(err)
			} else if j.State == job.Running {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		// There are no notifications here: workers poll every second.
		pass(20*time.Second + 1500*time.Millisecond)
		asked := f.web.Stats().Total.Requests
		if j, err := f.st.Job(t.Context(), id); err != nil || j.State != job.Draining || j.Reason != "max_time" {
			t.Errorf("%s (%s) at the timeout: %v", j.State, j.Reason, err)
		}
		j, _ := f.await(id, time.Minute)
		pass(3 * time.Second)
		counts, err := f.st.Counts(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if n := f.web.Stats().Total.Requests - asked; n != 0 {
			t.Errorf("%d requests after the timeout", n)
		}
		f.drain(workers)
		if ran := j.EndedAt.Sub(j.StartedAt); j.State != job.Partial || j.Reason != "max_time" || ran < 23*time.Second || ran > 24500*time.Millisecond {
			t.Errorf("%s (%s) after %v, want partial (max_time) after 23s", j.State, j.Reason, ran)
		}
		if answered := f.web.Stats().Total.PageAnswers; counts.Pages() != answered {
			t.Errorf("%d pages recorded, %d answered: what was in flight is lost", counts.Pages(), answered)
		}
		if told := f.notices(id); !strings.HasSuffix(told, "Safety limit: Crawl timeout exceeded (20000ms)") || !strings.Contains(told, "max_time: 80 % used") {
			t.Errorf("notices:\n%s", told)
		}
	})
}

// TestLimitsAtTimeoutTakenOver stops a job at its time limit whose workers crash, early or
// just before it, and are replaced: every worker knows when the job began, starts nothing
// after its time and cancels requests in flight two seconds later.
func TestLimitsAtTimeoutTakenOver(t *testing.T) {
	const most = 20 * time.Second
	for _, at := range []time.Duration{7 * time.Second, 12 * time.Second, 18 * time.Second} {
		t.Run(at.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hanging := small(60)
				hanging.Rules.Latency = temper.Constant(time.Minute)
				specs := append(farm(8, small(60)), lab.HostSpec{Name: "h.hanging.example", Temper: hanging})
				f := newLimited(t, specs, limit.Limits{Time: most})
				id := f.request("", 0)
				workers := []*worker{f.start(), f.start(), f.start()}
				pass(at)
				workers[0].crash()
				workers[1].crash()
				workers = append(workers[2:], f.start())
				j, _ := f.await(id, time.Minute)
				f.drain(workers)
				if j.State != job.Partial || j.Reason != "max_time" {
					t.Errorf("%s (%s), want partial (max_time)", j.State, j.Reason)
				}
				up := j.StartedAt.Add(most)
				for _, r := range f.web.Log() {
					if r.Start.After(up) {
						t.Errorf("%s%s was requested %v after the timeout", r.Host, r.Target, r.Start.Sub(up))
					}
					// robots.txt belongs to the host and all jobs.
					if r.Answer.After(up.Add(2300*time.Millisecond)) && r.Target != "/robots.txt" {
						t.Errorf("%s%s was in flight until %v after the timeout", r.Host, r.Target, r.Answer.Sub(up))
					}
				}
			})
		})
	}
}

// TestLimitsShared lets jobs of a tenant share a quota: it is exceeded only slightly, usage
// equals what was recorded, and each job names the quota.
func TestLimitsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const quota, jobs, hosts = 60, 3, 4
		f := newLimited(t, farm(hosts, small(60)), limit.Limits{})
		f.plan(store.Plan{Name: "acme", MonthPages: quota})
		var ids []job.ID
		for range jobs {
			ids = append(ids, f.request("acme", 0))
		}
		workers := []*worker{f.start(), f.start()}
		var pages int64
		for _, id := range ids {
			j, counts := f.await(id, 10*time.Minute)
			pages += counts.Pages()
			if told := f.notices(id); j.State != job.Partial || j.Reason != "max_pages" || !strings.Contains(told, "Usage limit: Maximum ") || !strings.Contains(told, "max_pages: 80 % used") {
				t.Errorf("job %d: %s (%s), notices\n%s", id, j.State, j.Reason, told)
			}
		}
		f.drain(workers)
		if used := f.used("acme"); used != pages || used < quota || used > quota+2*hosts {
			t.Errorf("%d pages used, %d recorded, want %d and at most what two seconds bring", used, pages, quota)
		}
		// The tenant's quota is used up.
		late := f.request("acme", 5)
		workers = []*worker{f.start()}
		j, counts := f.await(late, time.Minute)
		f.drain(workers)
		if told := f.notices(late); j.State != job.Partial || counts.Seen() != 0 || told != "Usage limit: Maximum 0 pages left this month (requested: 5)" {
			t.Errorf("%s (%s) with %+v, notices\n%s", j.State, j.Reason, counts, told)
		}
	})
}

// TestLimitsPagesPerHostTakenOver crashes workers of a job with a limit of pages per host: the
// next owners of their hosts count what was fetched before.
func TestLimitsPagesPerHostTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, most = 4, 9
		f := newLimited(t, farm(hosts, small(60)), limit.Limits{})
		id := f.requestLimited(limit.Limits{PagesPerHost: most})
		workers := []*worker{f.start(), f.start(), f.start()}
		pass(7 * time.Second)
		workers[0].crash()
		workers[1].crash()
		workers = append(workers[2:], f.start())
		j, counts := f.await(id, 5*time.Minute)
		f.drain(workers)
		if j.State != job.Complete || counts.Pages() != hosts*most {
			t.Errorf("%s (%s) with %d pages, want %d of each of %d hosts", j.State, j.Reason, counts.Pages(), most, hosts)
		}
		f.polite(time.Second)
	})
}

// TestLimitsQuotaWarnedOnce runs a job of a tenant that has used half of its quota: 80 and
// 95 % of the quota are told once each, not again as shares of what was left for the job.
func TestLimitsQuotaWarnedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newLimited(t, farm(2, small(60)), limit.Limits{})
		f.plan(store.Plan{Name: "acme", MonthPages: 40})
		first := f.request("acme", 20)
		workers := []*worker{f.start(), f.start()}
		f.await(first, 5*time.Minute)
		second := f.request("acme", 100)
		f.await(second, 5*time.Minute)
		f.drain(workers)
		var told []string
		for line := range strings.Lines(f.notices(second)) {
			mark, _, _ := strings.Cut(line, ",") // how many were stored at that moment varies
			told = append(told, strings.TrimSpace(mark))
		}
		if want := []string{"max_pages: 80 % used", "max_pages: reached", "Usage limit: Maximum 20 pages left this month (requested: 100)"}; !slices.Equal(told, want) && !slices.Equal(told, []string{want[0], "max_pages: 95 % used", want[2]}) {
			t.Errorf("notices:\n%s", f.notices(second))
		}
	})
}

// TestLimitsConcurrentCrawls runs jobs of two tenants whose plans allow one crawl each, in
// a fleet that loses workers: never two of a tenant at once, and every job runs.
func TestLimitsConcurrentCrawls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		f := newLimited(t, farm(2, small(5)), limit.Limits{ConcurrentCrawls: 3})
		owner := map[job.ID]string{}
		for _, tenant := range []string{"acme", "byte"} {
			f.plan(store.Plan{Name: tenant, Limits: limit.Limits{ConcurrentCrawls: 1}})
			for range 3 {
				owner[f.request(tenant, 0)] = tenant
			}
		}
		workers := []*worker{f.start(), f.start()}
		var order []job.ID
		for began := time.Now(); len(order) < len(owner); time.Sleep(200 * time.Millisecond) {
			if time.Since(began) > 10*time.Minute {
				t.Fatalf("%v have ended", order)
			}
			list, err := f.st.(*memory.Store).ActiveJobs(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			busy := map[string]int{}
			for _, j := range list {
				if busy[j.Tenant]++; busy[j.Tenant] > 1 {
					t.Fatalf("two jobs of %s at once", j.Tenant)
				}
			}
			for id := range owner {
				if j, err := f.st.Job(t.Context(), id); err == nil && j.State == job.Complete && !slices.Contains(order, id) {
					order = append(order, id)
				}
			}
			if random.IntN(40) == 0 {
				workers[0].crash()
				workers = append(workers[1:], f.start())
			}
		}
		f.drain(workers)
		for _, tenant := range []string{"acme", "byte"} {
			own := slices.DeleteFunc(slices.Clone(order), func(id job.ID) bool { return owner[id] != tenant })
			if !slices.IsSorted(own) {
				t.Errorf("jobs of %s ended in the order %v", tenant, own)
			}
		}
	})
}

// TestLimitsChanged pauses, resumes and extends a job with a page limit while it runs: no
// page token is lost or spent twice.
func TestLimitsChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newLimited(t, farm(6, small(30)), limit.Limits{Pages: 60})
		id := f.request("", 40)
		workers := []*worker{f.start(), f.start(), f.start()}
		now := func() time.Time { return time.Now().UTC() }
		for range 3 {
			time.Sleep(1700 * time.Millisecond)
			for _, err := range []error{
				f.st.SetState(t.Context(), now(), id, job.Running, job.Paused, ""),
				f.st.SetState(t.Context(), now(), id, job.Paused, job.Running, ""),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := f.st.Extend(t.Context(), now(), id, 100); err != nil {
			t.Fatal(err)
		}
		j, counts := f.await(id, 5*time.Minute)
		f.drain(workers)
		if j.State != job.Partial || counts.Pages() != 60 || counts.Tokens != 0 || j.MaxPages != 60 {
			t.Errorf("%s (%s) with %d pages and %d tokens of %d, want 60", j.State, j.Reason, counts.Pages(), counts.Tokens, j.MaxPages)
		}
		if told := f.notices(id); !strings.HasSuffix(told, "Safety limit: Maximum 60 pages per crawl (requested: 100)") {
			t.Errorf("notices:\n%s", told)
		}
		f.polite(time.Second)
	})
}

// TestSettingsFollowed lowers the safety limits of a fleet below what a running job has used:
// within five seconds no further request is sent, and the job ends with the new limit.
func TestSettingsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newLimited(t, farm(4, small(60)), limit.Limits{Pages: 200})
		id := f.request("", 1000)
		workers := []*worker{f.start(), f.start()}
		pass(20 * time.Second)
		storetest.SetSafety(t, f.st.(store.Queue), limit.Limits{Pages: 10})
		pass(5 * time.Second)
		sent := f.web.Stats().Total.Requests
		j, counts := f.await(id, time.Minute)
		f.drain(workers)
		if now := f.web.Stats().Total.Requests; now != sent {
			t.Errorf("%d requests more than five seconds after the change", now-sent)
		}
		want := "Safety limit: Maximum 10 pages per crawl (requested: 1000)"
		if j.State != job.Partial || j.Reason != "max_pages" || j.MaxPages != 10 || counts.Pages() < 40 || !strings.Contains(f.notices(id), want) {
			t.Errorf("%s (%s) with %d of %d pages\n%s", j.State, j.Reason, counts.Pages(), j.MaxPages, f.notices(id))
		}
		f.polite(time.Second)
	})
}

// TestLeaseFollowed changes the lease of a fleet: its workers leave within five seconds, so
// that they can join again.
func TestLeaseFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newLimited(t, farm(2, small(60)), limit.Limits{})
		v, err := f.st.(store.Queue).FleetSettings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f.joined = v.FleetSettings
		id, w := f.request("", 0), f.start()
		pass(10 * time.Second)
		v.Lease = time.Minute
		if _, err := f.st.(store.Queue).SetFleetSettings(t.Context(), time.Now(), "test", v.Version, v.FleetSettings); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		select {
		case err := <-w.done:
			if !errors.Is(err, store.ErrSettingsChanged) {
				t.Errorf("it left with %v", err)
			}
		default:
			t.Fatal("it has not left")
		}
		f.joined = v.FleetSettings
		again := f.start()
		if j, counts := f.await(id, 10*time.Minute); j.State != job.Complete {
			t.Errorf("%s: %+v", j.State, counts)
		}
		f.drain([]*worker{again})
		f.polite(time.Second)
	})
}

// requestLimited creates a job with limits of its own.
func (f *fleet) requestLimited(asked limit.Limits) job.ID {
	f.Helper()
	id, err := f.st.CreateJob(f.Context(), store.Job{State: job.Queued, CreatedAt: time.Now().UTC(), Layers: []limit.Layer{{Level: limit.Job, Limits: asked}}})
	if err != nil {
		f.Fatal(err)
	}
	return id
}

// TestExtendTime: a job that its time limit stopped continues after an extension, for as
// long as the safety limit allows over its whole life.
func TestExtendTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newLimited(t, farm(2, small(60)), limit.Limits{Time: 15 * time.Second})
		id := f.requestLimited(limit.Limits{Time: 10 * time.Second})
		workers := []*worker{f.start(), f.start()}
		j, before := f.await(id, time.Minute)
		if j.State != job.Partial || j.Reason != "max_time" {
			t.Fatalf("%s (%s)", j.State, j.Reason)
		}
		now := time.Now().UTC()
		for _, err := range []error{
			f.st.(*memory.Store).ExtendLimits(t.Context(), now, id, store.Extension{limit.Time: int64(time.Minute)}),
			f.st.SetState(t.Context(), now, id, job.Partial, job.Queued, "extended"),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		j, after := f.await(id, time.Minute)
		f.drain(workers)
		if j.State != job.Partial || j.Reason != "max_time" || after.Pages() <= before.Pages() || j.EndedAt.Sub(now) > 12*time.Second {
			t.Errorf("%s (%s) with %d pages, %d before, %s after the extension", j.State, j.Reason, after.Pages(), before.Pages(), j.EndedAt.Sub(now))
		}
		if told := f.notices(id); !strings.HasSuffix(told, "Safety limit: Crawl timeout exceeded (15000ms)") {
			t.Errorf("notices:\n%s", told)
		}
	})
}

// TestExtendRunning: a limit that is lifted while the job runs no longer stops it.
func TestExtendRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newLimited(t, farm(2, small(20)), limit.Limits{})
		id := f.requestLimited(limit.Limits{Requests: 30, Time: 20 * time.Second})
		workers := []*worker{f.start(), f.start()}
		pass(5 * time.Second)
		if err := f.st.(*memory.Store).ExtendLimits(t.Context(), time.Now().UTC(), id, store.Extension{limit.Requests: 0, limit.Time: int64(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		j, counts := f.await(id, 5*time.Minute)
		f.drain(workers)
		if j.State != job.Complete || counts.Pages() != 40 {
			t.Errorf("%s (%s) with %d pages, want 40", j.State, j.Reason, counts.Pages())
		}
	})
}

// TestUsageLimits: requests and bytes of a fleet job exceed their limit by no more than what
// is sent in two seconds, one until a worker stores its usage and one until it is checked,
// and what is in flight; a single worker by what is in flight. The warnings come before.
func TestUsageLimits(t *testing.T) {
	const hosts, size = 6, 60
	for _, tc := range []struct {
		name    string
		workers int
		most    int64 // requests
	}{
		{"one worker", 1, size + hosts},
		{"three workers", 3, size + 3*hosts},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newLimited(t, farm(hosts, small(100)), limit.Limits{})
				id := f.requestLimited(limit.Limits{Requests: size})
				var workers []*worker
				for range tc.workers {
					workers = append(workers, f.start())
				}
				j, _ := f.await(id, 5*time.Minute)
				f.drain(workers)
				points, err := f.st.Points(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				var requests int64
				for i := range points {
					requests += points[i].Requests
				}
				if j.State != job.Partial || j.Reason != "max_requests" || requests < size || requests > tc.most {
					t.Errorf("%s (%s) with %d requests, want %d to %d", j.State, j.Reason, requests, size, tc.most)
				}
				if told := strings.Split(f.notices(id), "\n"); len(told) != 3 || !strings.HasPrefix(told[0], "max_requests: 80 % used") || told[2] != "Job limit: Maximum 60 requests per crawl" {
					t.Errorf("notices: %q", told)
				}
			})
		})
	}
}

// TestLimitMarks: 80 and 95 % of each limit and its end are reported once each, while workers
// are killed and started.
func TestLimitMarks(t *testing.T) {
	for _, asked := range []limit.Limits{{Pages: 60}, {Requests: 60}, {Bytes: 150_000}, {Time: 30 * time.Second}} {
		t.Run(asked.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newLimited(t, farm(3, small(100)), limit.Limits{})
				var log logLines
				f.worker = func(c *headway.Worker) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) }
				id := f.requestLimited(asked)
				workers := f.startAll(3)
				for range 6 {
					pass(4 * time.Second)
					workers[0].crash()
					workers = append(workers[1:], f.start())
				}
				j, _ := f.await(id, 5*time.Minute)
				f.drain(workers)
				f.marks(id, j, limit.Name(j.Reason), 80, 95, store.StoppedBy)
				if j.State != job.Partial || *limit.Name(j.Reason).Rule().At(&asked) == 0 {
					t.Errorf("%s (%s)", j.State, j.Reason)
				}
				if n := log.count("limit usage"); n != 2 {
					t.Errorf("%d warnings in the logs of all workers, want 2", n)
				}
			})
		})
	}
}

// TestLimitMarksOfLastPages: the marks that the last pages of a complete job pass are reported.
func TestLimitMarksOfLastPages(t *testing.T) {
	for _, asked := range []limit.Limits{{Pages: 20}, {Requests: 25}, {Time: time.Minute}} {
		t.Run(asked.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newLimited(t, farm(1, small(20)), limit.Limits{})
				id := f.requestLimited(asked)
				workers := f.startAll(1)
				j, counts := f.await(id, 5*time.Minute)
				f.drain(workers)
				if j.State != job.Complete || counts.Pages() != 20 {
					t.Errorf("%s (%s) with %d pages", j.State, j.Reason, counts.Pages())
				}
				switch {
				case asked.Pages > 0:
					f.marks(id, j, limit.Pages, 80, 95)
				case asked.Requests > 0:
					f.marks(id, j, limit.Requests, 80)
				default:
					f.marks(id, j, limit.Time)
				}
			})
		})
	}
}

// marks wants these notices about a limit of a job, in this order, and no others.
func (f *fleet) marks(id job.ID, j store.Job, name limit.Name, want ...int) {
	f.Helper()
	list, err := f.st.(*memory.Store).Notices(f.Context(), id)
	if err != nil {
		f.Fatal(err)
	}
	var got []int
	limits := j.Limits()
	for i := range list {
		n := &list[i]
		got = append(got, n.Percent)
		if most := limits.Max(name); n.Limit != name || n.Max != most || n.Observed < most/100*int64(min(n.Percent, 100)) {
			f.Errorf("notice %+v of the limit %s %d", *n, name, most)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		f.Errorf("%s has the marks %v, want %v", name, got, want)
	}
}

// logLines collects the log of several workers.
type logLines struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements [io.Writer].
func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// count is how many lines have a message.
func (l *logLines) count(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), `msg="`+message+`"`)
}
