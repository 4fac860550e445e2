package frontier

import (
	"fmt"
	"math"
	"testing"
	"time"

	"headway/job"
	"headway/visit"
)

// atRate is a job of a tenant with a limit of requests per second.
func atRate(tenant string, id job.ID, rate int64) Job {
	j := of(tenant, id)
	j.Rate = rate
	return j
}

// serve answers every request after a moment, until a time, and returns when the
// requests of each job were handed out.
func (r *rig) serve(until time.Duration) map[job.ID][]time.Time {
	r.t.Helper()
	taken := map[job.ID][]time.Time{}
	last := map[string]time.Time{}
	for r.now.Before(start.Add(until)) {
		list := r.next()
		for _, req := range list {
			if gap := r.now.Sub(last[req.Host]); gap < time.Second {
				r.t.Fatalf("%s was asked %v after the last time", req.Host, gap)
			}
			last[req.Host] = r.now
			taken[req.Job] = append(taken[req.Job], r.now)
			r.ok(req)
		}
		if next := r.batch.Wake; len(list) == 0 && next.After(r.now) {
			r.now = next
		} else {
			r.pass(time.Millisecond)
		}
	}
	return taken
}

// most is the largest number of times within one second.
func most(lists ...[]time.Time) (n int) {
	var all []time.Time
	for _, list := range lists {
		all = append(all, list...)
	}
	for _, from := range all {
		within := 0
		for _, at := range all {
			if d := at.Sub(from); d >= 0 && d < time.Second {
				within++
			}
		}
		n = max(n, within)
	}
	return n
}

// farms gives each job its own hosts.
func (r *rig) farms(hosts int, jobs ...job.ID) {
	for _, id := range jobs {
		for i := range hosts {
			r.add(id, pages(fmt.Sprintf("h%d-of%d.example", i, id), 100)...)
		}
	}
}

// TestRate: all jobs of a tenant together keep its rate, though their hosts would allow
// more, use all of it, and share it evenly. Another tenant is not slowed down.
func TestRate(t *testing.T) {
	const lasts, rate = 20 * time.Second, 5
	r := newRig(t, Config{}, atRate("a", 1, rate), atRate("a", 2, 50), of("b", 3))
	r.farms(20, 1, 2, 3)
	r.farms(1, 2)
	taken := r.serve(lasts)
	if n := most(taken[1], taken[2]); n > rate {
		t.Errorf("%d requests within a second, want at most %d", n, rate)
	}
	whole := float64(rate * lasts / time.Second)
	if n := len(taken[1]) + len(taken[2]); float64(n) < 0.98*whole {
		t.Errorf("%d requests in %v, want nearly %.0f", n, lasts, whole)
	}
	if a, b := len(taken[1]), len(taken[2]); math.Abs(float64(a-b)) > 2 {
		t.Errorf("%d requests of one job, %d of the other", a, b)
	}
	if n := len(taken[3]); n != 20*int(lasts/time.Second) {
		t.Errorf("%d requests of the tenant without a rate, want %d", n, 20*int(lasts/time.Second))
	}
}

// TestRateWaitIsChargedAsBudget charges the time hosts wait for the rate to budget; all
// shares add up.
func TestRateWaitIsChargedAsBudget(t *testing.T) {
	r := newRig(t, Config{}, atRate("a", 1, 2))
	r.farms(10, 1)
	r.serve(10 * time.Second)
	sum, parts := 0.0, map[State]float64{}
	for _, s := range r.f.Account().Shares(r.now) {
		sum += s.Part
		parts[s.State] = s.Part
	}
	// Each second two of ten hosts are contacted, and then wait one second for their pace.
	if math.Abs(sum-1) > 1e-9 || math.Abs(parts[Waiting(visit.WaitBudget)]-0.8) > 0.02 {
		t.Errorf("shares %v, in all %v", parts, sum)
	}
	v, ok := r.f.View("https://h9-of1.example")
	if !ok || v.Reason != visit.WaitBudget && v.Reason != visit.WaitPace {
		t.Errorf("the host waits for %v", v.Reason)
	}
}

// TestRateWithoutPlaces: if turns come faster than places in the worker pool, hosts are
// charged with waiting for places.
func TestRateWithoutPlaces(t *testing.T) {
	r := newRig(t, Config{}, atRate("a", 1, 1000))
	r.farms(4, 1)
	r.limit = 0
	r.next()
	r.pass(50 * time.Millisecond)
	r.next()
	r.waits("h3-of1.example", visit.WaitWorkers)
	// Unused turns are lost, except one.
	r.pass(time.Second)
	r.limit, r.manual = 4, true
	if n := len(r.next()); n != 1 {
		t.Errorf("%d requests with turns of long ago, want 1", n)
	}
	if len(r.batch.Turns) != 1 || r.batch.Turns[0].N != 3 {
		t.Errorf("asked for %v", r.batch.Turns)
	}
	r.waits("h3-of1.example", visit.WaitBudget)
}

