package fetch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"headway/fetch/guard"
	"headway/fetch/internal/inflate"
)

const (
	// maxCodings bounds the codings of one body: no legitimate server uses more than
	// two.
	maxCodings = 2
	// maxWindow bounds the zstd window, as RFC 9659 says.
	maxWindow = 8 << 20
)

// coding is a content coding that we can decode. Deflate is not supported: servers
// disagree on its meaning, and we do not request it.
type coding uint8

const (
	codingGzip coding = iota
	codingBrotli
	codingZstd
)

// readCodings reads the lines of Content-Encoding into the codings that were
// applied, in order.
func readCodings(lines []string) ([]coding, error) {
	var codings []coding
	for _, line := range lines {
		for name := range strings.SplitSeq(line, ",") {
			var c coding
			switch name = strings.Trim(name, " \t"); strings.ToLower(name) {
			case "", "identity":
				continue
			case "gzip", "x-gzip":
				c = codingGzip
			case "br":
				c = codingBrotli
			case "zstd":
				c = codingZstd
			default:
				return nil, fmt.Errorf("unsupported content coding %q", name)
			}
			if len(codings) == maxCodings {
				return nil, fmt.Errorf("more than %d content codings", maxCodings)
			}
			codings = append(codings, c)
		}
	}
	return codings, nil
}

// decodeJob is the decoding of one body, with its limits.
type decodeJob struct {
	buffers *buffers
	limit   int64
	ratio   bool // limit comes from MaxRatio, not from the body size
	cut     bool // truncate at the limit instead of failing
	wireCut bool // the compressed body was truncated
	wasCut  bool // set when the decompressed body was truncated
}

// decoders is a small pool of decoders, each with its state. They decode bodies that
// have arrived completely and never wait for a server, so a few are enough and the
// memory of their windows is bounded.
type decoders struct {
	places  chan struct{}
	waiting atomic.Int64
	waits   atomic.Uint64
	waited  atomic.Int64

	mu   sync.Mutex
	free []*decoder // LIFO: a single user keeps reusing one decoder
}

func newDecoders(n int) *decoders { return &decoders{places: make(chan struct{}, n)} }

