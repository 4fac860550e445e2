package warc

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"headway/internal/atomicfile"
	"headway/output"
	"headway/weburl"
)

// archiveOf writes exchanges to files of about one exchange each, and lists them.
func archiveOf(t testing.TB, size int64, list ...*output.Exchange) []string {
	t.Helper()
	dir := t.TempDir()
	w := open(t, Config{Dir: dir, MaxSize: size}, Create)
	for _, x := range list {
		check(t, w.Exchange(t.Context(), x))
	}
	check(t, w.Finish(t.Context(), nil))
	paths, err := filepath.Glob(filepath.Join(dir, "*.warc.gz"))
	check(t, err)
	return paths
}

// readAll reads an archive, with copies of the bytes.
func readAll(t testing.TB, r *Reader) (list []Archived) {
	t.Helper()
	defer r.Close()
	for {
		x, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		check(t, err)
		x.Body = bytes.Clone(x.Body)
		list = append(list, *x)
	}
}

// TestReader reads back what was written, from one file and from many: bodies that were
// archived before, responses without a body, incomplete ones.
func TestReader(t *testing.T) {
	first := exchange(t, "https://example.com/a", "the same body")
	same := exchange(t, "https://example.com/b", "the same body")
	same.Item.Attempt = 2
	unchanged := exchange(t, "https://example.com/c", "")
	unchanged.Status, unchanged.Response = 304, []byte("HTTP/1.1 304 Not Modified\r\nEtag: \"x\"\r\n\r\n")
	cut := exchange(t, "https://example.com/d", "the begin")
	cut.Cut = output.CutDisconnect
	robots := exchange(t, "https://example.com/robots.txt", "User-agent: *\nAllow: /\n")
	robots.Purpose, robots.Item.Found, robots.Item.Depth, robots.Item.Via = output.ForRobots, "", 0, weburl.URL{}
	large := exchange(t, "https://example.com/e", strings.Repeat("0123456789abcdef", 20_000))
	want := []*output.Exchange{robots, first, same, unchanged, cut, large}
	for name, size := range map[string]int64{"one file": 0, "many files": 1} {
		t.Run(name, func(t *testing.T) {
			paths := archiveOf(t, size, want...)
			if many := size > 0; many != (len(paths) == len(want)) {
				t.Fatalf("%d files", len(paths))
			}
			r := NewReader(paths...)
			r.Damaged = func(path string, size int64, err error) { t.Errorf("%s at %d: %v", path, size, err) }
			got := readAll(t, r)
			if len(got) != len(want) {
				t.Fatalf("%d exchanges", len(got))
			}
			for i := range got {
				x := *want[i]
				x.Timing.Sent = x.Timing.Sent.Truncate(1000) // microseconds
				opts := cmp.Options{cmpopts.EquateEmpty(), cmpopts.EquateComparable(weburl.URL{}, x.Remote)}
				if diff := cmp.Diff(Archived{Exchange: x}, got[i], opts); diff != "" {
					t.Errorf("exchange %d: %s", i, diff)
				}
			}
			var size int64
			for _, path := range paths {
				info, err := os.Stat(path)
				check(t, err)
				size += info.Size()
			}
			if r.Bytes() != size {
				t.Errorf("%d of %d bytes read", r.Bytes(), size)
			}
		})
	}
	t.Run("without the first body", func(t *testing.T) {
		paths := archiveOf(t, 1, first, same)
		if got := readAll(t, NewReader(paths[1])); len(got) != 1 || !got[0].Lost || len(got[0].Body) > 0 {
			t.Errorf("read %+v", got)
		}
	})
	t.Run("the first body damaged", func(t *testing.T) {
		paths := archiveOf(t, 1, first, same)
		r := NewReader(paths...)
		defer r.Close()
		_, err := r.Next()
		check(t, err)
		check(t, os.Truncate(paths[0], 600))
		if x, err := r.Next(); err != nil || !x.Lost {
			t.Errorf("read %+v, %v", x, err)
		}
	})
}

