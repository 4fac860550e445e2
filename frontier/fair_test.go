package frontier

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"headway/job"
	"headway/politeness"
)

// contestOf lets jobs with many hosts contend for a few places, and returns for how
// long each held them. Responses of a job take takes steps.
func contestOf(t *testing.T, places int, jobs []Job, hosts, takes map[job.ID]int) map[job.ID]time.Duration {
	t.Helper()
	const step = 100 * time.Millisecond
	r := newRig(t, Config{}, jobs...)
	for _, j := range jobs {
		for i := range hosts[j.ID] {
			r.add(j.ID, pages(fmt.Sprintf("h%d-of%d.example", i, j.ID), 200)...)
		}
	}
	type running struct {
		Request
		until time.Time
	}
	var under []running
	held := map[job.ID]time.Duration{}
	for r.now.Before(start.Add(3 * time.Minute)) {
		var still []running
		for _, u := range under {
			if u.until.After(r.now) {
				still = append(still, u)
				continue
			}
			r.settle(u.Request, status(200))
			r.commit(u.Request)
		}
		under = still
		r.limit = places - len(under)
		for _, req := range r.next() {
			r.sent(req)
			under = append(under, running{req, r.now.Add(time.Duration(takes[req.Job]) * time.Second)})
		}
		if len(under) > places {
			t.Fatalf("%d under way, %d places", len(under), places)
		}
		for _, u := range under {
			held[u.Job] += step
		}
		r.pass(step)
	}
	return held
}

// of is a job of a tenant that sends one request at a time to each host.
func of(tenant string, id job.ID) Job {
	j := plainJob(id)
	j.Tenant = tenant
	j.Policy = policyWith(func(p *politeness.Policy) { p.InFlight = 1 })
	return j
}

// TestPlacesAreShared lets a tenant with four jobs, one of them on slow hosts, contend
// with a tenant with a single job: each tenant has half of the places, and the four jobs
// have an eighth each, however long responses take and however many hosts there are.
func TestPlacesAreShared(t *testing.T) {
	jobs := []Job{of("a", 1), of("a", 2), of("a", 3), of("a", 4), of("b", 5)}
	held := contestOf(t, 16, jobs, map[job.ID]int{1: 60, 2: 20, 3: 20, 4: 20, 5: 20}, map[job.ID]int{1: 10, 2: 1, 3: 1, 4: 2, 5: 1})
	sum := time.Duration(0)
	for _, d := range held {
		sum += d
	}
	for id, want := range map[job.ID]float64{1: 0.125, 2: 0.125, 3: 0.125, 4: 0.125, 5: 0.5} {
		if got := held[id].Seconds() / sum.Seconds(); math.Abs(got-want) > 0.05*want {
			t.Errorf("job %d held %.3f of the places, want %.3f", id, got, want)
		}
	}
	if least := 0.98 * 16 * (3 * time.Minute).Seconds(); sum.Seconds() < least {
		t.Errorf("places were held for %v, want at least %.0f s", sum, least)
	}
}

// TestPlacesAreNotKeptFree: places that one job does not need go to others.
func TestPlacesAreNotKeptFree(t *testing.T) {
	held := contestOf(t, 10, []Job{of("a", 1), of("b", 2)}, map[job.ID]int{1: 40, 2: 2}, map[job.ID]int{1: 1, 2: 1})
	if got := held[1].Seconds() / (3 * time.Minute).Seconds(); got < 7.9 {
		t.Errorf("job 1 held %.1f places, want 8", got)
	}
	if got := held[2].Seconds() / (3 * time.Minute).Seconds(); got < 1.8 {
		t.Errorf("job 2 held %.1f places, want 2", got)
	}
}

