package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"headway/internal/atomicfile"
)

// TestFolder replaces a folder as a whole, whatever a killed process left behind.
func TestFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages")
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	has := func(want string) {
		t.Helper()
		files, err := filepath.Glob(path + "*/*")
		check(err)
		if len(files) != 1 || files[0] != filepath.Join(path, want) {
			t.Errorf("%v, want %s", files, want)
		}
	}
	for _, name := range []string{"first", "second"} {
		f := atomicfile.NewFolder(path)
		check(f.Begin())
		write(filepath.Join(f.Part(), name))
		check(f.Publish())
		check(f.Drop())
		has(name)
	}
	// Killed between the two renames of a replacement.
	f := atomicfile.NewFolder(path)
	check(f.Begin())
	write(filepath.Join(f.Part(), "lost"))
	check(os.Rename(path, path+".old"))
	f = atomicfile.NewFolder(path)
	check(f.Begin())
	write(filepath.Join(f.Part(), "third"))
	check(f.Publish())
	has("third")

	check(f.Begin())
	check(f.Drop())
	has("third")
	check(f.Withdraw())
	check(f.Withdraw())
	if there, err := atomicfile.Exists(path); there || err != nil {
		t.Errorf("withdrawn, and there: %v, %v", there, err)
	}
}
