package race

import (
	"testing"
	"time"
)

// Short reports whether a test should use its short form: with -short, or under the
// race detector, where the full form would take several times as long. The full form
// then runs without the detector.
func Short() bool { return Enabled || testing.Short() }

// Extra is what the race detector adds to a bound on time: d, and nothing without it. A test
// that uses only this does not run again.
func Extra(d time.Duration) time.Duration {
	if Enabled {
		return d
	}
	return 0
}
