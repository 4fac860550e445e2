package governor

import (
	"math"
	"runtime/metrics"
	"sync"
	"time"
)

// Bounds of an [Overload].
const (
	sampleEvery = 100 * time.Millisecond
	// overloadedAfter is the p90 of the scheduling latency of goroutines above which
	// response times say more about us than about hosts.
	overloadedAfter = 5 * time.Millisecond
)

// Overload detects that this process is short of CPU, so that response times mostly measure
// our own delay: received data waits to be read. Such latencies say nothing about a host
// and must not slow it down. The zero Overload is ready.
type Overload struct {
	mu     sync.Mutex
	sample [1]metrics.Sample
	last   []uint64
	at     time.Time
	is     bool
}

// Overloaded reports whether goroutines recently waited long for a CPU. It is safe for
// concurrent use.
func (s *Overload) Overloaded() bool {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.at) < sampleEvery {
		return s.is
	}
	s.at = now
	s.sample[0].Name = "/sched/latencies:seconds"
	metrics.Read(s.sample[:])
	if s.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return false // a runtime without this metric
	}
	h := s.sample[0].Value.Float64Histogram()
	s.is = p90(h.Counts, s.last, h.Buckets) > overloadedAfter
	s.last = append(s.last[:0], h.Counts...)
	return s.is
}

// p90 is the 90th percentile of what was counted since last.
func p90(counts, last []uint64, buckets []float64) time.Duration {
	since := func(i int) uint64 {
		if i < len(last) {
			return counts[i] - last[i]
		}
		return counts[i]
	}
	var all, below uint64
	for i := range counts {
		all += since(i)
	}
	for i := range counts {
		if below += since(i); all > 0 && below*10 >= all*9 {
			edge := buckets[i+1]
			if math.IsInf(edge, 1) {
				edge = buckets[i]
			}
			return time.Duration(edge * float64(time.Second))
		}
	}
	return 0
}
