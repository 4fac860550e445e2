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

// pass lets time pass in a bubble and waits for what is due: an event at the very moment a
// sleep ends may happen before or after it.
func pass(d time.Duration) {
	time.Sleep(d) // virtual time
	synctest.Wait()
}

// seeds is how many random runs a test makes: n, and two with -short, since each is a whole
// crawl.
func randomSeeds(n uint64) uint64 {
	if race.Short() {
		return 2
	}
	return n
}
