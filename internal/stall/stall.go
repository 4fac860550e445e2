// Package stall tells a test how long its machine, or the disk of it, stood still. On a
// machine that is busy with other things everything comes late, and how late is no fault of
// what is tested: a test takes that off a time before it holds it against a bound.
package stall

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// every is how often a watch looks at the clock. One that comes by more than tolerance
// late was not let: on a machine that is not busy it is late by tenths of a millisecond.
const (
	every     = 10 * time.Millisecond
	tolerance = 2 * time.Millisecond
)

// maxStalls bounds what a watch keeps: nobody stands still more often in a test.
const maxStalls = 1 << 20

// Watch knows when a machine stood still.
type Watch struct {
	mu     sync.Mutex
	stalls []stall
}

// stall is a time in which nothing went on.
type stall struct{ from, to time.Time }

// Start watches until the test ends.
func Start(t testing.TB) *Watch {
	t.Helper()
	w := &Watch{}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // to wait for a core as a process does
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

// looked notes two looks at the clock, one after the other.
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

// Between is how much of the time between two moments nothing went on.
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
