// Package stall measures how long the machine, or its disk, stalled during a test. On
// a busy machine everything is late, which is not the fault of the tested code: a test
// subtracts stalls from a duration before it compares it with a bound.
package stall

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// every is the interval at which a watch reads the clock. A reading that is late by
// more than tolerance means that the thread got no processor: on an idle machine it is
// late by tenths of a millisecond.
const (
	every     = 10 * time.Millisecond
	tolerance = 2 * time.Millisecond
)

// maxStalls bounds the memory of a watch.
const maxStalls = 1 << 20

// Watch records when the machine stalled.
type Watch struct {
	mu     sync.Mutex
	stalls []stall
}

// stall is a period without progress.
type stall struct{ from, to time.Time }

// Start measures until the test ends.
func Start(t testing.TB) *Watch {
	t.Helper()
	w := &Watch{}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // to be scheduled as a process is
		tick := time.NewTicker(every)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			now := time.Now()
			w.looked(last, now)
			last = now
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
	return w
}

// looked records two consecutive readings of the clock.
func (w *Watch) looked(last, now time.Time) {
	if now.Sub(last) < every+tolerance {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.stalls) < maxStalls {
		w.stalls = append(w.stalls, stall{last.Add(every), now})
	}
}

// Between is how long the machine stalled between two times.
func (w *Watch) Between(from, to time.Time) (sum time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.stalls {
		begin, end := s.from, s.to
		if begin.Before(from) {
			begin = from
		}
		if end.After(to) {
			end = to
		}
		sum += max(0, end.Sub(begin))
	}
	return sum
}
