//go:build !race

// Package race tells a test whether the race detector is on. Everything then takes
// several times as long and as much memory, so a test may do less: it runs again, in
// full, without the detector (internal/racefree).
package race

// Enabled reports whether the race detector is on.
const Enabled = false
