package fleettest

import (
	"time"
)

// slack is by how much the kernel may see a gap shorter than the pace: a request is
// sent a moment before it is recorded, never after, and times are stored in
// milliseconds.
const slack = 5 * time.Millisecond

// gap is the time between two consecutive requests to a host.
type gap struct {
	host  string
	after time.Time // the first of them
	time  time.Duration
}

// gaps are those between all requests except robots.txt.
func (f *fleet) gaps() (list []gap) {
	f.Helper()
	last := map[string]time.Time{}
	for _, r := range f.arrivals() {
		if r.forRobots() {
			continue
		}
		if before, ok := last[r.host]; ok {
			list = append(list, gap{r.host, before, r.at.Sub(before)})
		}
		last[r.host] = r.at
	}
	return list
}

// paced checks every gap between requests.
func (f *fleet) paced() {
	f.Helper()
	all := f.gaps()
	if len(all) == 0 {
		f.Fatal("no two requests arrived on a host")
	}
	smallest := all[0].time
	for _, g := range all {
		smallest = min(smallest, g.time)
		if g.time < f.pace-slack {
			f.Errorf("%s: a gap of %v after %s", g.host, g.time, g.after.Format(time.StampMilli))
		}
	}
	f.Logf("%d gaps, the smallest %v", len(all), smallest)
}

// stamped checks the times at which workers sent requests, across changes of owners.
func (f *fleet) stamped() {
	f.Helper()
	smallest := time.Duration(1 << 62)
	for host, list := range f.stamps() {
		for i := 1; i < len(list); i++ {
			d := list[i].sent.Sub(list[i-1].sent)
			smallest = min(smallest, d)
			if d < f.pace {
				f.Errorf("%s got a request %v after the one at %s", host, d, list[i-1].sent.Format(time.StampMilli))
			}
		}
	}
	f.Logf("smallest gap between the stamps of the workers: %v", smallest)
}
