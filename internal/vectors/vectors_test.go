package vectors

import (
	"strings"
	"testing"
)

// TestChecksums checks every file in SHA256SUMS: none missing, changed or unlisted.
func TestChecksums(t *testing.T) {
	sums, err := files.ReadFile("testdata/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(sums)) {
		_, name, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			t.Fatalf("SHA256SUMS: odd line %q", line)
		}
		listed[name] = true
		if _, err := read(name); err != nil {
			t.Error(err)
		}
	}
	entries, err := files.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "SHA256SUMS" && !listed[e.Name()] {
			t.Errorf("%s has no checksum in SHA256SUMS", e.Name())
		}
	}
	if len(listed) != 6 {
		t.Errorf("SHA256SUMS lists %d files, want 6", len(listed))
	}
}
