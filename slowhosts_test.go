package headway_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"headway/gauge"
	"headway/internal/race"
	"headway/job"
	"headway/lab"
	"headway/store"
	"headway/visit"
)

// goodAndSlow returns good hosts and slow ones; the slow ones come first.
func goodAndSlow(good, pages, slow int, temper lab.Temper) []lab.HostSpec {
	var specs []lab.HostSpec
	for i := range slow {
		specs = append(specs, lab.HostSpec{Name: fmt.Sprintf("slow%d.example", i), Temper: temper})
	}
	for i := range good {
		specs = append(specs, lab.HostSpec{Name: fmt.Sprintf("good%d.example", i), Temper: small(pages)})
	}
	return specs
}

// slowLayer is the layer of slow exchanges at its maximum.
type slowLayer struct{ use, waiting atomic.Int64 }

// watch samples the layers a few times a second until the crawl has ended.
func (l *slowLayer) watch(s *simulated) (stop func()) {
	g := &gauge.Gauge{}
	s.cfg.Gauge = g
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(200 * time.Millisecond):
			}
			for _, x := range g.Read().Layers {
				if x.Use > x.Limit && x.Name == "slow exchanges" {
					s.Errorf("%d slow exchanges, limit %d", x.Use, x.Limit)
				}
				if x.Name == "slow exchanges" {
					l.use.Store(max(l.use.Load(), x.Use))
					l.waiting.Store(max(l.waiting.Load(), x.Waiting))
				}
			}
		}
	}()
	return func() { close(done) }
}

// goodRequests is how many requests to good hosts arrived in a part of the crawl.
func (s *simulated) goodRequests(from, to time.Duration) (n int) {
	var first time.Time
	for _, r := range s.web.Log() {
		if first.IsZero() || r.Start.Before(first) {
			first = r.Start
		}
	}
	for _, r := range s.web.Log() {
		if at := r.Start.Sub(first); strings.Contains(r.Host, "good") && at >= from && at < to {
			n++
		}
	}
	return n
}

// TestSlowHosts crawls 10 good hosts and 300 that drip, stall and hang: the good ones keep
// 0.95 of their rate, however few slow exchanges are allowed.
func TestSlowHosts(t *testing.T) {
	const good, pages, bad, few = 10, 200, 300, 30
	drip := small(20)
	drip.Site.Robots = "drip"
	alone := 0
	for _, c := range []struct {
		name   string
		bad    int
		temper lab.Temper
		slow   int
	}{
		{"alone", 0, drip, 0},
		{"robots.txt that drips", bad, drip, 0},
		{"robots.txt that drips, few places", bad, drip, few},
		{"never an answer", bad, dead(), 0},
		{"never an answer, few places", bad, dead(), few},
		{"5 s for each answer", bad, latency(20, 5*time.Second), 0},
		{"5 s for each answer, few places", bad, latency(20, 5*time.Second), few},
	} {
		t.Run(c.name, func(t *testing.T) {
			if race.Short() && c.bad > 0 && c.slow == 0 {
				t.Skip("a second of computing each; with few places it is harder")
			}
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, goodAndSlow(good, pages, c.bad, c.temper))
				s.cfg.Workers, s.cfg.RobotsWorkers, s.cfg.Slow = 32, 20, c.slow
				s.patience(time.Minute)
				ctx, stop := stopAfter(t, 80*time.Second)
				defer stop()
				s.cfg.Drain = ctx
				var layer slowLayer
				defer layer.watch(s)()
				s.run()
				// 20 robots.txt are fetched at once, and a slow one keeps its place for a
				// second: behind 300 of them a host starts after 16 s at the latest.
				got := s.goodRequests(20*time.Second, 80*time.Second)
				t.Logf("%d requests to good hosts in a minute; at most %d slow, %d hosts waiting", got, layer.use.Load(), layer.waiting.Load())
				if c.name == "alone" {
					alone = got
					return
				}
				if got == 0 || float64(got) < 0.95*float64(alone) {
					t.Errorf("%d requests to good hosts in a minute, alone %d", got, alone)
				}
				if c.slow > 0 && layer.waiting.Load() == 0 {
					t.Error("no slow host waited for a place")
				}
			})
		})
	}
}

// stopAfter returns a channel that is closed after a while.
func stopAfter(t *testing.T, d time.Duration) (<-chan struct{}, func()) {
	t.Helper()
	c := make(chan struct{})
	timer := time.AfterFunc(d, func() { close(c) })
	return c, func() { timer.Stop() }
}

// TestSlowGivesPlaceBack crawls hosts that take 3 s per response with fewer workers than
// hosts. With few slow places they wait for one, nothing is lost, and at most one request
// per host is repeated.
func TestSlowGivesPlaceBack(t *testing.T) {
	for name, slow := range map[string]int{"many places": 1000, "few places": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const hosts, pages = 20, 5
				s := newSimulated(t, hosts, latency(pages, 3*time.Second))
				s.cfg.Workers, s.cfg.Slow, s.cfg.RobotsWorkers = 2, slow, 2
				var layer slowLayer
				defer layer.watch(s)()
				r := s.run()
				if r.State != job.Complete || r.Counts.Ended[store.Ending{Outcome: visit.Fetched}] != hosts*pages {
					t.Errorf("ended %s (%s): %v", r.State, r.Reason, r.Counts.Ended)
				}
				t.Logf("took %v, %d requests, at most %d slow", r.Elapsed, r.Requests, layer.use.Load())
				if extra := s.web.Stats().Total.Requests - hosts*(pages+1); extra > hosts {
					t.Errorf("%d requests more than needed", extra)
				}
				if layer.use.Load() < 3 {
					t.Errorf("at most %d slow exchanges", layer.use.Load())
				}
				// One after the other it would take 20 x 6 x 3 s / 2 = 180 s; with all at once
				// each host takes 6 x 3 s and its pace.
				if most := 60 * time.Second; slow > hosts && r.Elapsed > most {
					t.Errorf("took %v, want at most %v", r.Elapsed, most)
				}
			})
		})
	}
}
