package headway

import (
	"fmt"
	"testing"
	"time"

	"headway/gauge"
	"headway/store"
	"headway/store/memory"
)

// TestWatched lets requests leave that the schedule would never have sent.
func TestWatched(t *testing.T) {
	start := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		promise   promise
		leave     []time.Duration // since the start
		back      []bool          // whether each is over before the next leaves
		shortGaps int64
		overCap   int64
	}{
		"kept":            {promise{time.Second, 1}, []time.Duration{0, time.Second, 3 * time.Second}, []bool{true, true, true}, 0, 0},
		"too soon":        {promise{time.Second, 1}, []time.Duration{0, time.Second - 1, 3 * time.Second}, []bool{true, true, true}, 1, 0},
		"too many":        {promise{time.Second, 2}, []time.Duration{0, time.Second, 2 * time.Second}, []bool{false, false, false}, 0, 1},
		"room for two":    {promise{time.Second, 2}, []time.Duration{0, time.Second, 2 * time.Second}, []bool{true, false, false}, 0, 0},
		"no pace, no gap": {promise{0, 3}, []time.Duration{0, 0, 0}, []bool{false, false, false}, 0, 0},
		"both":            {promise{time.Second, 1}, []time.Duration{0, 1, 2}, []bool{false, false, false}, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var w watched
			m := gauge.NewMeter(nil)
			for i, after := range tc.leave {
				w.leaves(start.Add(after), tc.promise, m)
				if tc.back[i] {
					w.under.Add(-1)
				}
			}
			if s, o := m.ShortGaps.Load(), m.OverCap.Load(); s != tc.shortGaps || o != tc.overCap {
				t.Errorf("%d short gaps and %d over the cap, want %d and %d", s, o, tc.shortGaps, tc.overCap)
			}
		})
	}
}

// BenchmarkShow is what the loop spends on its gauge, four times a second.
func BenchmarkShow(b *testing.B) {
	var g gauge.Gauge
	cfg := Worker{Store: memory.Open(memory.Config{}), Gauge: &g}.withDefaults()
	c := newCrawler(cfg)
	c.loop.Begin()
	if err := c.open(b.Context(), c.loop.Now(), store.SlotCount); err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		c.sites[fmt.Sprint("http://h", i, ".example")] = &site{}
	}
	b.ReportAllocs()
	for b.Loop() {
		c.show(c.loop.Now(), false)
	}
}
