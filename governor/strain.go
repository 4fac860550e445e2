package governor

import (
	"math"
	"runtime/metrics"
	"sync"
	"time"
)

// Bounds of a [Strain].
const (
	strainEvery = 100 * time.Millisecond
	// strained is how long goroutines wait for a processor, at the ninth tenth,
	// when response times say more about us than about hosts.
	strained = 5 * time.Millisecond
)

// Strain tells whether this process is so short of processors that the time an
// answer takes is mostly our own: one that has come waits until somebody reads
// it. Such response times are no signal of a host, and nobody slows down for
// them. The zero Strain is ready.
type Strain struct {
	mu     sync.Mutex
	sample [1]metrics.Sample
	last   []uint64
	at     time.Time
	is     bool
}

// Strained tells whether goroutines lately waited long for a processor. It may
// be called from many goroutines.
func (s *Strain) Strained() bool {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.at) < strainEvery {
		return s.is
	}
	s.at = now
	s.sample[0].Name = "/sched/latencies:seconds"
	metrics.Read(s.sample[:])
	if s.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return false // a runtime without this figure
	}
	h := s.sample[0].Value.Float64Histogram()
	s.is = ninthTenth(h.Counts, s.last, h.Buckets) > strained
	s.last = append(s.last[:0], h.Counts...)
	return s.is
}

// ninthTenth is the time that nine tenths of what was counted since last lie
// below.
func ninthTenth(counts, last []uint64, buckets []float64) time.Duration {
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
