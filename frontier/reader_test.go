package frontier

import (
	"fmt"
	"testing"
	"time"

	"headway/politeness"
	"headway/visit"
	"headway/weburl"
)

// TestConcurrentRobots limits the robots.txt requests in flight, and no host waits forever.
func TestConcurrentRobots(t *testing.T) {
	const hosts, most = 9, 2
	now := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	policy, _ := politeness.Preset("polite")
	f := New(Config{Robots: most}, now)
	f.AddJob(Job{ID: 1, Policy: func(string) *politeness.Policy { return &policy }, Patience: time.Hour})
	for i := range hosts {
		u, err := weburl.Parse(fmt.Sprintf("http://h%d.example%d.com/", i, i))
		if err != nil {
			t.Fatal(err)
		}
		f.Added(now, []visit.Item{{Job: 1, URL: u, Found: visit.FoundSeed}})
	}
	for _, name := range append([]string(nil), f.Next(now, 0, visit.WaitWorkers).Load...) {
		f.Loaded(now, HostState{Host: name, State: politeness.New(name)})
	}
	var flying []Request
	asked := 0
	for step := 0; asked < hosts && step < 100; step++ {
		for _, r := range f.Next(now, 100, visit.WaitWorkers).Requests {
			if r.Kind == Robots {
				asked++
			}
			flying = append(flying, r)
		}
		if got := f.Stats().Robots; got > most {
			t.Fatalf("%d robots.txt at once, want at most %d", got, most)
		}
		waiting := 0
		for _, s := range f.Account().Shares(now) {
			if s.State == Waiting(visit.WaitRobots) {
				waiting = s.Hosts
			}
		}
		if want := hosts - asked + f.Stats().Robots; waiting != want {
			t.Errorf("%d hosts wait for robots.txt, want %d", waiting, want)
		}
		r := flying[0]
		flying = flying[1:]
		f.Settle(now, r, Answer{Answer: politeness.Answer{Status: 200}}, nil)
		f.SetRobots(now, r.Host, RobotsState{Known: true, Ever: true})
	}
	if asked != hosts {
		t.Errorf("%d of %d hosts were asked for robots.txt", asked, hosts)
	}
}
