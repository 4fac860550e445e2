package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"headway/store"
)

func TestHold(t *testing.T) {
	for name, tc := range map[string]struct {
		content string // of crawl.db; "-" for none
		want    error
	}{
		"no crawl":              {"-", store.ErrNotFound},
		"stopped at once":       {"", nil},
		"somebody else's text":  {"hello", ErrStrange},
		"somebody else's table": {fileMark + string(make([]byte, 200)), ErrStrange},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if tc.content != "-" {
				if err := os.WriteFile(filepath.Join(dir, crawlFile), []byte(tc.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			held, err := Hold(dir)
			if !errors.Is(err, tc.want) {
				t.Fatalf("got %v, want %v", err, tc.want)
			}
			if err == nil {
				if err := held.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestHoldKeepsOut: a held crawl cannot be opened, and an open crawl cannot be held.
func TestHoldKeepsOut(t *testing.T) {
	dir := t.TempDir()
	running := func(want bool) {
		t.Helper()
		if got, err := Running(dir); err != nil || got != want {
			t.Errorf("running: %v, %v; want %v", got, err, want)
		}
	}
	running(false)
	s, err := Open(t.Context(), Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	running(true)
	if _, err := Hold(dir); !errors.Is(err, store.ErrInUse) {
		t.Errorf("held while it is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	running(false)
	held, err := Hold(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Dir: dir}); !errors.Is(err, store.ErrInUse) {
		t.Errorf("opened while it is held: %v", err)
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	running(false)
}
