package fleettest

import (
	"strconv"
	"testing"
	"time"
)

// TestRate checks the rate limit of a plan on two workers, one of which is killed and
// replaced: by the kernel's timestamps no second has more requests than the rate, plus
// one, plus one for each worker, which may have kept a turn of hosts that changed
// owners. The pace of the hosts would allow six times as many.
func TestRate(t *testing.T) {
	t.Parallel()
	const rate, pages, workers = 5, 24, 2
	f := newFleet(t, setup{hosts: 30, pages: 20})
	f.run("admin", "plan", "set", "small", "--max-requests-per-second", strconv.Itoa(rate))
	f.run("admin", "tenant", "set", "acme", "--plan", "small")
	f.start()
	f.start()
	f.awaitWorkers(workers)
	id := f.submit("--tenant", "acme", "--sitemaps", "off", "--max-pages", strconv.Itoa(pages))
	killed := false
	j := f.await(id, f.long(), func() {
		if n := len(f.arrivals()); n >= 3*rate && !killed {
			killed = true
			victim, _ := f.victim()
			f.kill(victim)
			f.start()
		}
	})
	if !killed || j.State != "partial" || j.Pages != pages {
		t.Errorf("killed %v: %s (%s) with %d pages, want partial with %d", killed, j.State, j.Reason, j.Pages, pages)
	}
	list := f.arrivals()
	most := 0
	for from, to := 0, 0; to < len(list); to++ {
		for list[to].at.Sub(list[from].at) >= time.Second {
			from++
		}
		most = max(most, to-from+1)
	}
	t.Logf("%d requests in %v, at most %d within a second", len(list), list[len(list)-1].at.Sub(list[0].at), most)
	if bound := rate + 1 + workers; most > bound {
		t.Errorf("%d requests within a second, want at most %d", most, bound)
	}
	told := false
	for _, l := range f.limits(id).Limits {
		told = told || l.Name == "max_requests_per_second" && l.Layer == "plan" && l.Max == rate
	}
	if !told {
		t.Errorf("the rate is not reported: %+v", f.limits(id))
	}
	f.stamped()
	f.leaveAll()
}
