package headway_test

import (
	"maps"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"headway"
	"headway/frontier"
	"headway/gauge"
	"headway/lab"
	labtemper "headway/lab/temper"
	"headway/politeness"
	"headway/visit"
)

// sum adds up the values of a map.
func sum[K comparable](counts map[K]int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// TestGauge compares the crawl's counts with what its hosts saw.
func TestGauge(t *testing.T) {
	limited := small(30)
	limited.Rules.Limits = []labtemper.Limit{{Rate: 0.7, Burst: 2}}
	failing := small(20)
	failing.Rules.Outages = []labtemper.Outage{{AfterRequests: 10, For: 4 * time.Second, Status: 500}}
	for name, temper := range map[string]lab.Temper{"calm": small(20), "refusing": limited, "failing": failing} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSimulated(t, 3, temper)
				s.cfg.Sitemaps = headway.SitemapsAuto
				var g gauge.Gauge
				s.cfg.Gauge = &g
				s.run()
				r, saw := g.Read(), s.web.Stats().Total
				t.Logf("%+v", r.Totals)
				if got := sum(r.Requests); got != saw.Requests || r.Requests[frontier.Robots] != saw.RobotsFetches || r.Requests[frontier.Sitemap] != saw.SitemapFetches {
					t.Errorf("counted %v requests, the hosts saw %d, %d for robots.txt and %d for sitemaps", r.Requests, saw.Requests, saw.RobotsFetches, saw.SitemapFetches)
				}
				if got := sum(r.Refusals); got != saw.Refusals || r.Refusals[429] != saw.TooMany {
					t.Errorf("counted refusals %v, the hosts gave %d", r.Refusals, saw.Refusals)
				}
				if r.Bytes != saw.BytesOut {
					t.Errorf("counted %d bytes, the hosts sent %d", r.Bytes, saw.BytesOut)
				}
				if r.ShortGaps != 0 || r.OverCap != 0 {
					t.Errorf("%d requests sent too soon, %d above the cap", r.ShortGaps, r.OverCap)
				}
				if refusing := saw.Refusals > 0; refusing != (r.Incidents > 0) || refusing && r.Holds == 0 || refusing != (r.Retries[politeness.ChargeRefusal] > 0) {
					t.Errorf("%d refusals, %d incidents, %d holds, retries %v", saw.Refusals, r.Incidents, r.Holds, r.Retries)
				}
				if (name == "failing") != (r.Retries[politeness.ChargeFailure] > 0) {
					t.Errorf("retries %v", r.Retries)
				}
				if r.Pages < r.Outcomes[visit.Fetched] || r.Pages == 0 {
					t.Errorf("%d pages of outcomes %v", r.Pages, r.Outcomes)
				}
				if n := sum(maps.Collect(slices.All(r.Commits.In[:]))); n != r.Commits.N || n == 0 {
					t.Errorf("%d commits, %d in parts", r.Commits.N, n)
				}
				if r.Life != 1 || !r.Over || r.Slots == 0 {
					t.Errorf("life %d, over %v, %d slots", r.Life, r.Over, r.Slots)
				}
			})
		})
	}
}

// TestGaugeAddsUp reads the gauge each second of a crawl: the host time of all states is
// the time that hosts had work.
func TestGaugeAddsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSimulated(t, 12, small(30))
		var g gauge.Gauge
		s.cfg.Gauge = &g
		done := make(chan struct{})
		go func() { defer close(done); s.run() }()
		var last gauge.Reading
		for over := false; !over; {
			select {
			case <-done:
				over = true
			case <-time.After(time.Second):
			}
			r := g.Read()
			var now, spent, before time.Duration
			hosts := 0
			for i := range r.Hosts {
				hosts += r.Hosts[i].Hosts
				spent += r.Hosts[i].Spent
			}
			for i := range last.Hosts {
				before += last.Hosts[i].Spent
			}
			if hosts != r.Frontier.Working {
				t.Errorf("%d hosts in states, %d with work", hosts, r.Frontier.Working)
			}
			if !over && r.Frontier.Working == 12 && last.Frontier.Working == 12 {
				now = 12 * r.At.Sub(last.At)
				if math.Abs(float64(spent-before-now)) > float64(12*time.Millisecond) {
					t.Errorf("in %v 12 hosts spent %v", r.At.Sub(last.At), spent-before)
				}
			}
			last = r
		}
	})
}
