package politeness_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"headway/politeness"
	"headway/politeness/internal/sim"
)

// origin is a server whose response time rises with load and that never refuses: the origin behind
// a cold cache.
type origin struct {
	idle    time.Duration // response time when idle
	spread  float64       // idle varies by up to this share, upward
	workers int           // pages generated at once; more wait in a queue; 0 is no limit
	slope   time.Duration // added for each other request in flight
	crowd   time.Duration // added for each other request of the last second

	rng  *rand.Rand
	free []time.Time // when each worker is idle
	log  []served
}

type served struct {
	at   time.Time
	took time.Duration
	idle time.Duration
}

// Serve implements [sim.Server].
func (o *origin) Serve(r sim.Request) politeness.Answer {
	idle := o.idle
	if o.spread > 0 {
		idle += time.Duration(o.rng.Float64() * o.spread * float64(o.idle))
	}
	took := idle
	for _, s := range o.log {
		if r.At.Sub(s.at) < time.Second {
			took += o.crowd
		}
		if s.at.Add(s.took).After(r.At) {
			took += o.slope
		}
	}
	if o.workers > 0 {
		i := 0
		for j := range o.free {
			if o.free[j].Before(o.free[i]) {
				i = j
			}
		}
		if o.free[i].Before(r.At) {
			o.free[i] = r.At
		}
		o.free[i] = o.free[i].Add(took)
		took = o.free[i].Sub(r.At)
	}
	o.log = append(o.log, served{r.At, took, idle})
	return sim.OK(took)
}

// p95 is the 95th percentile of some durations.
func p95(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)*95/100]
}

// over is the longest uninterrupted time in which the 95th percentile of the requests in flight,
// second by second, is above twice the idle response time.
func (o *origin) over() (longest time.Duration) {
	var idle []time.Duration
	end := o.log[0].at
	for _, s := range o.log {
		idle = append(idle, s.idle)
		if e := s.at.Add(s.took); e.After(end) {
			end = e
		}
	}
	most := 2 * p95(idle)
	run := time.Duration(0)
	for at := o.log[0].at; at.Before(end); at = at.Add(time.Second) {
		var now []time.Duration
		for _, s := range o.log {
			if s.at.Before(at.Add(time.Second)) && s.at.Add(s.took).After(at) {
				now = append(now, s.took)
			}
		}
		if len(now) == 0 || p95(now) <= most {
			run = 0
			continue
		}
		run += time.Second
		longest = max(longest, run)
	}
	return longest
}

// TestWarmSparesTheOrigin warms origins with different load behaviour, at the preset's pace and at
// faster ones: none may be more than twice as slow as when idle for more than ten seconds.
func TestWarmSparesTheOrigin(t *testing.T) {
	const ms, pages = time.Millisecond, 600
	origins := map[string]origin{
		"a worker of 150 ms":           {idle: 150 * ms, workers: 1},
		"a worker of 400 ms":           {idle: 400 * ms, workers: 1},
		"a worker of 600 ms":           {idle: 600 * ms, workers: 1},
		"a worker of 700 ms":           {idle: 700 * ms, workers: 1},
		"a worker of 1 s":              {idle: 1000 * ms, workers: 1},
		"a worker of 1.5 s":            {idle: 1500 * ms, workers: 1},
		"four workers of 1.5 s":        {idle: 1500 * ms, workers: 4},
		"four workers of 3 s":          {idle: 3000 * ms, workers: 4},
		"slower with each under way":   {idle: 150 * ms, slope: 50 * ms},
		"twice as slow with two":       {idle: 300 * ms, slope: 300 * ms},
		"slow, slower with two":        {idle: 800 * ms, slope: 400 * ms},
		"slower with each in a second": {idle: 150 * ms, crowd: 50 * ms},
		"twice as slow with a second":  {idle: 150 * ms, crowd: 150 * ms},
		"both":                         {idle: 200 * ms, crowd: 30 * ms, slope: 60 * ms},
		"a worker that varies":         {idle: 600 * ms, spread: 0.5, workers: 1},
		"two workers that vary":        {idle: 300 * ms, spread: 1, workers: 2},
	}
	for name, o := range origins {
		for _, base := range []time.Duration{500 * ms, 200 * ms, 100 * ms, 0} {
			t.Run(fmt.Sprintf("%s at %v", name, base), func(t *testing.T) {
				o := o
				o.rng, o.free = rand.New(rand.NewPCG(1, 2)), make([]time.Time, o.workers)
				p := preset(t, "warm")
				p.Base = base
				r := sim.Crawl{Policy: p, State: politeness.New("origin.example"), Server: &o, Pages: pages}.Run()
				if r.Pages != pages {
					t.Errorf("%d pages were fetched", r.Pages)
				}
				if longest := o.over(); longest > 10*time.Second {
					t.Errorf("over twice its idle time for %v", longest)
				}
				// A worker that is never idle would take this long; being careful may at most
				// double it.
				ideal := max(base, o.idle/time.Duration(max(1, o.workers)))
				if most := 2*pages*max(ideal, 250*ms) + time.Minute; o.crowd == 0 && o.spread == 0 && r.Took > most {
					t.Errorf("took %v, want at most %v", r.Took.Round(time.Second), most)
				}
			})
		}
	}
}

// TestIdleResponseTimeIsMeasuredFirst: the idle response time of a host that is warmed is measured first.
func TestIdleResponseTimeIsMeasuredFirst(t *testing.T) {
	gaps := func(name string, latency time.Duration) (list []time.Duration, caps []int) {
		p := preset(t, name)
		p.Base, p.Jitter = 200*time.Millisecond, 0
		s := politeness.New("x")
		now := sim.Epoch
		var last time.Time
		for range 40 {
			for !p.Admit(s, now).Go() {
				now = p.Admit(s, now).Until
			}
			if !last.IsZero() {
				list = append(list, now.Sub(last))
			}
			caps = append(caps, p.Cap(s))
			last = now
			s = p.Sent(s, now)
			a := sim.OK(latency)
			a.SentAt = now
			now = now.Add(50 * time.Millisecond)
			s, _ = p.Observe(s, now, a)
		}
		return list, caps
	}
	list, caps := gaps("warm", 50*time.Millisecond)
	for i, gap := range list {
		if want := map[bool]time.Duration{true: time.Second, false: 200 * time.Millisecond}[i < 9]; gap != want {
			t.Errorf("%v before request %d, want %v", gap, i+2, want)
		}
	}
	for i, n := range caps {
		// Ten responses for the first step, five for each that follows.
		if want := map[bool]int{true: 1, false: min(2<<max(0, (i-10)/5), 10)}[i < 10]; n > want {
			t.Errorf("%d may be under way at request %d, want at most %d", n, i+1, want)
		}
	}
	if caps[39] != 10 {
		t.Errorf("the cap has grown to %d, want 10", caps[39])
	}
	if list, _ := gaps("polite", 50*time.Millisecond); list[0] != 200*time.Millisecond {
		t.Errorf("%v between the first requests to a host that is not watched closely", list[0])
	}
	// Responses from a cache have no response time: there is nothing to wait for.
	if list, caps := gaps("warm", 0); list[8] != time.Second || list[9] != 200*time.Millisecond || caps[39] != 1 {
		t.Errorf("%v and %v between requests, %d under way, to a host behind a cache", list[8], list[9], caps[39])
	}
}
