package stall

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestBetween sums late readings of the clock between two times.
func TestBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
		w := Start(t)
		time.Sleep(time.Second)
		synctest.Wait()
		if d := w.Between(began, time.Now()); d != 0 {
			t.Errorf("a machine that is not busy stalled for %v", d)
		}
		w.looked(at(2000), at(2010))
		w.looked(at(2010), at(2011)) // a tick that comes after a late one is early
		w.looked(at(2011), at(2121))
		w.looked(at(3000), at(3510))
		for _, tt := range []struct{ from, to, want int }{
			{0, 1000, 0}, {0, 9000, 600}, {2000, 2500, 100}, {2071, 3000, 50}, {3500, 3600, 10}, {3100, 3200, 100},
		} {
			if got := w.Between(at(tt.from), at(tt.to)); got != time.Duration(tt.want)*time.Millisecond {
				t.Errorf("between %d and %d it stalled for %v, want %d ms", tt.from, tt.to, got, tt.want)
			}
		}
	})
}

// TestDisk counts syncs that take longer than on an idle disk.
func TestDisk(t *testing.T) {
	w, began := &Watch{}, time.Unix(1, 0)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	w.kept(at(0), at(10))
	w.kept(at(100), at(160))
	if d := w.Between(began, at(1000)); d != 50*time.Millisecond {
		t.Errorf("it stalled for %v, want 50 ms", d)
	}
	live := StartDisk(t, t.TempDir())
	if d := live.Between(began, at(0)); d != 0 {
		t.Errorf("it stalled for %v before it was watched", d)
	}
}
