package race

import "testing"

// Short reports whether a test should use its short form: with -short, or under the
// race detector, where the full form would take several times as long. The full form
// then runs without the detector.
func Short() bool { return Enabled || testing.Short() }
