package inflate

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	kgzip "github.com/klauspost/compress/gzip"
)

// compress compresses with the standard library.
func compress(t testing.TB, data []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decompress decompresses a body through buffers of the given size, sliding the window.
func decompress(r *Reader, src []byte, room int) ([]byte, error) {
	var all []byte
	buf := make([]byte, 0, Window+room)
	r.Reset(src)
	for {
		if len(buf) > Window {
			buf = append(buf[:0], buf[len(buf)-Window:]...)
		}
		start := len(buf)
		next, err := r.Next(buf[: start : start+room])
		all = append(all, next[start:]...)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return all, err
		}
		if len(next)-start != room {
			return all, fmt.Errorf("%d of %d bytes, and no word why", len(next)-start, room)
		}
		buf = append(make([]byte, 0, Window+2*room), next...)
	}
}

// texts returns inputs of every kind.
func texts() map[string][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 60_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	skewed := make([]byte, 60_000) // long codes: rare symbols next to frequent ones
	for i := range skewed {
		v := 0
		for v < 255 && rng.IntN(2) == 0 {
			v++
		}
		skewed[i] = byte(v)
	}
	var page strings.Builder
	for page.Len() < 60_000 {
		fmt.Fprintf(&page, "<p id=\"b%d\" class=\"para\">%x <em>text</em> &amp; %d.</p>\n", page.Len(), rng.Uint32(), rng.IntN(100))
	}
	// Long literal codes before long matches from far away: the most bits an
	// iteration of the fast loop can need.
	var woven []byte
	for len(woven) < 60_000 {
		for range 1 + rng.IntN(30) {
			woven = append(woven, byte(rng.Uint32()))
		}
		if len(woven) > 1000 {
			from := max(0, len(woven)-Window+2000) + rng.IntN(500)
			woven = append(woven, woven[from:min(len(woven), from+3+rng.IntN(250))]...)
		}
	}
	return map[string][]byte{
		"woven": woven, "empty": nil, "one": []byte("x"), "short": []byte("hello, hello, hello"), "zeros": make([]byte, 1<<18),
		"noise": noise, "skewed": skewed, "page": []byte(page.String()), "far": append(append(noise[:Window-1:Window-1], noise[:1000]...), noise[:5000]...),
		"pairs": bytes.Repeat([]byte("ab"), 10_000), "threes": bytes.Repeat([]byte("abc"), 10_000), "sevens": bytes.Repeat([]byte("abcdefg"), 10_000),
	}
}

func TestAgreesWithTheStandardLibrary(t *testing.T) {
	var r Reader
	for name, text := range texts() {
		for _, level := range []int{flate.NoCompression, flate.BestSpeed, flate.DefaultCompression, flate.HuffmanOnly} {
			compressed := compress(t, text, level)
			for _, room := range []int{1 << 21, 20_000, 300, 1} {
				if len(text)/room > 1000 {
					continue // too slow
				}
				got, err := decompress(&r, compressed, room)
				if err != nil || !bytes.Equal(got, text) {
					t.Errorf("%s, level %d, room %d: %d of %d bytes, %v", name, level, room, len(got), len(text), err)
				}
			}
		}
	}
}

