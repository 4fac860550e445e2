package jsonl

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"headway/output/outputtest"
)

// TestStream writes the same lines as a file gets while the crawl runs.
func TestStream(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pages.jsonl")
	file, err := Create(Config{Path: path, Links: true})
	if err != nil {
		t.Fatal(err)
	}
	var pipe bytes.Buffer
	stream := NewStream(&pipe, true)
	for n := range 30 {
		v := outputtest.Visit(n)
		if err := errors.Join(file.Write(t.Context(), v), stream.Write(t.Context(), v)); err != nil {
			t.Fatal(err)
		}
	}
	if pipe.Len() > 0 {
		t.Error("written before it was flushed")
	}
	if err := errors.Join(file.Close(), stream.Close(), stream.Close()); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(path + PartSuffix)
	if err != nil || !bytes.Equal(pipe.Bytes(), want) {
		t.Errorf("%v, got %s\nwant %s", err, &pipe, want)
	}
	if stream.Write(t.Context(), outputtest.Visit(0)) == nil || stream.Flush() == nil {
		t.Error("a closed stream takes more")
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// TestStreamBroken: after an error every call returns it.
func TestStreamBroken(t *testing.T) {
	s := NewStream(fullDisk{}, false)
	if err := s.Write(t.Context(), outputtest.Visit(0)); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{"flush": s.Flush(), "write": s.Write(t.Context(), outputtest.Visit(1))} {
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
