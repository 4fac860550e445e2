package ask_test

import "runtime"

// One processor: the race detector of Go 1.26 dies when two of them run timers of
// one synctest bubble at the same moment (a segmentation fault below selectgo, in
// about one of four runs of internal/simweb on two cores).
// Most of these tests only wait for each other anyway.
func init() { runtime.GOMAXPROCS(1) }
