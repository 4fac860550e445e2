//go:build !race

// Package race tells a test whether the race detector is on. There everything takes
// several times as long and as much memory, so that a test may do less: it runs
// again, in full, without the detector (internal/racefree).
package race

// Enabled tells whether the race detector is on.
const Enabled = false
