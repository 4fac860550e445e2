//go:build !unix

package fetch

import (
	"testing"
	"time"
)

// cpuTime is not available on this platform.
func cpuTime(tb testing.TB) time.Duration {
	tb.Skip("CPU time is not available on this platform")
	return 0
}
