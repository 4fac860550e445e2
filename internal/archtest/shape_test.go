package archtest

import (
	"os"
	"testing"
	"testing/fstest"
)

// The packages of the engine, and the maximum size of a type there.
var rooms = []string{
	".", "gauge", "survey", "visitor", "internal/borrow", "internal/committer", "internal/control", "internal/discovery", "internal/exchange", "internal/fetchpool", "internal/jobrun", "internal/loop", "internal/ownership",
	"internal/engine", "internal/pace", "internal/redirects", "internal/result",
}

const (
	maxFields  = 25
	maxMethods = 40
)

// TestShapes: the types of the engine stay small enough to read.
func TestShapes(t *testing.T) {
	for _, dir := range rooms {
		shapes, err := Shapes(os.DirFS(moduleRoot), dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(shapes) == 0 {
			t.Errorf("%s has no types", dir)
		}
		for name, s := range shapes {
			if s.Fields > maxFields || s.Methods > maxMethods {
				t.Errorf("%s of %s has %d fields and %d methods, at most %d and %d", name, dir, s.Fields, s.Methods, maxFields, maxMethods)
			}
		}
	}
}

// TestShapesCounts checks the counting.
func TestShapesCounts(t *testing.T) {
	tree := fstest.MapFS{
		"a/a.go":      {Data: []byte("package a\ntype T[X any] struct {\n\ta, b int\n\tc string\n\tU\n}\ntype U int\nfunc (t *T[X]) m() {}\nfunc (T[X]) n() {}\nfunc f() {}")},
		"a/b.go":      {Data: []byte("package a\nfunc (U) m() {}")},
		"a/a_test.go": {Data: []byte("package a\nfunc (U) n() {}")},
	}
	shapes, err := Shapes(tree, "a")
	if err != nil {
		t.Fatal(err)
	}
	if shapes["T"] != (Shape{4, 2}) || shapes["U"] != (Shape{0, 1}) {
		t.Errorf("%+v", shapes)
	}
}
