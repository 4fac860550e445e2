package sim_test

import (
	"testing"
	"time"

	"headway/politeness"
	"headway/politeness/internal/sim"
)

func TestLimits(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		limit sim.Limit
		at    []time.Duration
		wait  []time.Duration
	}{
		"a bucket saves up":         {&sim.Bucket{Interval: 2 * s, Burst: 2}, []time.Duration{0, 0, 0, s, 2 * s, 60 * s, 60 * s, 60 * s}, []time.Duration{0, 0, 2 * s, s, 0, 0, 0, 2 * s}},
		"a window slides":           {&sim.Window{Max: 2, Per: 10 * s}, []time.Duration{0, 4 * s, 5 * s, 10 * s, 11 * s, 14 * s}, []time.Duration{0, 0, 5 * s, 0, 3 * s, 0}},
		"a refusal uses up nothing": {&sim.Bucket{Interval: s, Burst: 1}, []time.Duration{0, s / 2, s / 2, s}, []time.Duration{0, s / 2, s / 2, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			for i, at := range c.at {
				if got := c.limit.Take(sim.Epoch.Add(at)); got != c.wait[i] {
					t.Errorf("request %d at %v has to wait %v, want %v", i, at, got, c.wait[i])
				}
			}
		})
	}
}

func TestIdeal(t *testing.T) {
	for name, c := range map[string]struct {
		limit sim.Limit
		base  time.Duration
		want  time.Duration
	}{
		"the limit decides":    {&sim.Bucket{Interval: 2 * time.Second, Burst: 2}, 100 * time.Millisecond, 16 * time.Second},
		"the base decides":     {&sim.Bucket{Interval: time.Second, Burst: 2}, 3 * time.Second, 27 * time.Second},
		"bursts are used":      {&sim.Window{Max: 5, Per: time.Minute}, time.Second, time.Minute + 4*time.Second},
		"a burst that is long": {&sim.Bucket{Interval: time.Minute, Burst: 10}, time.Second, 9 * time.Second},
	} {
		if got := sim.Ideal(c.limit, c.base, 10); got != c.want {
			t.Errorf("%s: ten pages take %v, want %v", name, got, c.want)
		}
	}
}

func TestCrawlRepeatsAndEnds(t *testing.T) {
	p, _ := politeness.Preset("polite")
	run := func() sim.Result {
		return sim.Crawl{
			Policy: p, State: politeness.New("host"), Pages: 50,
			Server: &sim.Limited{Limit: &sim.Bucket{Interval: 3 * time.Second, Burst: 2}, RetryAfter: true, Latency: 40 * time.Millisecond},
		}.Run()
	}
	a, b := run(), run()
	if a != b {
		t.Error("the same crawl went differently")
	}
	if a.Pages != 50 || a.Requests != 50+a.Refusals || a.State.InFlight() != 0 {
		t.Errorf("%d pages with %d requests and %d refusals", a.Pages, a.Requests, a.Refusals)
	}

	down := sim.Crawl{
		Policy: p, State: politeness.New("host"), Pages: 3,
		Server: sim.ServerFunc(func(sim.Request) politeness.Answer { return politeness.Answer{Fault: politeness.Connect} }),
	}.Run()
	if down.GivenUp != 3 || down.Requests != 9 {
		t.Errorf("%d of 3 URLs given up after %d requests, want all after 3 each", down.GivenUp, down.Requests)
	}
	refusing := sim.Crawl{
		Policy: p, State: politeness.New("host"), Pages: 3, For: time.Hour,
		Server: sim.ServerFunc(func(sim.Request) politeness.Answer { return sim.Refuse(0) }),
	}.Run()
	if refusing.Took != time.Hour || refusing.Pages != 0 {
		t.Errorf("stopped after %v", refusing.Took)
	}
}
