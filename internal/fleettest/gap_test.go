package fleettest

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"headway/lab"
)

// Times by which the lab's clock is judged.
const (
	// tick is how often the process of the lab looks whether it runs.
	tick = 10 * time.Millisecond
	// slack is by how much the lab may see a gap shorter than it was without a
	// reason.
	slack = 50 * time.Millisecond
	// recent is how long before a request a stall may be that made it late.
	recent = time.Second
)

// stall is a time in which the process of the lab, which is that of the test, did
// not run: what arrived in it is stamped late.
type stall struct {
	end  time.Time
	time time.Duration
}

// stalls looks for stalls until the test ends.
type stalls struct {
	mu   sync.Mutex
	list []stall
}

func watchStalls(t *testing.T) *stalls {
	s := &stalls{}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for last := time.Now(); ; {
			select {
			case <-stop:
				return
			case <-time.After(tick):
			}
			now := time.Now()
			if late := now.Sub(last) - tick; late > tick {
				s.mu.Lock()
				s.list = append(s.list, stall{now, late})
				s.mu.Unlock()
			}
			last = now
		}
	}()
	t.Cleanup(func() {
		close(stop)
		<-done
	})
	return s
}

// before is for how long the lab stalled shortly before a request.
func (s *stalls) before(at time.Time) (sum time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.list {
		if x.end.After(at.Add(-recent)) && x.end.Add(-x.time).Before(at) {
			sum += x.time
		}
	}
	return sum
}

func (s *stalls) longest() (longest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.list {
		longest = max(longest, x.time)
	}
	return longest
}

// gap is the time between two requests that followed each other on a host, as the
// lab saw them.
type gap struct {
	host  string
	after time.Time // the first of them
	time  time.Duration
}

// gaps are those between all requests but for robots.txt, the smallest first.
func (f *fleet) gaps() (list []gap) {
	byHost := map[string][]lab.Request{}
	for _, r := range f.lab.Log() {
		if !strings.HasPrefix(r.Target, "/robots.txt") {
			byHost[r.Host] = append(byHost[r.Host], r)
		}
	}
	for host, rs := range byHost {
		slices.SortFunc(rs, func(a, b lab.Request) int { return a.Start.Compare(b.Start) })
		for i := 1; i < len(rs); i++ {
			list = append(list, gap{host, rs[i-1].Start, rs[i].Start.Sub(rs[i-1].Start)})
		}
	}
	slices.SortFunc(list, func(a, b gap) int { return int(a.time - b.time) })
	return list
}

// paced holds the gaps that the lab saw against the pace. In CI, where the lab
// shares two cores with all other tests, those that a measured stall explains are
// put aside; at the real size none is.
func (f *fleet) paced() {
	f.Helper()
	all := f.gaps()
	if len(all) == 0 {
		f.Fatal("the lab saw no two requests on a host")
	}
	judged := all[:0:0]
	for _, g := range all {
		excused := f.stalls.before(g.after)
		if g.time < f.pace-slack-excused {
			f.Errorf("%s: a gap of %v after %s, and the lab stalled for %v at most", g.host, g.time, g.after.Format(time.StampMilli), excused)
		}
		if full || g.time >= f.pace || excused < f.pace-g.time {
			judged = append(judged, g)
		}
	}
	p01 := judged[len(judged)/100].time
	f.Logf("%d gaps: smallest %v, one in a hundred %v; %d put aside for stalls of the lab, the longest %v", len(all), all[0].time, p01, len(all)-len(judged), f.stalls.longest())
	// One in a hundred of a few hundred gaps is one or two requests, which are held
	// against slack above.
	if least := f.pace * 98 / 100; len(judged) >= 1000 && p01 < least {
		f.Errorf("one gap in a hundred is below %v, want %v", p01, least)
	}
}

// stamped holds the times at which workers sent requests against the pace, over
// all hand-overs from one to another.
func (f *fleet) stamped() {
	f.Helper()
	smallest := time.Duration(1 << 62)
	for host, list := range f.stamps() {
		for i := 1; i < len(list); i++ {
			d := list[i].sent.Sub(list[i-1].sent)
			smallest = min(smallest, d)
			if d < f.pace {
				f.Errorf("%s was asked %v after it was asked at %s", host, d, list[i-1].sent.Format(time.StampMilli))
			}
		}
	}
	f.Logf("smallest gap between the stamps of the workers: %v", smallest)
}
