package main

import (
	"math"
	"testing"
)

// TestCompare: figures computed with evaluate.py of the benchmark.
func TestCompare(t *testing.T) {
	tests := []struct {
		want, got         string
		precision, recall float64
	}{
		{"a b c d e", "a b c d e", 1, 1},
		{"a b c d e", "x a, b c_d d e", 0, 0},
		{"a b c d e", "a-b c d", 1, 0.5},
		{"a b c d e", "a b c d e f g", 0.5, 1},
		{"a b", "a b", 1, 1},
		{"a b", "", 0, 0},
	}
	for _, test := range tests {
		s := compare(test.want, test.got)
		if math.Abs(s.precision()-test.precision) > 1e-9 || math.Abs(s.recall()-test.recall) > 1e-9 {
			t.Errorf("%q and %q: precision %v, recall %v", test.want, test.got, s.precision(), s.recall())
		}
	}
}

// TestSplit: the halves never change.
func TestSplit(t *testing.T) {
	for id, want := range map[string]bool{"a": true, "b": true, "c": false, "d": false, "page": false, "042bb7b5fedab6ea": false} {
		if held(id) != want {
			t.Errorf("%s moved", id)
		}
	}
}
