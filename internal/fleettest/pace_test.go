package fleettest

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestSlowedJob slows one of two jobs that crawl different hosts: from the next
// request on the lab sees the new pace, also from later workers, and the old one when
// the order is lifted. The other job keeps its pace.
func TestSlowedJob(t *testing.T) {
	t.Parallel()
	const slowed = 2 * time.Second
	f := newFleet(t, setup{hosts: 4, pages: 200, pace: pace / 2})
	seeds := f.lab.Seeds()
	one, other := f.submitFor(seeds[:2]), f.submitFor(seeds[2:])
	first := f.start()

	// paces are the paces of a job's hosts as their owners report them.
	type pacing struct {
		Host   string  `json:"host"`
		State  string  `json:"state"`
		Pace   float64 `json:"pace_seconds"`
		Source string  `json:"source"`
	}
	paces := func(id int64) []pacing {
		t.Helper()
		var a struct {
			Hosts []pacing `json:"hosts"`
		}
		f.question(&a, "job", "hosts", strconv.FormatInt(id, 10))
		return a.Hosts
	}
	// at reports whether all of them wait for a pace at the same time: then no request
	// is in flight.
	at := func(id int64, want time.Duration) func() bool {
		return func() bool {
			list := paces(id)
			return len(list) == 2 && !slices.ContainsFunc(list, func(p pacing) bool { return p.State != "pace" || p.Pace != want.Seconds() || p.Source != "base" })
		}
	}
	f.until("both jobs at their pace", func() bool { return at(one, f.pace)() && at(other, f.pace)() })

	order := func(d time.Duration, holds time.Duration) (from time.Time) {
		t.Helper()
		f.run("job", "set-pace", strconv.FormatInt(one, 10), d.String())
		f.until("the owners know", at(one, holds))
		return time.Now()
	}
	// since counts the requests to hosts of a job after a time, and checks the gap
	// before each of them.
	since := func(id int64, from time.Time, least time.Duration) (n int) {
		t.Helper()
		hosts := map[string]bool{}
		for _, h := range paces(id) {
			hosts[h.Host] = true
		}
		for _, g := range f.gaps() {
			if !hosts[g.host] || !g.after.Add(g.time).After(from) {
				continue
			}
			if n++; g.time < least-slack {
				t.Errorf("%s: a gap of %v after %s, want %v", g.host, g.time, g.after.Format(time.StampMilli), least)
			}
		}
		return n
	}

	from := order(slowed, slowed)
	f.until("two slow requests to each host", func() bool { return since(one, from, slowed) >= 4 })
	if n, of := since(one, from, slowed), since(other, from, f.pace); of <= n {
		t.Errorf("%d requests of the slowed job, %d of the other", n, of)
	}
	for _, p := range paces(other) {
		if p.Pace != f.pace.Seconds() || p.Source != "base" {
			t.Errorf("a host of the other job: %+v", p)
		}
	}

	f.leave(first)
	f.start()
	f.until("the next owner knows", at(one, slowed))
	f.until("slow requests of the next owner", func() bool { return since(one, from, slowed) >= 6 })

	// A pace below its own has no effect.
	from = order(f.pace/2, f.pace)
	f.until("requests at the old pace", func() bool { return since(one, from, f.pace) >= 8 })
	f.paced()
}