// TestTurnsAmongEqual serves tenants in turn if none holds a place for long.
func TestTurnsAmongEqual(t *testing.T) {
	r := newRig(t, Config{}, of("a", 1), of("a", 2), of("b", 3))
	for i := range 20 {
		for id := job.ID(1); id <= 3; id++ {
			r.add(id, pages(fmt.Sprintf("h%d-of%d.example", i, id), 3)...)
		}
	}
	r.limit = 1
	got := ""
	for range 12 {
		req := r.one()
		got += fmt.Sprint(req.Job)
		r.ok(req)
	}
	if want := "132313231323"; got != want && got != "313231323132" && got != "231323132313" {
		t.Errorf("turns %s, want %s or the same begun elsewhere", got, want)
	}
}

// TestDroppedJobLeavesItsHosts drops a job that is next on a host: the host continues
// with the other jobs.
func TestDroppedJobLeavesItsHosts(t *testing.T) {
	r := newRig(t, Config{}, of("a", 1), of("b", 2))
	r.add(1, pages("a.example", 3)...)
	r.add(2, pages("a.example", 3)...)
	r.limit = 0
	r.next() // it is queued for job 1
	r.f.StopJob(r.now, 1)
	if !r.f.DropJob(r.now, 1) {
		t.Fatal("the job was not dropped")
	}
	r.limit = 10
	if n := len(r.drain(100)); n != 3 {
		t.Errorf("%d pages, want the 3 of job 2", n)
	}
}

// TestTurnWaitsForItsToken lets a job with a page limit share hosts with one without.
// Tokens come late and one at a time: still, each job has every other turn of each host.
func TestTurnWaitsForItsToken(t *testing.T) {
	for name, store := range map[string]struct{ late, hosts, head int }{
		"at once":           {0, 1, 0},
		"a moment later":    {1, 1, 0},
		"for many hosts":    {1, 6, 0},
		"and for few pages": {2, 6, 1},
	} {
		t.Run(name, func(t *testing.T) {
			const step, each = 50 * time.Millisecond, 12
			limited := of("b", 2)
			limited.Limited = true
			r := newRig(t, Config{Head: store.head}, of("a", 1), limited)
			r.manual = true
			for i := range store.hosts {
				for id := job.ID(1); id <= 2; id++ {
					r.add(id, pages(fmt.Sprintf("h%d.example", i), each)...)
				}
			}
			turns := map[string]string{}
			asked := -1 // steps since the request, or -1
			for r.now.Before(start.Add(2 * each * 2 * time.Second)) {
				for _, req := range r.next() {
					turns[req.Host] += fmt.Sprint(req.Job)
					r.ok(req)
				}
				b := r.batch
				if len(b.Tokens) > 0 {
					asked = 0
				}
				b.Tokens = nil
				r.answer(&b)
				if asked >= store.late {
					r.f.Grant(r.now, 2, PageToken, 1)
					asked = -1
				} else if asked >= 0 {
					asked++
				}
				r.pass(step)
			}
			if len(turns) != store.hosts {
				t.Fatalf("%d hosts were asked, want %d", len(turns), store.hosts)
			}
			for host, got := range turns {
				if len(got) != 2*each || strings.Contains(got[2:], "111") || strings.Contains(got, "222") || strings.Count(got[:each], "2") < each/2-2 {
					t.Errorf("%s: turns %s, want each other's", host, got)
				}
			}
		})
	}
}

// TestTurnIsNotKeptForExhaustedJob: a job continues on a host that it shares with one that
// has used up its pages.
func TestTurnIsNotKeptForExhaustedJob(t *testing.T) {
	limited := of("b", 2)
	limited.Limited = true
	r := newRig(t, Config{}, of("a", 1), limited)
	r.tokens[2] = 2
	r.add(1, pages("a.example", 6)...)
	r.add(2, pages("a.example", 6)...)
	got := ""
	for range 100 {
		for _, req := range r.next() {
			got += fmt.Sprint(req.Job)
			r.ok(req)
		}
		if r.f.Exhausted(2) {
			r.f.Again(2)
		}
		r.pass(200 * time.Millisecond)
	}
	if got != "12121111" {
		t.Errorf("turns %s, want 12121111", got)
	}
}
