package governor

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestDemand lets more goroutines compute than there are CPUs: all but those that run wait.
func TestDemand(t *testing.T) {
	var c CPU
	if d := c.Demand(); d != (Demand{}) {
		t.Errorf("the first call returned %+v", d)
	}
	spinning := runtime.GOMAXPROCS(0) + 6
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range spinning {
		wg.Go(func() {
			for n := 0; !stop.Load(); n++ {
			}
		})
	}
	t.Cleanup(func() {
		stop.Store(true)
		wg.Wait()
	})
	time.Sleep(300 * time.Millisecond) // what is measured
	d := c.Demand()
	t.Logf("%+v, for %d goroutines", d, spinning)
	// Those that wait for a thread are counted on every system.
	if d.Queued < 4 || d.Running+d.Waiting+d.Queued > 3*float64(spinning) {
		t.Errorf("want about %d in all", spinning)
	}
	if d.Latency <= 0 {
		t.Error("goroutines did not wait")
	}
}
