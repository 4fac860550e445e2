//go:build !race

package politeness_test

const raceDetector = false