// TestRateOnSharedHosts lets a tenant with a rate and one without crawl the same hosts.
// The second does not wait for the first, and the first gets its turns.
func TestRateOnSharedHosts(t *testing.T) {
	const lasts = 60 * time.Second
	for _, rate := range []int64{1, 3} {
		r := newRig(t, Config{}, atRate("a", 1, rate), of("b", 2), atRate("c", 3, rate))
		for i := range 4 {
			for id := range job.ID(3) {
				r.add(id+1, pages(fmt.Sprintf("h%d.example", i), 300)...)
			}
		}
		taken := r.serve(lasts)
		seconds := int(lasts / time.Second)
		if n := len(taken[1]) + len(taken[2]) + len(taken[3]); n < 4*seconds-8 {
			t.Errorf("rate %d: %d requests, want the %d that the hosts bear", rate, n, 4*seconds)
		}
		for _, id := range []job.ID{1, 3} {
			if n := len(taken[id]); n < seconds/2 || most(taken[id]) > int(rate)+1 {
				t.Errorf("rate %d: %d requests of job %d in %v, %d of them within a second", rate, n, id, lasts, most(taken[id]))
			}
		}
	}
}

// TestRateOfRobotsAndSitemaps counts every kind of request.
func TestRateOfRobotsAndSitemaps(t *testing.T) {
	r := newRig(t, Config{}, atRate("a", 1, 2))
	r.robots = RobotsState{}
	r.farms(6, 1)
	for i := range 6 {
		r.f.Run(r.now, Errand{URL: mustURL(fmt.Sprintf("https://h%d-of1.example/sitemap.xml", i)), Job: 1})
	}
	kinds := map[Kind]int{}
	var taken []time.Time
	for r.now.Before(start.Add(15 * time.Second)) {
		for _, req := range r.next() {
			taken = append(taken, r.now)
			kinds[req.Kind]++
			r.ok(req)
			if req.Kind == Robots {
				r.f.SetRobots(r.now, req.Host, RobotsState{Known: true, Ever: true})
			}
		}
		r.pass(10 * time.Millisecond)
	}
	if n := most(taken); n > 3 || len(taken) < 28 || kinds[Robots] != 6 || kinds[Sitemap] != 6 {
		t.Errorf("%d requests, %d within a second: %v", len(taken), n, kinds)
	}
}

// TestForbiddenPagesUseNoTurn: pages that robots.txt forbids end at once and use no turn.
func TestForbiddenPagesUseNoTurn(t *testing.T) {
	r := newRig(t, Config{}, atRate("a", 1, 1))
	r.farms(1, 1)
	for range 50 {
		req := r.one()
		r.f.Skip(r.now, req)
		r.end(req, visit.Skipped)
		r.commit(req)
	}
	r.ok(r.one())
	r.pass(time.Second)
	r.one()
}

// TestRateIsLowestOfJobs: a tenant has the lowest rate of its jobs, and none when these
// are gone. Hosts that waited for turns continue.
func TestRateIsLowestOfJobs(t *testing.T) {
	r := newRig(t, Config{}, atRate("a", 1, 1), of("a", 2))
	r.farms(5, 1, 2)
	r.ok(r.one())
	r.pass(10 * time.Millisecond)
	r.none()
	r.waits("h4-of2.example", visit.WaitBudget)
	r.f.StopJob(r.now, 1)
	list := r.next()
	for _, req := range list {
		r.ok(req)
	}
	if len(list) < 4 {
		t.Errorf("%d requests without a rate", len(list))
	}
	r.f.AddJob(atRate("a", 2, 1))
	r.pass(time.Second)
	r.ok(r.one())
	r.none()
	r.f.AddJob(of("a", 2))
	if !r.f.DropJob(r.now, 1) {
		t.Fatal("the job was not dropped")
	}
	if n := len(r.drain(5000)); n < 480 {
		t.Errorf("%d pages, want nearly all 500 of job 2", n)
	}
}

// TestLength: lengths are rounded up, so that no rate is exceeded.
func TestLength(t *testing.T) {
	for want, turns := range map[time.Duration]Turns{
		time.Second: {Rate: 5, N: 5}, 333_333_334: {Rate: 3, N: 1}, 1000: {Rate: maxRate, N: 1},
	} {
		if got := turns.Length(); got != want {
			t.Errorf("%+v: %v, want %v", turns, got, want)
		}
	}
}
