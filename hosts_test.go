package headway_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/job"
	"headway/lab"
	"headway/limit"
	"headway/scope"
	"headway/store"
	"headway/visit"
)

// touched are the hosts that received any request.
func (s *simulated) touched() map[string]bool {
	asked := map[string]bool{}
	for _, r := range s.web.Log() {
		asked["http://"+r.Host] = true
	}
	return asked
}

// roam returns a fleet whose job may follow all links, from some of the hosts: all are
// linked.
func roam(t *testing.T, hosts, seeds int, temper lab.Temper, safety limit.Limits) *fleet {
	f := newLimited(t, farm(hosts, temper), safety)
	f.cfg.Seeds = f.cfg.Seeds[:seeds]
	f.cfg.Scope.Mode = scope.Any
	return f
}

// TestHosts limits the hosts of a job by its plan, on several workers of which some crash:
// exactly that many hosts get requests, those of the seeds among them, and the others are
// accounted for.
func TestHosts(t *testing.T) {
	const hosts, most, pages = 12, 5, 6
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 3))
				distance := func(l *line) {
					if seed >= 6 {
						l.far = 300 * time.Millisecond
					}
				}
				f := roam(t, hosts, 2, small(pages), limit.Limits{Pages: 1000})
				if seed%2 == 1 {
					f.cfg.Sitemaps = headway.SitemapsAuto
				}
				f.plan(store.Plan{Name: "acme", Limits: limit.Limits{Hosts: most}})
				id := f.request("acme", 0)
				workers := f.startAllWith(3, distance)
				for range 3 {
					time.Sleep(time.Duration(random.IntN(4000)) * time.Millisecond)
					workers[0].crash()
					workers = append(workers[1:], f.startWith(distance))
				}
				j, _ := f.await(id, 10*time.Minute)
				f.drain(workers)
				_, counts := f.await(id, 0)
				asked := f.touched()
				if len(asked) != most || !asked[f.cfg.Seeds[0].Host()] || !asked[f.cfg.Seeds[1].Host()] {
					t.Errorf("%d hosts got requests: %v", len(asked), asked)
				}
				if j.State != job.Partial || j.Reason != "max_hosts" || counts.Waiting != 0 || counts.Pages() < most*pages || counts.Ended[store.Ending{Outcome: visit.Deferred}] == 0 {
					t.Errorf("%s (%s): %v", j.State, j.Reason, counts.Ended)
				}
				const want = "max_hosts: 80 % used, 4 of 5 (plan)\nmax_hosts: reached, 5 of 5 (plan)\nPlan limit: Maximum 5 hosts per crawl"
				if got := f.notices(id); strings.ReplaceAll(got, "80 % used, 5", "80 % used, 4") != want {
					t.Errorf("notices:\n%s", got)
				}
				if audit, err := f.st.Audit(t.Context(), id); err != nil || !audit.Equal(counts) {
					t.Errorf("the rows say %+v, the counts %+v (%v)", audit, counts, err)
				}
				f.polite(time.Second)
			})
		})
	}
}

// TestHostsExtended resumes a job that was stopped by its host limit with a larger plan:
// deferred URLs are fetched. A further extension under the same plan contacts no other
// host.
func TestHostsExtended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, pages = 6, 4
		f := roam(t, hosts, 1, small(pages), limit.Limits{})
		f.plan(store.Plan{Name: "acme", Limits: limit.Limits{Hosts: 2}})
		id := f.request("acme", 0)
		workers := f.startAll(2)
		again := func(most int64) (store.Job, store.Counts) {
			t.Helper()
			f.plan(store.Plan{Name: "acme", Limits: limit.Limits{Hosts: most}})
			now := time.Now().UTC()
			for _, err := range []error{f.st.Extend(t.Context(), now, id, 0), f.st.SetState(t.Context(), now, id, job.Partial, job.Queued, "")} {
				if err != nil {
					t.Fatal(err)
				}
			}
			return f.await(id, 10*time.Minute)
		}
		f.await(id, 10*time.Minute)
		for _, step := range []struct{ most, asked int }{{2, 2}, {4, 4}, {4, 4}, {1, 4}} {
			j, _ := again(int64(step.most))
			if n := len(f.touched()); j.State != job.Partial || j.Reason != "max_hosts" || n != step.asked {
				t.Errorf("%s (%s) with %d hosts, want %d", j.State, j.Reason, n, step.asked)
			}
		}
		// Exactly as many as there are: no host is excluded.
		j, counts := again(hosts)
		f.drain(workers)
		if n := len(f.touched()); j.State != job.Complete || n != hosts || counts.Ended[store.Ending{Outcome: visit.Deferred}] != 0 {
			t.Errorf("%s (%s) with %d hosts: %v", j.State, j.Reason, n, counts.Ended)
		}
	})
}

// TestHostsOfSeeds reserves the hosts of seeds in order; a limit of just those completes
// the job.
func TestHostsOfSeeds(t *testing.T) {
	for _, most := range []int64{3, 5} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newLimited(t, farm(5, small(3)), limit.Limits{Hosts: most})
				id := f.request("", 0)
				workers := f.startAll(3)
				j, _ := f.await(id, 10*time.Minute)
				f.drain(workers)
				want := job.Partial
				if most == 5 {
					want = job.Complete
				}
				asked := f.touched()
				for i, u := range f.cfg.Seeds {
					if asked[u.Host()] != (int64(i) < most) {
						t.Errorf("seed %d: requests %v", i, asked[u.Host()])
					}
				}
				if j.State != want {
					t.Errorf("%s (%s)", j.State, j.Reason)
				}
			})
		})
	}
}

// TestHostsOneMachine applies the host limit of the safety layer to a crawl on one machine,
// over several interrupted runs.
func TestHostsOneMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 3
		f := roam(t, 8, 1, small(8), limit.Limits{})
		f.cfg.Limits = limit.Resolve(limit.Layer{Level: limit.Safety, Limits: limit.Limits{Hosts: most}})
		for range 3 {
			ctx, stop := context.WithTimeout(t.Context(), 1700*time.Millisecond)
			if r, err := f.cfg.run(ctx); err != nil || r.State != job.Running {
				t.Fatalf("%s (%s): %v", r.State, r.Reason, err)
			}
			stop()
		}
		for range 2 { // to its end, and once more
			r := f.run()
			if len(f.touched()) != most || r.State != job.Partial || r.Reason != "max_hosts" || !r.Success || r.Spent.Hosts != most || fmt.Sprint(r.Errors) != "[Safety limit: Maximum 3 hosts per crawl]" {
				t.Errorf("%s (%s), %v with %d hosts: %v, %v", r.State, r.Reason, r.Errors, len(f.touched()), r.Spent, r.Counts.Ended)
			}
			f.cfg.Continue = true
		}
	})
}
