package headway_test

import (
	"runtime"
	"testing/synctest"
	"time"

	"headway/internal/race"
)

// One processor: the race detector of Go 1.26 dies when two of them run timers of
// one synctest bubble at the same moment (a segmentation fault below selectgo, in
// about one of four runs of internal/simweb on two cores).
// Most of these tests wait for nothing but each other anyway.
func init() { runtime.GOMAXPROCS(1) }

// pass lets time pass in a bubble, and waits for what is to happen by then: what is due at
// the very moment a sleep ends may happen before it or after.
func pass(d time.Duration) {
	time.Sleep(d) // virtual time
	synctest.Wait()
}

// seeds is how many random courses a test takes: n, and two in the short form, since each
// is a crawl of its own.
func randomSeeds(n uint64) uint64 {
	if race.Short() {
		return 2
	}
	return n
}