// TestReaderBroken refuses a file that is damaged in the middle, and one that another program
// compressed as a whole: what follows would be missing.
func TestReaderBroken(t *testing.T) {
	path := archiveOf(t, 0, exchange(t, "https://example.com/a", "one"), exchange(t, "https://example.com/b", strings.Repeat("two ", 2000)), exchange(t, "https://example.com/c", "three"))[0]
	data, err := os.ReadFile(path)
	check(t, err)
	damaged := bytes.Clone(data)
	copy(damaged[len(data)/2:], "garbage")
	z, err := gzip.NewReader(bytes.NewReader(data))
	check(t, err)
	var whole bytes.Buffer
	w := gzip.NewWriter(&whole)
	_, err = io.Copy(w, z)
	check(t, errors.Join(err, w.Close()))
	for name, data := range map[string][]byte{"damaged": damaged, "one member": whole.Bytes()} {
		check(t, os.WriteFile(path, data, 0o600))
		r := NewReader(path)
		r.Damaged = func(string, int64, error) { t.Errorf("%s: read up to here as if the rest were not there", name) }
		for err = nil; err == nil; {
			_, err = r.Next()
		}
		if errors.Is(err, io.EOF) {
			t.Errorf("%s: no error", name)
		} else {
			t.Log(err)
		}
	}
}

// TestReaderDamaged cuts a file at many places: the complete exchanges before it are read,
// and the next file.
func TestReaderDamaged(t *testing.T) {
	one, two := exchange(t, "https://example.com/a", "one"), exchange(t, "https://example.com/b", "two")
	first, next := archiveOf(t, 0, one, two)[0], archiveOf(t, 0, exchange(t, "https://example.com/c", "three"))[0]
	data, err := os.ReadFile(first)
	check(t, err)
	r := NewReader(first)
	var ends []int64
	for {
		if _, err := r.Next(); err != nil {
			break
		}
		ends = append(ends, r.end)
	}
	if len(ends) != 2 || ends[1] != int64(len(data)) {
		t.Fatalf("exchanges end at %v of %d", ends, len(data))
	}
	path := filepath.Join(t.TempDir(), "headway.warc.gz"+atomicfile.PartSuffix)
	sizes := []int{0, 1, int(ends[0]) - 1, int(ends[0]), int(ends[0]) + 1, len(data) - 1}
	for size := 2; size < len(data); size += 17 {
		sizes = append(sizes, size)
	}
	for _, size := range sizes {
		check(t, os.WriteFile(path, data[:size], 0o644))
		whole, damaged := 0, 0
		for _, end := range ends {
			if int64(size) >= end {
				whole++
			}
		}
		r := NewReader(path, next)
		r.Damaged = func(_ string, size int64, _ error) {
			damaged++
			if whole > 0 && size != ends[whole-1] {
				t.Errorf("%d bytes are said to be whole", size)
			}
		}
		if got := readAll(t, r); len(got) != whole+1 {
			t.Fatalf("cut to %d bytes: %d exchanges, want %d", size, len(got), whole+1)
		}
		if isEnd := size == 0 || size == int(ends[0]); damaged > 1 || isEnd && damaged > 0 {
			t.Errorf("cut to %d bytes: damaged %d times", size, damaged)
		}
	}
}

// TestReaderRejects names files that are something else, or not there.
func TestReaderRejects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	check(t, os.WriteFile(path, []byte("notes of a meeting"), 0o644))
	for path, want := range map[string]string{path: "is not a WARC file", path + "x": "no such file"} {
		if _, err := NewReader(path).Next(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestPlaces forgets the oldest payload.
func TestPlaces(t *testing.T) {
	p := newPlaces()
	for i := range maxPlaces + 2 {
		p.put(digestOf([]byte{byte(i), byte(i >> 8), byte(i >> 16)}), place{offset: int64(i)})
	}
	if _, ok := p.at[digestOf([]byte{1, 0, 0})]; ok || len(p.at) != maxPlaces {
		t.Errorf("%d places, the oldest: %v", len(p.at), ok)
	}
	if at := p.at[digestOf([]byte{2, 0, 0})]; at.offset != 2 {
		t.Errorf("at %+v", at)
	}
}

// FuzzReader: no file makes a reader panic or run forever.
func FuzzReader(f *testing.F) {
	x := exchange(f, "https://example.com/a", "body")
	for _, path := range archiveOf(f, 0, x, x) {
		data, err := os.ReadFile(path)
		check(f, err)
		f.Add(data)
	}
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.warc.gz")
		check(t, os.WriteFile(path, data, 0o644))
		r := NewReader(path)
		defer r.Close()
		for range len(data) + 1 { // an exchange has at least a byte
			if x, err := r.Next(); err != nil {
				return
			} else if len(x.Body) > maxPayload {
				t.Fatalf("a body of %d bytes", len(x.Body))
			}
		}
		t.Error("more exchanges than bytes")
	})
}
