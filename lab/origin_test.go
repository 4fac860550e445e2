package lab

import (
	"testing"
	"testing/synctest"
	"time"

	"headway/lab/temper"
)

func TestOrigin(t *testing.T) {
	const ms = time.Millisecond
	behind := func(rules temper.Rules) func(*Temper) {
		return func(t *Temper) { t.Site.Cache, t.Origin = "cloudflare", &rules }
	}
	// Rounds of concurrent requests for the first pages, in the given numbers, each
	// after the round before was answered; then what the origin counted.
	for name, tc := range map[string]struct {
		rules  temper.Rules
		rounds []int
		want   OriginStats
	}{
		"idle": {
			temper.Rules{Latency: temper.Constant(200 * ms)},
			[]int{1, 1, 1},
			OriginStats{Requests: 1, MostPage: 1, IdleP95MS: 200, P95MS: 200, WorstMS: 200},
		},
		"cached pages are not generated again": {
			temper.Rules{Latency: temper.Constant(200 * ms)},
			[]int{16, 16},
			OriginStats{Requests: 17, MostPage: 2, MostNever: 2, IdleP95MS: 200, P95MS: 200, WorstMS: 200},
		},
		"one page after the other": {
			temper.Rules{Queue: temper.Queue{Service: 500 * ms}},
			[]int{8},
			OriginStats{Requests: 8, MostPage: 1, IdleP95MS: 500, P95MS: 4000, WorstMS: 4000, OverMS: 4000},
		},
		"one that refuses keeps nothing": {
			temper.Rules{Overload: temper.Overload{InFlight: 1}, Latency: temper.Constant(100 * ms)},
			[]int{2, 1, 2},
			OriginStats{Requests: 3, MostPage: 2, IdleP95MS: 100, P95MS: 100, WorstMS: 100},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := mustNew(t, Config{Hosts: Uniform(1, small(behind(tc.rules)))})
				for _, n := range tc.rounds {
					atOnce(t, l, n)
				}
				host := l.Stats().PerHost[0]
				if host.Origin == nil || *host.Origin != tc.want {
					t.Errorf("got  %+v\nwant %+v", host.Origin, tc.want)
				}
			})
		})
	}
}

// TestOriginOverloadTime expects the longest time over twice the idle one, ended by a pause.
func TestOriginOverloadTime(t *testing.T) {
	at := func(s float64) time.Time { return born.Add(time.Duration(s * float64(time.Second))) }
	slow, fast := 3*time.Second, time.Second
	for name, tc := range map[string]struct {
		made []generation
		want time.Duration
	}{
		"never":                     {[]generation{{at(0), fast, fast}, {at(2), fast, fast}}, 0},
		"one":                       {[]generation{{at(0), slow, fast}, {at(9), fast, fast}}, 3 * time.Second},
		"one after the other":       {[]generation{{at(0), slow, fast}, {at(3), slow, fast}}, 6 * time.Second},
		"with a rest":               {[]generation{{at(0), slow, fast}, {at(5), slow, fast}}, 3 * time.Second},
		"with a good second":        {[]generation{{at(0), slow, fast}, {at(3), fast, fast}, {at(4), slow, fast}}, 3 * time.Second},
		"recorded in another order": {[]generation{{at(3), slow, fast}, {at(0), slow, fast}}, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			o := originState{made: tc.made}
			if _, over := o.seconds(2 * fast); over != tc.want {
				t.Errorf("over for %v, want %v", over, tc.want)
			}
		})
	}
}
