package sqlite

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the CPU time of the current thread, 0 if it cannot be read.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
