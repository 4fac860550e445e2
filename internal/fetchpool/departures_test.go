package fetchpool_test

import (
	"testing"
	"time"

	"headway/gauge"
	"headway/internal/fetchpool"
)

// TestDepartures sends requests that violate the promise of the schedule.
func TestDepartures(t *testing.T) {
	start := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		promise   fetchpool.Promise
		leave     []time.Duration // since the start
		back      []bool          // whether each ends before the next is sent
		shortGaps int64
		overCap   int64
	}{
		"kept":            {fetchpool.Promise{Pace: time.Second, Cap: 1}, []time.Duration{0, time.Second, 3 * time.Second}, []bool{true, true, true}, 0, 0},
		"too soon":        {fetchpool.Promise{Pace: time.Second, Cap: 1}, []time.Duration{0, time.Second - 1, 3 * time.Second}, []bool{true, true, true}, 1, 0},
		"too many":        {fetchpool.Promise{Pace: time.Second, Cap: 2}, []time.Duration{0, time.Second, 2 * time.Second}, []bool{false, false, false}, 0, 1},
		"room for two":    {fetchpool.Promise{Pace: time.Second, Cap: 2}, []time.Duration{0, time.Second, 2 * time.Second}, []bool{true, false, false}, 0, 0},
		"no pace, no gap": {fetchpool.Promise{Pace: 0, Cap: 3}, []time.Duration{0, 0, 0}, []bool{false, false, false}, 0, 0},
		"both":            {fetchpool.Promise{Pace: time.Second, Cap: 1}, []time.Duration{0, 1, 2}, []bool{false, false, false}, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var d fetchpool.Departures
			m := gauge.NewMeter(nil)
			for i, after := range tc.leave {
				d.Leave(start.Add(after), tc.promise, m)
				if tc.back[i] {
					d.End()
				}
			}
			if s, o := m.ShortGaps.Load(), m.OverCap.Load(); s != tc.shortGaps || o != tc.overCap {
				t.Errorf("%d short gaps and %d over the cap, want %d and %d", s, o, tc.shortGaps, tc.overCap)
			}
		})
	}
}
