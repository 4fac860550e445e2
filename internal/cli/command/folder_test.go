package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestSizeOf adds up the files of a folder, and reports a path that is not there.
func TestSizeOf(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"a": 3, "below/b": 4} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]int64{"": 7, "a": 3, "below": 4} {
		if got, err := SizeOf(filepath.Join(dir, path)); got != want || err != nil {
			t.Errorf("%q: %d bytes, %v", path, got, err)
		}
	}
	if got, err := SizeOf(filepath.Join(dir, "c")); got != 0 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %d bytes, %v", got, err)
	}
}
