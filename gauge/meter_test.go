package gauge_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"headway/gauge"
)

// TestMeterContinues starts a second life with the counts of the first.
func TestMeterContinues(t *testing.T) {
	var g gauge.Gauge
	first := gauge.NewMeter(&g)
	first.Totals.Pages, first.Totals.Refusals[429] = 7, 3
	first.ShortGaps.Add(1)
	first.SegmentAttempt(t.Context(), 100, time.Second, nil)
	first.SegmentAttempt(t.Context(), 100, time.Second, errors.New("no room"))
	stopped, stop := context.WithCancel(t.Context())
	stop()
	first.SegmentAttempt(stopped, 100, time.Second, context.Canceled)
	first.Show(gauge.Reading{}, nil)
	first.Totals.Refusals[429]++ // a reading does not change
	second := gauge.NewMeter(&g)
	if second.Totals.Pages != 7 || second.Totals.Refusals[429] != 3 || second.ShortGaps.Load() != 1 {
		t.Errorf("begins with %+v", second.Totals)
	}
	second.SegmentAttempt(t.Context(), 50, time.Second, nil)
	second.Show(gauge.Reading{}, nil)
	if got, want := g.Read().Segments, (gauge.Segments{Written: 2, Bytes: 150, Failed: 1, Took: 4 * time.Second}); got != want {
		t.Errorf("segments %+v, want %+v", got, want)
	}
	if r := g.Read(); r.Life != 2 || r.Pages != 7 || len(r.Hosts) == 0 {
		t.Errorf("shows %+v", r)
	}
}

// TestNoGauge counts without a gauge.
func TestNoGauge(t *testing.T) {
	m := gauge.NewMeter(nil)
	m.Totals.Pages++
	m.Show(gauge.Reading{}, nil)
	if got := new(gauge.Gauge).Read(); got.Pages != 0 {
		t.Errorf("read %+v", got)
	}
}