// take waits for a free decoder or the end of ctx.
func (d *decoders) take(ctx context.Context) (*decoder, error) {
	select {
	case d.places <- struct{}{}:
	default:
		if err := d.wait(ctx); err != nil {
			return nil, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if last := len(d.free) - 1; last >= 0 {
		dec := d.free[last]
		d.free = d.free[:last]
		return dec, nil
	}
	return &decoder{}, nil
}

func (d *decoders) wait(ctx context.Context) error {
	d.waits.Add(1)
	d.waiting.Add(1)
	start := time.Now()
	defer func() {
		d.waiting.Add(-1)
		d.waited.Add(int64(time.Since(start)))
	}()
	select {
	case d.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *decoders) give(dec *decoder) {
	d.mu.Lock()
	d.free = append(d.free, dec)
	d.mu.Unlock()
	<-d.places
}

func (d *decoders) layer() guard.Layer {
	return guard.Layer{
		Limit: cap(d.places), Use: len(d.places), Waiting: int(d.waiting.Load()),
		Waits: d.waits.Load(), Waited: time.Duration(d.waited.Load()),
	}
}

// decoder holds a reusable decoder of each kind.
type decoder struct {
	gzip   *inflate.Reader
	src    bytes.Reader // input of brotli and zstd
	brotli *brotli.Reader
	zstd   *zstd.Decoder

	from compressed // the decoder in use
}

// compressed is a compressed body being read. next appends to dst within its capacity; a
// nil error means that dst is full. dst must end with the last [inflate.Window] bytes
// of the output so far.
type compressed interface {
	next(dst []byte) ([]byte, error)
}

// keptWindow is the largest body after which a decoder is reused with its window.
const keptWindow = 1 << 20

// decompress removes one coding within the limits of u. Hostile input may break a
// decoder: a panic becomes an error of the body. A decoder that failed, or that may
// hold a large window, is not reused.
func (d *decoder) decompress(c coding, body []byte, u *decodeJob) (out *buffer, err error) {
	defer func() {
		if p := recover(); p != nil {
			out = nil // the broken decoder may still reference it
			err = &Error{Reason: BadEncoding, Phase: PhaseDecode, Err: fmt.Errorf("decoder panicked: %v", p)}
		}
		if err != nil || len(out.data) > keptWindow {
			d.brotli, d.zstd = nil, nil
		}
	}()
	out = u.start(sizeHint(c, body, u.limit) + 1)
	err = d.fill(c, body, out, u)
	for errors.Is(err, errFull) {
		// It does not fit. Find out the full size before allocating, so that a
		// decompression bomb never gets a large buffer.
		var size int64
		if out.size() < largestClass {
			out = u.buffers.widen(out, u.limit)
			err = d.more(out, u)
			continue
		}
		if size, err = d.measure(out, u); err != nil {
			break
		}
		u.buffers.put(out)
		out = u.start(size + 1)
		err = d.fill(c, body, out, u)
	}
	if err == nil {
		return out, nil
	}
	reason := BadEncoding
	if errors.Is(err, errBodyTooLarge) || errors.Is(err, errRatio) {
		reason = TooLarge
	}
	return out, &Error{Reason: reason, Phase: PhaseDecode, Err: err}
}

// open resets the decoder of kind c to the start of a body.
func (d *decoder) open(c coding, body []byte) (compressed, error) {
	if c == codingGzip {
		if d.gzip == nil {
			d.gzip = new(inflate.Reader)
		}
		d.gzip.Reset(body)
		return gzipped{d.gzip}, nil
	}
	d.src.Reset(body)
	if c == codingBrotli {
		if d.brotli == nil {
			d.brotli = brotli.NewReader(&d.src)
			return streamed{d.brotli}, nil
		}
		return streamed{d.brotli}, d.brotli.Reset(&d.src)
	}
	if d.zstd == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecodeBuffersBelow(0))
		if err != nil {
			return nil, err
		}
		d.zstd = z
	}
	return streamed{d.zstd}, d.zstd.Reset(&d.src)
}

// gzipped is read by our own reader, which uses the output as its window.
type gzipped struct{ r *inflate.Reader }

func (g gzipped) next(dst []byte) ([]byte, error) { return g.r.Next(dst) }

// streamed is read by a decoder with the io.Reader interface.
type streamed struct{ r io.Reader }

func (s streamed) next(dst []byte) ([]byte, error) {
	for len(dst) < cap(dst) {
		n, err := s.r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// start returns a buffer for a body of known or estimated size. Memory up to the
// limit is already reserved.
func (u *decodeJob) start(size int64) *buffer {
	if size > largestClass {
		return &buffer{data: make([]byte, 0, size)}
	}
	return u.buffers.get(bufferSize(size, u.limit))
}

// errFull means that the output does not fit into the buffer.
var errFull = errors.New("buffer is full")

// fill decompresses from the start into out.
func (d *decoder) fill(c coding, body []byte, out *buffer, u *decodeJob) error {
	out.data = out.data[:0]
	var err error
	if d.from, err = d.open(c, body); err != nil {
		return u.endError(err)
	}
	return d.more(out, u)
}

// more decompresses into out until the end, the limit, or errFull.
func (d *decoder) more(out *buffer, u *decodeJob) error {
	var err error
	out.data, err = d.from.next(out.data)
	if int64(len(out.data)) > u.limit {
		out.data = out.data[:u.limit]
		return u.overLimit()
	}
	if err == nil {
		return errFull
	}
	return u.endError(err)
}

// measure decompresses the rest into the same buffer, discarding it, to learn the
// full size. A body to be cut has the size of its limit.
func (d *decoder) measure(out *buffer, u *decodeJob) (int64, error) {
	size := int64(len(out.data))
	for {
		kept := copy(out.data, out.data[len(out.data)-inflate.Window:])
		var err error
		out.data, err = d.from.next(out.data[:kept])
		if size += int64(len(out.data) - kept); size > u.limit {
			return u.limit, u.overLimit()
		}
		if err != nil {
			return size, u.endError(err)
		}
	}
}

// overLimit handles a body that exceeds its limit.
func (u *decodeJob) overLimit() error {
	switch {
	case u.cut:
		u.wasCut = true
		return nil
	case u.ratio:
		return errRatio
	}
	return errBodyTooLarge
}

// endError distinguishes the end of a body from an error. A compressed body that we cut
// ends early, which is not an error.
func (u *decodeJob) endError(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	if u.cut && u.wireCut && errors.Is(err, io.ErrUnexpectedEOF) {
		u.wasCut = true
		return nil
	}
	return err
}

// sizeHint estimates the decompressed size. A gzip body states it in its trailer; the
// value is not trusted, the limit applies anyway. Without a plausible value nothing
// larger than the buffer classes is assumed.
func sizeHint(c coding, compressed []byte, limit int64) int64 {
	if c == codingGzip && len(compressed) >= 18 {
		if n := int64(binary.LittleEndian.Uint32(compressed[len(compressed)-4:])); n <= limit {
			return n
		}
	}
	return min(4*int64(len(compressed)), largestClass-1)
}
