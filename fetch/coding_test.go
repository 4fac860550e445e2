package fetch

import (
	"bytes"
	stdgzip "compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

func TestReadCodings(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  []coding
		bad   bool
	}{
		{"none", nil, nil, false},
		{"empty", []string{""}, nil, false},
		{"gzip", []string{"gzip"}, []coding{codingGzip}, false},
		{"case and blanks", []string{" GZip\t, Br "}, []coding{codingGzip, codingBrotli}, false},
		{"empty members", []string{",,zstd,,"}, []coding{codingZstd}, false},
		{"lines", []string{"br", "identity", "zstd"}, []coding{codingBrotli, codingZstd}, false},
		{"three", []string{"br", "zstd", "gzip"}, nil, true},
		{"unknown", []string{"gzip, compress"}, nil, true},
		{"parameters", []string{"gzip;q=1"}, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readCodings(tt.lines)
			if (err != nil) != tt.bad || !tt.bad && !bytes.Equal(toBytes(got), toBytes(tt.want)) {
				t.Errorf("%v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

func toBytes(cs []coding) (b []byte) {
	for _, c := range cs {
		b = append(b, byte(c))
	}
	return b
}

// TestDecodersAreReusable mixes good and bad bodies of all kinds: a failure does not
// affect the next body.
func TestDecodersAreReusable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"gzip", "br", "zstd"}
	d, bufs := newDecoders(1), &buffers{}
	for i := range 300 {
		kind := rng.IntN(3)
		page := []byte(strings.Repeat("page ", rng.IntN(10_000)))
		compressed := compress(t, names[kind], page)
		bad := i%3 == 0 && len(compressed) > 4
		if bad {
			compressed = compressed[:len(compressed)/2]
		}
		dec, err := d.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out, err := dec.decompress(coding(kind), compressed, &decodeJob{buffers: bufs, limit: 10 << 20})
		if (err != nil) != bad || err == nil && !bytes.Equal(out.data, page) {
			t.Errorf("%d: %s: %v", i, names[kind], err)
		}
		if out != nil {
			bufs.put(out)
		}
		d.give(dec)
	}
}

func TestDecoderPanicIsContained(t *testing.T) {
	d := &decoder{}
	_, err := d.decompress(coding(99), []byte("x"), &decodeJob{buffers: &buffers{}, limit: -2}) // a negative bound breaks the slicing
	if e, ok := errors.AsType[*Error](err); !ok || e.Reason != BadEncoding || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("error %v", err)
	}
}

// FuzzDecode checks that decoders stay within the limit for any input, and agree with
// reference decoders on complete bodies.
func FuzzDecode(f *testing.F) {
	page := []byte(strings.Repeat("<p>hello, crawler</p>", 50))
	for i, name := range []string{"gzip", "br", "zstd"} {
		f.Add(uint8(i), compress(f, name, page))
		f.Add(uint8(i), compress(f, name, make([]byte, 1<<20)))
		f.Add(uint8(i), append(compress(f, name, page), compress(f, name, page)...))
		f.Add(uint8(i), compress(f, name, page)[:20])
	}
	const limit = 64 << 10
	d, bufs := newDecoders(1), &buffers{}
	f.Fuzz(func(t *testing.T, kind uint8, compressed []byte) {
		c := coding(kind % 3)
		dec, err := d.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer d.give(dec)
		u := &decodeJob{buffers: bufs, limit: limit}
		out, err := dec.decompress(c, compressed, u)
		if out == nil {
			t.Fatalf("a decoder panicked: %v", err)
		}
		defer bufs.put(out)
		if len(out.data) > limit {
			t.Errorf("%d bytes, beyond the bound", len(out.data))
		}
		plain, plainErr := plainDecode(c, compressed, limit)
		if err == nil && plainErr == nil && !bytes.Equal(plain, out.data) {
			t.Errorf("%d bytes, plain %d", len(out.data), len(plain))
		}
		if c != codingGzip && (err == nil) != (plainErr == nil) {
			t.Errorf("error %v, plain %v", err, plainErr)
		}
	})
}

// plainDecode decodes with a new decoder, gzip with the standard library's, which is
// stricter about trailing data.
func plainDecode(c coding, compressed []byte, limit int64) ([]byte, error) {
	var r io.Reader
	src := bytes.NewReader(compressed)
	switch c {
	case codingGzip:
		z, err := stdgzip.NewReader(src)
		if err != nil {
			return nil, err
		}
		r = z
	case codingBrotli:
		r = brotli.NewReader(src)
	default:
		z, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		r = z
	}
	out, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(out)) > limit {
		err = errBodyTooLarge
	}
	return out, err
}

// FuzzExchange lets a server send anything: no panic, an error of one line at most,
// all memory released, and one request sent.
func FuzzExchange(f *testing.F) {
	f.Add([]byte(response("", []byte("hello"))))
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
	f.Add([]byte(response("Content-Encoding: gzip\r\n", compress(f, "gzip", []byte("hello")))))
	f.Add([]byte(response("Content-Encoding: br, zstd\r\n", compress(f, "zstd", compress(f, "br", []byte("hello"))))))
	f.Add([]byte("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.0 429 No\r\nRetry-After: 5\r\nContent-Length: 3\r\n\r\nno"))
	f.Add([]byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		c, p := newPiped(t, Config{MaxBody: 1 << 20}, once(string(answer)))
		r, err := c.Do(t.Context(), Request{URL: mustURL("http://site.test/")})
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok || strings.ContainsFunc(err.Error(), unprintable) {
				t.Errorf("error %q", err)
			}
		}
		if int64(len(r.Body)) > 1<<20 {
			t.Errorf("%d bytes", len(r.Body))
		}
		ReadRetryAfter(RetryInput{Status: r.Status, RetryAfter: r.Header["Retry-After"], Date: r.Header.Get("Date"), Now: r.Timing.Sent})
		r.Close()
		if use := c.budget.layer().Use; use != 0 || p.dialled() != 1 {
			t.Errorf("%d KiB in use, %d connections", use, p.dialled())
		}
	})
}
