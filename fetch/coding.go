package fetch

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"headway/fetch/guard"
)

const (
	// maxCodings bounds the codings of one body: more than two never happen by
	// accident.
	maxCodings = 2
	// maxWindow bounds how far back a zstd body may refer, as RFC 9659 has it.
	maxWindow = 8 << 20
	// maxMembers bounds the gzip members in one body.
	maxMembers = 1024
)

// coding is a content coding that we can undo. Deflate is not among them: what
// the word means was never agreed on, and we do not ask for it.
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
				return nil, fmt.Errorf("content coding %q", name)
			}
			if len(codings) == maxCodings {
				return nil, fmt.Errorf("more than %d content codings", maxCodings)
			}
			codings = append(codings, c)
		}
	}
	return codings, nil
}

// unfolding is the bound of one body on its way through the decoders.
type unfolding struct {
	limit   int64
	ratio   bool // limit is that of the ratio, not of the size
	cut     bool // keep what fits instead of failing
	wireCut bool // the folded body is only a beginning
	wasCut  bool // set when the unfolded body is only a beginning
}

// decoders are the few that unfold at a time, each with the state it needs.
// They work on bodies that have come whole: none ever waits for a server, so a
// few are enough, and their windows are a bounded amount of memory.
type decoders struct {
	free    chan *decoder
	waiting atomic.Int64
	waits   atomic.Uint64
	waited  atomic.Int64
}

func newDecoders(n int) *decoders {
	d := &decoders{free: make(chan *decoder, n)}
	for range n {
		d.free <- &decoder{}
	}
	return d
}

func (d *decoders) take(ctx context.Context) (*decoder, error) {
	select {
	case dec := <-d.free:
		return dec, nil
	default:
	}
	d.waits.Add(1)
	d.waiting.Add(1)
	start := time.Now()
	defer func() {
		d.waiting.Add(-1)
		d.waited.Add(int64(time.Since(start)))
	}()
	select {
	case dec := <-d.free:
		return dec, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (d *decoders) give(dec *decoder) { d.free <- dec }

func (d *decoders) layer() guard.Layer {
	return guard.Layer{
		Limit: cap(d.free), Use: cap(d.free) - len(d.free), Waiting: int(d.waiting.Load()),
		Waits: d.waits.Load(), Waited: time.Duration(d.waited.Load()),
	}
}

// decoder keeps one of each kind for the next body.
type decoder struct {
	src    bytes.Reader
	gzip   *gzip.Reader
	brotli *brotli.Reader
	zstd   *zstd.Decoder
}

// unfold undoes one coding within the bounds of u. Hostile input may break a
// decoder: whatever happens is an error of the body, and a decoder that failed
// is not used again.
func (d *decoder) unfold(c coding, folded []byte, u *unfolding) (out *buffer, err error) {
	out = newBuffer(min(sizeHint(c, folded), u.limit) + 1)
	defer func() {
		if p := recover(); p != nil {
			out = nil // nobody knows who else holds it
			err = &Error{Reason: BadEncoding, Phase: PhaseDecode, Err: fmt.Errorf("decoder panicked: %v", p)}
		}
		if err != nil {
			*d = decoder{}
		}
	}()
	d.src.Reset(folded)
	r, err := d.reader(c)
	if err == nil {
		out, err = readAll(out, r, u)
	}
	if err != nil && u.cut && u.wireCut && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) {
		u.wasCut = true // it ends where we cut it
		err = nil
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

// reader returns the kept decoder of a kind, reset to the source.
func (d *decoder) reader(c coding) (io.Reader, error) {
	switch c {
	case codingGzip:
		return d.gzipReader()
	case codingBrotli:
		if d.brotli == nil {
			d.brotli = brotli.NewReader(&d.src)
			return d.brotli, nil
		}
		return d.brotli, d.brotli.Reset(&d.src)
	default:
		if d.zstd == nil {
			z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecodeBuffersBelow(0))
			if err != nil {
				return nil, err
			}
			d.zstd = z
		}
		return d.zstd, d.zstd.Reset(&d.src)
	}
}

func (d *decoder) gzipReader() (io.Reader, error) {
	if d.gzip == nil {
		d.gzip = new(gzip.Reader)
	}
	if err := d.gzip.Reset(&d.src); err != nil {
		return nil, err
	}
	d.gzip.Multistream(false)
	return &members{d: d}, nil
}

// members reads one gzip member after the other. What follows the last one and
// is no member is left alone, as browsers do.
type members struct {
	d    *decoder
	seen int
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.d.gzip.Read(p)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		if n > 0 {
			return n, nil // the end is said again
		}
		var magic [2]byte
		if _, err := m.d.src.ReadAt(magic[:], m.d.src.Size()-int64(m.d.src.Len())); err != nil || magic != [2]byte{0x1f, 0x8b} {
			return 0, io.EOF
		}
		if m.seen++; m.seen == maxMembers {
			return 0, fmt.Errorf("more than %d gzip members", maxMembers)
		}
		if err := m.d.gzip.Reset(&m.d.src); err != nil {
			return 0, err
		}
		m.d.gzip.Multistream(false)
	}
}

// readAll reads r to its end or to the bound. The memory is paid for.
func readAll(out *buffer, r io.Reader, u *unfolding) (*buffer, error) {
	for {
		if len(out.room()) == 0 {
			wide := newBuffer(2 * int64(cap(out.data)))
			wide.data = append(wide.data, out.data...)
			out.free()
			out = wide
		}
		n, err := r.Read(out.room())
		out.data = out.data[:len(out.data)+n]
		if int64(len(out.data)) > u.limit {
			out.data = out.data[:u.limit]
			switch {
			case u.cut:
				u.wasCut = true
				return out, nil
			case u.ratio:
				return out, errRatio
			}
			return out, errBodyTooLarge
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}

// sizeHint guesses the unfolded size. A gzip body says it at its end; the word
// of a stranger, but the bound holds whatever it says.
func sizeHint(c coding, folded []byte) int64 {
	if c == codingGzip && len(folded) >= 18 {
		return int64(binary.LittleEndian.Uint32(folded[len(folded)-4:]))
	}
	return 4 * int64(len(folded))
}
