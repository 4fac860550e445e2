//go:build race

package report_test

// raced is whether memory tells nothing: the race detector takes several times as
// much.
const raced = true
