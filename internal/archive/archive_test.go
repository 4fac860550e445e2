package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"headway/fetch/guard"
	"headway/output"
	"headway/output/s3/s3test"
	"headway/output/warc"
	"headway/visit"
	"headway/weburl"
)

var now = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// places opens archives of two fleets in the same place, in a folder and in S3.
func places(t *testing.T, test func(t *testing.T, open func(fleet byte) *Archive)) {
	t.Run("folder", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a", "b")
		test(t, func(fleet byte) *Archive { return open(t, Config{To: dir, Fleet: weburl.Key{fleet}}) })
	})
	t.Run("S3", func(t *testing.T) {
		s := s3test.Start(t)
		s.Setenv(t)
		test(t, func(fleet byte) *Archive {
			return open(t, Config{To: "s3://" + s3test.Bucket + "/raw/pages", Fleet: weburl.Key{fleet}, Guard: guard.Config{AllowPrivate: []guard.Range{s.Range(t)}}})
		})
	})
}

func open(t *testing.T, cfg Config) *Archive {
	t.Helper()
	cfg.About, cfg.Write = warc.Config{Software: "headway/1"}, true
	a, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// put stores a segment with one response, and returns where it is.
func put(t *testing.T, a *Archive, key, header string, body []byte) visit.Archived {
	t.Helper()
	u, err := weburl.Parse("http://a.example/")
	if err != nil {
		t.Fatal(err)
	}
	segment, err := a.Begin(key, now)
	if err != nil {
		t.Fatal(err)
	}
	records, length, err := a.Records(t.Context(), &output.Exchange{
		Purpose: output.ForPage, Item: visit.Item{URL: u}, Timing: visit.Timing{Sent: now}, Status: 200,
		Request: []byte("GET / HTTP/1.1\r\n\r\n"), Response: []byte("HTTP/1.1 200 OK\r\n" + header + "\r\n"), Body: body,
	})
	if err != nil {
		t.Fatal(err)
	}
	at := visit.Archived{Segment: key, Offset: int64(len(segment)), Length: length}
	if err := a.Put(t.Context(), key, append(segment, records...)); err != nil {
		t.Fatal(err)
	}
	return at
}

// TestBody reads back what was stored: without content codings, and as it was sent if they are
// wrong.
func TestBody(t *testing.T) {
	places(t, func(t *testing.T, open func(byte) *Archive) {
		a := open(1)
		text := bytes.Repeat([]byte("text "), 1000)
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for i, tt := range []struct {
			name, header string
			sent, want   []byte
		}{
			{"plain", "Content-Type: text/html\r\n", text, text},
			{"gzip", "Content-Encoding: gzip\r\n", zipped.Bytes(), text},
			{"not gzip", "Content-Encoding: gzip\r\n", text, text},
			{"unknown coding", "Content-Encoding: secret\r\n", text, text},
			{"empty", "", nil, nil},
		} {
			at := put(t, a, fmt.Sprintf("job-%d/1.warc.gz", i), tt.header, tt.sent)
			if got, err := a.Body(t.Context(), at); err != nil || !bytes.Equal(got, tt.want) {
				t.Errorf("%s: %d bytes, %v", tt.name, len(got), err)
			}
		}
		for name, at := range map[string]visit.Archived{
			"another fleet": {Segment: "job-0/1.warc.gz", Length: 10}, "no such job": {Segment: "job-9/1.warc.gz", Length: 10},
		} {
			from := a
			if name == "another fleet" {
				from = open(2)
			}
			if _, err := from.Body(t.Context(), at); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := a.Body(t.Context(), visit.Archived{Segment: "job-0/1.warc.gz", Offset: 5, Length: 10}); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a wrong offset: %v", err)
		}
	})
}

// TestSweep deletes what is old and not referenced, in its own fleet only.
func TestSweep(t *testing.T) {
	places(t, func(t *testing.T, open func(byte) *Archive) {
		a, other := open(1), open(2)
		referenced := put(t, a, "job-1/kept.warc.gz", "", []byte("kept"))
		lost := put(t, a, "job-1/lost.warc.gz", "", []byte("lost"))
		alone := put(t, a, "job-2/alone.warc.gz", "", []byte("alone"))
		foreign := put(t, other, "job-1/lost.warc.gz", "", []byte("foreign"))
		sizes := []int{}
		known := func(_ context.Context, keys []string) (map[string]bool, error) {
			sizes = append(sizes, len(keys))
			return map[string]bool{referenced.Segment: true}, nil
		}
		sweep := func(before time.Time, want int) {
			t.Helper()
			if n, err := a.Sweep(t.Context(), before, 2, known); err != nil || n != want {
				t.Errorf("%d deleted, %v; want %d", n, err, want)
			}
		}
		sweep(time.Now().Add(-time.Minute), 0) // all are younger
		if len(sizes) > 0 {
			t.Errorf("asked for %v keys of young segments", sizes)
		}
		if _, err := a.Sweep(t.Context(), time.Now().Add(time.Minute), 2, func(context.Context, []string) (map[string]bool, error) { return nil, errors.New("no store") }); err == nil {
			t.Error("no error without the store")
		}
		sweep(time.Now().Add(time.Minute), 2)
		sweep(time.Now().Add(time.Minute), 0)
		for at, gone := range map[visit.Archived]bool{referenced: false, lost: true, alone: true} {
			if _, err := a.Body(t.Context(), at); errors.Is(err, fs.ErrNotExist) != gone {
				t.Errorf("%s: %v", at.Segment, err)
			}
		}
		if _, err := other.Body(t.Context(), foreign); err != nil {
			t.Errorf("that of another fleet: %v", err)
		}
		put(t, a, "job-2/again.warc.gz", "", []byte("again"))
	})
}

// TestFolder sweeps what a killed process left half written, and the folders of dropped jobs.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	a := open(t, Config{To: dir})
	put(t, a, "job-1/1.warc.gz", "", []byte("text"))
	part := filepath.Join(dir, a.fleet, "job-1", ".2.warc.gz-1.part")
	if err := os.WriteFile(part, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := func(context.Context, []string) (map[string]bool, error) { return nil, nil }
	if n, err := a.Sweep(t.Context(), time.Now().Add(time.Minute), 10, none); err != nil || n != 2 {
		t.Errorf("%d deleted, %v", n, err)
	}
	if _, err := os.Stat(filepath.Dir(part)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the job: %v", err)
	}
}
