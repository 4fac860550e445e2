//go:build race

package fetch

// raceDetector multiplies memory, so that figures about it mean nothing.
const raceDetector = true
