//go:build unix

package inflate

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	kgzip "github.com/klauspost/compress/gzip"
)

// BenchmarkGzipPages decompresses the HTML files in the folder HEADWAY_BENCH_PAGES, compressed at
// level 6, with each reader in turn, so that all of them have the same share of a busy machine.
// Results are megabytes a second of CPU time, and the ratios to the other readers.
func BenchmarkGzipPages(b *testing.B) {
	dir := os.Getenv("HEADWAY_BENCH_PAGES")
	if dir == "" {
		b.Skip("HEADWAY_BENCH_PAGES names no folder with saved pages")
	}
	type page struct{ compressed, text []byte }
	var pages []page
	total := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".html") {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && len(text) > 0 {
			pages = append(pages, page{compress(b, text, gzip.DefaultCompression), text})
			total += len(text)
		}
		return err
	})
	if err != nil || total == 0 {
		b.Fatalf("%d pages in %s: %v", len(pages), dir, err)
	}
	var own Reader
	var klauspost kgzip.Reader
	var standard gzip.Reader
	src := bytes.NewReader(nil)
	reset := func(z interface{ Reset(r io.Reader) error }, p page) io.Reader {
		src.Reset(p.compressed)
		if err := z.Reset(src); err != nil {
			b.Fatal(err)
		}
		return z.(io.Reader)
	}
	readers := []struct {
		name string
		read func(p page, out []byte) ([]byte, error)
		took time.Duration
	}{
		{name: "inflate", read: func(p page, out []byte) ([]byte, error) {
			own.Reset(p.compressed)
			got, err := own.Next(out[:0])
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return got, err
		}},
		{name: "klauspost", read: func(p page, out []byte) ([]byte, error) {
			_, err := io.ReadFull(reset(&klauspost, p), out[:len(p.text)])
			return out[:len(p.text)], err
		}},
		{name: "standard", read: func(p page, out []byte) ([]byte, error) {
			_, err := io.ReadFull(reset(&standard, p), out[:len(p.text)])
			return out[:len(p.text)], err
		}},
	}
	largest := 0
	for _, p := range pages {
		largest = max(largest, len(p.text))
	}
	out := make([]byte, 0, largest+1)
	passes := 0
	for b.Loop() {
		passes++
		for i := range readers {
			r := &readers[i]
			began := cpuTime(b)
			for _, p := range pages {
				if got, err := r.read(p, out); err != nil || !bytes.Equal(got, p.text) {
					b.Fatalf("%s: %d of %d bytes: %v", r.name, len(got), len(p.text), err)
				}
			}
			r.took += cpuTime(b) - began
		}
	}
	for i := range readers {
		r := &readers[i]
		b.ReportMetric(float64(total)*float64(passes)/1e6/r.took.Seconds(), r.name+"-MB/cpu-s")
		if i > 0 {
			b.ReportMetric(r.took.Seconds()/readers[0].took.Seconds(), "x-"+r.name)
		}
	}
	b.ReportMetric(0, "ns/op") // says nothing
}

// cpuTime is the CPU time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
