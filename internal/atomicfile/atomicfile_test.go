package atomicfile_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"headway/internal/atomicfile"
)

// TestWrite leaves one complete file after concurrent and failing writes.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "list.txt")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			text := strings.Repeat(fmt.Sprint(i), 500_000) // more than the buffer
			if err := atomicfile.Write(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	errFull := errors.New("no room")
	err := atomicfile.Write(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return errFull
	})
	if !errors.Is(err, errFull) {
		t.Errorf("a function that fails: %v", err)
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) != 500_000 || strings.Trim(string(b), string(b[0])) != "" {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%d files are left, %v", len(files), err)
	}
	if err := atomicfile.Write(filepath.Join(dir, "no", "such", "folder"), func(io.Writer) error { return nil }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
