package fetch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"headway/internal/race"
	"headway/lab"
)

// worstMix is the load of 512 concurrent exchanges: decompression bombs, endless bodies,
// slow bodies, hangs, and good pages in between.
var worstMix = []string{
	"/fault/drip", "/fault/hang", "/fault/huge", "/fault/bomb", "/fault/badchunk", "/fault/truncated", "/fault/badgzip", "/fault/reset",
	"/fault/manyheaders", "/fault/deep", "/exhibit/bomb/br", "/exhibit/bomb/zstd", "/exhibit/bomb/twice", "/exhibit/codings/1000",
	"/exhibit/header/hints", "/exhibit/header/cookies", "/exhibit/header/endless", "/", "/s1/p1.html", "/s1/p2.html", "/robots.txt",
}

// TestFlatUnderWorstMix keeps 512 exchanges of the lab's worst mix running and samples
// memory, goroutines and descriptors: they stay below their limits and, in the long
// run, do not grow.
//
// By default it runs for ten seconds with short timeouts; with HEADWAY_FULL=1 for ten
// minutes with the real ones:
//
//	HEADWAY_FULL=1 go test -run TestFlatUnderWorstMix -timeout 20m ./fetch
func TestFlatUnderWorstMix(t *testing.T) {
	if race.Short() {
		t.Skip("takes seconds, and as much of the machine as it can get")
	}
	const workers = 512
	length := 10 * time.Second
	if os.Getenv(fullRun) != "" {
		length = 10 * time.Minute
	}
	at := startLab(t, lab.Config{Hosts: lab.Uniform(100, lab.Plain())})
	c := at.client(t, labBounds())

	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var ended [2]atomic.Int64 // successful, and with an *Error
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; ctx.Err() == nil; i++ {
				seed := at.Seeds[i%len(at.Seeds)]
				u, err := mustURL(seed).Resolve(worstMix[(i*7+w)%len(worstMix)])
				if err != nil {
					t.Error(err)
					return
				}
				r, err := c.Do(ctx, Request{URL: u})
				switch _, ok := errors.AsType[*Error](err); {
				case err == nil:
					r.Close()
					ended[0].Add(1)
				case ok:
					ended[1].Add(1)
				case ctx.Err() == nil:
					t.Errorf("%s: %v", u, err)
					return
				}
			}
		})
	}
	samples := watchUsage(t, ctx, length/40)
	wg.Wait()
	t.Logf("%d exchanges ended well, %d did not; %s", ended[0].Load(), ended[1].Load(), samples)
	if ended[0].Load() < workers/4 || ended[1].Load() < workers/4 {
		t.Error("too few exchanges to say anything")
	}
	samples.check(t, os.Getenv(fullRun) != "")
	if s := c.Stats(); s.Bodies.Use != 0 || s.Conns.Use != s.Idle || s.Conns.Use > s.Conns.Limit {
		t.Errorf("left over: %+v", s)
	}
}

// usage is a series of samples.
type usage struct {
	memory, goroutines, descriptors []int64
}

// watchUsage samples until ctx ends.
func watchUsage(t *testing.T, ctx context.Context, every time.Duration) *usage {
	t.Helper()
	u := &usage{}
	tick := time.NewTicker(every) // samples the process in real time
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return u
		case <-tick.C:
		}
		u.memory = append(u.memory, procStatus(t, "VmRSS:"))
		u.goroutines = append(u.goroutines, int64(runtime.NumGoroutine()))
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skipf("descriptors cannot be counted here: %v", err)
		}
		u.descriptors = append(u.descriptors, int64(len(open)))
	}
}

// check compares the samples with the limits. A long run is stable from its second
// third on, so the last third is compared with it to find leaks.
func (u *usage) check(t *testing.T, long bool) {
	t.Helper()
	for name, series := range map[string][]int64{"memory": u.memory, "goroutines": u.goroutines, "descriptors": u.descriptors} {
		third := len(series) / 3
		if third == 0 {
			t.Fatal("too few samples")
		}
		middle, end := slices.Max(series[third:2*third]), slices.Max(series[2*third:])
		if long && float64(end) > 1.25*float64(middle) {
			t.Errorf("%s grew from %d to %d", name, middle, end)
		}
	}
	// 512 exchanges, the body budget, the decoders and the collector's slack.
	if most := slices.Max(u.memory); most > 768<<20 {
		t.Errorf("%d MiB of memory", most>>20)
	}
	// An exchange has its caller's goroutine and at most three for its connection.
	if most := slices.Max(u.goroutines); most > 4*512+200 {
		t.Errorf("%d goroutines", most)
	}
	if most := slices.Max(u.descriptors); most > 1024+100 {
		t.Errorf("%d descriptors", most)
	}
}

// String shows the ranges.
func (u *usage) String() string {
	return fmt.Sprintf("memory %d to %d MiB, goroutines %d to %d, descriptors %d to %d in %d samples",
		slices.Min(u.memory)>>20, slices.Max(u.memory)>>20, slices.Min(u.goroutines), slices.Max(u.goroutines),
		slices.Min(u.descriptors), slices.Max(u.descriptors), len(u.memory))
}

// cleanMemory gives unused memory back to the system.
func cleanMemory() {
	runtime.GC()
	debug.FreeOSMemory()
}