func TestMembers(t *testing.T) {
	var r Reader
	one := compress(t, []byte("hello, "), 6)
	two := compress(t, []byte("world"), 6)
	both := append(append([]byte{}, one...), two...)
	// The second member must not see the first: std starts with an empty window.
	tests := []struct {
		name string
		src  []byte
		want string
		err  error
	}{
		{"two members", both, "hello, world", nil},
		{"garbage behind", append(both[:len(both):len(both)], "garbage"...), "hello, world", nil},
		{"one byte behind", append(both[:len(both):len(both)], 0x1f), "hello, world", nil},
		{"a broken member behind", append(both[:len(both):len(both)], 0x1f, 0x8b, 8), "hello, world", io.ErrUnexpectedEOF},
		{"too many", bytes.Repeat(compress(t, nil, 6), MaxMembers+1), "", ErrMembers},
		{"empty", nil, "", io.ErrUnexpectedEOF},
		{"not gzip", []byte("hello, hello, hello"), "", ErrCorrupt},
		{"cut in the trailer", one[:len(one)-1], "hello, ", io.ErrUnexpectedEOF},
		{"cut in the middle", compress(t, texts()["page"], 6)[:1000], "", io.ErrUnexpectedEOF},
		{"checksum", flip(one, len(one)-8), "hello, ", ErrChecksum},
		{"length", flip(one, len(one)-1), "hello, ", ErrChecksum},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := decompress(&r, tt.src, 1<<20)
			if !errors.Is(err, tt.err) || tt.name != "cut in the middle" && string(got) != tt.want {
				t.Errorf("%q, %v, want %q, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

// TestBrokenBodies changes bits of good bodies: errors and output match those of the
// standard library.
func TestBrokenBodies(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var r Reader
	all := texts()
	for _, name := range []string{"page", "skewed", "noise", "woven", "short"} {
		text := all[name][:min(len(all[name]), 10_000)]
		for _, level := range []int{0, 1, 6, flate.HuffmanOnly} {
			good := compress(t, text, level)
			for range 50 {
				bad := bytes.Clone(good)
				for range 1 + rng.IntN(3) {
					at := 10 + rng.IntN(len(bad)-10)
					if rng.IntN(2) == 0 {
						at = min(len(bad)-1, 10+rng.IntN(100)) // where the tables are
					}
					bad[at] ^= 1 << rng.IntN(8)
				}
				bad = mend(bad)
				want, wantErr := stdMembers(bad)
				if len(want) > fuzzBound {
					continue
				}
				got, err := decompress(&r, bad, 1<<18)
				if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
					t.Fatalf("%s, level %d: %d bytes and %v, want %d and %v", name, level, len(got), err, len(want), wantErr)
				}
			}
		}
	}
}

// TestHeaderChecksum tests the header checksum, which common writers omit.
func TestHeaderChecksum(t *testing.T) {
	plain := compress(t, []byte("hello"), 6)
	head := bytes.Clone(plain[:10])
	head[3] = 2
	sum := crc32.ChecksumIEEE(head)
	body := append(append(head, byte(sum), byte(sum>>8)), plain[10:]...)
	var r Reader
	if got, err := decompress(&r, body, 100); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := decompress(&r, flip(body, 10), 100); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a wrong checksum: %v", err)
	}
}

// TestHeaders reads headers with everything a gzip header may have.
func TestHeaders(t *testing.T) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name, w.Comment, w.Extra = "name", "comment", []byte("extra")
	if _, err := w.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var r Reader
	if got, err := decompress(&r, b.Bytes(), 100); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	for n := range b.Len() {
		if _, err := decompress(&r, b.Bytes()[:n], 100); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
}

func flip(p []byte, at int) []byte {
	p = bytes.Clone(p)
	p[at] ^= 1
	return p
}

// FuzzGzip compares the reader with compress/gzip: the same output for the same input,
// and an error where there is one. Trailing data is the one difference.
func FuzzGzip(f *testing.F) {
	for _, text := range texts() {
		for _, level := range []int{0, 1, 6, flate.HuffmanOnly} {
			f.Add(compress(f, text[:min(len(text), 5000)], level), uint16(300))
		}
	}
	f.Add(append(compress(f, []byte("hello, "), 6), compress(f, []byte("world"), 6)...), uint16(5))
	var r Reader
	f.Fuzz(func(t *testing.T, src []byte, room uint16) {
		// Most random changes fail at the checksum: repair it, so that what follows is
		// compared too.
		src = mend(src)
		want, wantErr := std(src)
		if len(want) > fuzzBound {
			return // larger is only slower
		}
		got, err := decompress(&r, src, int(room)+64)
		if wantErr == nil {
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%d bytes, %v, want %d", len(got), err, len(want))
			}
			return
		}
		if err == nil {
			// Fine only if std failed on data after a complete member.
			if !bytes.HasPrefix(want, got) && !bytes.Equal(want, got) {
				t.Fatalf("no error after %d bytes; std has %d and %v", len(got), len(want), wantErr)
			}
			one, oneErr := stdMembers(src)
			if oneErr != nil || !bytes.Equal(one, got) {
				t.Fatalf("%d bytes without an error, std has %d and %v", len(got), len(one), oneErr)
			}
		}
	})
}

// fuzzBound is the largest output that fuzzing compares.
const fuzzBound = 128 << 10

// std reads with the standard library, up to a bound.
func std(src []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(src))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, fuzzBound+1))
}

// stdMembers reads member by member and stops where no further one starts.
func stdMembers(src []byte) (all []byte, err error) {
	in := bytes.NewReader(src)
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	for {
		z.Multistream(false)
		part, err := io.ReadAll(z)
		all = append(all, part...)
		if err != nil {
			return all, err
		}
		rest := src[len(src)-in.Len():]
		if len(rest) < 2 || rest[0] != 0x1f || rest[1] != 0x8b {
			return all, nil
		}
		if err := z.Reset(in); err != nil {
			return all, err
		}
	}
}

// mend sets the trailer of a single member to the right values, if the deflate part is
// complete.
func mend(src []byte) []byte {
	if len(src) < 18 || src[0] != 0x1f || src[1] != 0x8b || src[3] != 0 {
		return src
	}
	in := bytes.NewReader(src[10:])
	out, err := io.ReadAll(io.LimitReader(flate.NewReader(in), fuzzBound+1))
	if err != nil || len(out) > fuzzBound {
		return src
	}
	end := len(src) - in.Len()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(out)
	w.Close()
	return append(append(src[:end:end], b.Bytes()[b.Len()-8:]...), src[end:]...)
}

func BenchmarkGzip(b *testing.B) {
	text := texts()["page"][:40_000]
	compressed := compress(b, text, 6)
	out := make([]byte, 0, len(text)+1)
	b.Run("inflate", func(b *testing.B) {
		var r Reader
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			r.Reset(compressed)
			if got, err := r.Next(out); !errors.Is(err, io.EOF) || len(got) != len(text) {
				b.Fatal(err)
			}
		}
	})
	b.Run("klauspost", func(b *testing.B) {
		var z kgzip.Reader
		src := bytes.NewReader(nil)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			src.Reset(compressed)
			if err := z.Reset(src); err != nil {
				b.Fatal(err)
			}
			if n, err := io.ReadFull(&z, out[:len(text)]); err != nil || n != len(text) {
				b.Fatal(err)
			}
		}
	})
	b.Run("standard library", func(b *testing.B) {
		var z gzip.Reader
		src := bytes.NewReader(nil)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			src.Reset(compressed)
			if err := z.Reset(src); err != nil {
				b.Fatal(err)
			}
			if n, err := io.ReadFull(&z, out[:len(text)]); err != nil || n != len(text) {
				b.Fatal(err)
			}
		}
	})
}
