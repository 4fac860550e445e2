package headway_test

import (
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"headway/answer"
	"headway/governor"
	"headway/store"
	"headway/store/sqlite"
	"headway/visit"
)

// inFolder stores the crawl in a folder.
func (s *simulated) inFolder(dir string, fault store.Fault) {
	s.Helper()
	st, err := sqlite.Open(s.Context(), sqlite.Config{Dir: dir, Fault: fault})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := st.Close(); err != nil {
			s.Error(err)
		}
	})
	s.st, s.cfg.Store = st, st
}

// inMemory is a folder in memory: its files are never written to a disk.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "headway")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestSlowMeasured makes one thing slow in real time, which is what the CPU and the disk are
// measured in, and checks that `slow` names it. A busy machine must not change the result.
func TestSlowMeasured(t *testing.T) {
	for name, tc := range map[string]struct {
		inject func(t *testing.T) *simulated
		check  func(a answer.Slow, parts map[string]float64) bool
	}{
		"many hosts, one CPU, and other work on it": {
			inject: func(t *testing.T) *simulated {
				before := runtime.GOMAXPROCS(1)
				var stop atomic.Bool
				var wg sync.WaitGroup
				for range 6 {
					wg.Go(func() {
						for n := 0; !stop.Load(); n++ {
						}
					})
				}
				t.Cleanup(func() {
					stop.Store(true)
					wg.Wait()
					runtime.GOMAXPROCS(before)
				})
				s := newSimulated(t, 10, small(100))
				s.inFolder(inMemory(t), nil)
				return s
			},
			check: func(a answer.Slow, _ map[string]float64) bool { return a.SoFar.State == string(visit.WaitCPU) },
		},
		"many hosts, one worker": {
			inject: func(t *testing.T) *simulated {
				s := newSimulated(t, 8, latency(2, 400*time.Millisecond))
				s.inFolder(inMemory(t), nil)
				s.cfg.Workers = 1
				return s
			},
			check: func(a answer.Slow, _ map[string]float64) bool {
				return a.SoFar.State == string(visit.WaitWorkers) && a.MoreWorkers
			},
		},
		"a slow disk": {
			inject: func(t *testing.T) *simulated {
				s := newSimulated(t, 3, small(40))
				s.inFolder(inMemory(t), func(statement string) error {
					if statement == "commit" {
						time.Sleep(400 * time.Millisecond) // a slow fsync
					}
					return nil
				})
				return s
			},
			check: func(a answer.Slow, _ map[string]float64) bool { return a.SoFar.State == string(visit.WaitDisk) },
		},
		"a folder in memory": {
			inject: func(t *testing.T) *simulated {
				s := newSimulated(t, 3, small(1000))
				s.inFolder(inMemory(t), nil)
				return s
			},
			check: func(a answer.Slow, parts map[string]float64) bool {
				return a.SoFar.State != string(visit.WaitDisk) && parts[string(visit.WaitDisk)] < 0.25
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.inject(t)
			s.owned()
			s.cfg.CPU = new(governor.CPU)
			a := s.whole(s.run())
			parts, sum := map[string]float64{}, 0.0
			for _, p := range a.Parts {
				parts[p.State] = p.Part
				sum += p.Part
			}
			t.Log(a.Sentence, parts)
			if !tc.check(a, parts) {
				t.Errorf("it says %s", a.SoFar.State)
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("the parts add up to %v", sum)
			}
		})
	}
}
