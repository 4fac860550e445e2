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
	// maxCodings bounds the codings of one body: more than two never happen by
	// accident.
	maxCodings = 2
	// maxWindow bounds how far back a zstd body may refer, as RFC 9659 has it.
	maxWindow = 8 << 20
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

// unfolding is the bound of one body on its way through the decoders.
type unfolding struct {
	buffers *buffers
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
	places  chan struct{}
	waiting atomic.Int64
	waits   atomic.Uint64
	waited  atomic.Int64

	mu   sync.Mutex
	free []*decoder // the one used last is the next: a lone user warms only one
}

func newDecoders(n int) *decoders { return &decoders{places: make(chan struct{}, n)} }

// take waits for a decoder or for the end of ctx.
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

// decoder keeps one of each kind for the next body.
type decoder struct {
	gzip   *inflate.Reader
	src    bytes.Reader // of the others
	brotli *brotli.Reader
	zstd   *zstd.Decoder

	from folded // the one in use
}

// folded is a body on its way out of its folds. next appends to dst within its
// capacity: nil means that dst is full. The last [inflate.Window] bytes of what
// came before must stand in dst.
type folded interface {
	next(dst []byte) ([]byte, error)
}

// keptWindow is the largest body whose decoder is kept with its window.
const keptWindow = 1 << 20

// unfold undoes one coding within the bounds of u. Hostile input may break a
// decoder: whatever happens is an error of the body, and a decoder that failed
// is not used again, nor one that may hold a large window.
func (d *decoder) unfold(c coding, body []byte, u *unfolding) (out *buffer, err error) {
	defer func() {
		if p := recover(); p != nil {
			out = nil // nobody knows who else holds it
			err = &Error{Reason: BadEncoding, Phase: PhaseDecode, Err: fmt.Errorf("decoder panicked: %v", p)}
		}
		if err != nil || len(out.data) > keptWindow {
			d.brotli, d.zstd = nil, nil
		}
	}()
	out = u.start(sizeHint(c, body, u.limit) + 1)
	err = d.fill(c, body, out, u)
	for errors.Is(err, errFull) {
		// It does not fit. Where all of it goes is decided when its size is
		// known: a bomb never gets a large buffer.
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

// open sets the decoder of a kind to the beginning of a body.
func (d *decoder) open(c coding, body []byte) (folded, error) {
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

// gzipped is folded by our own reader, which needs no window beside the output.
type gzipped struct{ r *inflate.Reader }

func (g gzipped) next(dst []byte) ([]byte, error) { return g.r.Next(dst) }

// streamed is folded by a decoder that is read like a file.
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

// start returns a buffer for a body whose size is known or guessed. It is paid
// for up to the bound.
func (u *unfolding) start(size int64) *buffer {
	if size > largestClass {
		return &buffer{data: make([]byte, 0, size)}
	}
	return u.buffers.get(bufferSize(size, u.limit))
}

// errFull says that there is more than fits into the buffer.
var errFull = errors.New("buffer is full")

// fill unfolds from the beginning into out.
func (d *decoder) fill(c coding, body []byte, out *buffer, u *unfolding) error {
	out.data = out.data[:0]
	var err error
	if d.from, err = d.open(c, body); err != nil {
		return u.end(err)
	}
	return d.more(out, u)
}

// more unfolds into out until the end, the bound, or errFull.
func (d *decoder) more(out *buffer, u *unfolding) error {
	var err error
	out.data, err = d.from.next(out.data)
	if int64(len(out.data)) > u.limit {
		out.data = out.data[:u.limit]
		return u.passed()
	}
	if err == nil {
		return errFull
	}
	return u.end(err)
}

// measure unfolds the rest over the beginning, to learn the size of it all. A
// body that is cut has the size of its bound.
func (d *decoder) measure(out *buffer, u *unfolding) (int64, error) {
	size := int64(len(out.data))
	for {
		kept := copy(out.data, out.data[len(out.data)-inflate.Window:])
		var err error
		out.data, err = d.from.next(out.data[:kept])
		if size += int64(len(out.data) - kept); size > u.limit {
			return u.limit, u.passed()
		}
		if err != nil {
			return size, u.end(err)
		}
	}
}

// passed is the end of a body that is longer than its bound.
func (u *unfolding) passed() error {
	switch {
	case u.cut:
		u.wasCut = true
		return nil
	case u.ratio:
		return errRatio
	}
	return errBodyTooLarge
}

// end tells the end of a body from an error. A folded body that we cut ends
// early, and that is all right.
func (u *unfolding) end(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	if u.cut && u.wireCut && errors.Is(err, io.ErrUnexpectedEOF) {
		u.wasCut = true
		return nil
	}
	return err
}

// sizeHint guesses the unfolded size. A gzip body says it at its end: the word
// of a stranger, but the bound holds whatever it says. Without a plausible word
// nothing beyond the classes of buffers is assumed.
func sizeHint(c coding, folded []byte, limit int64) int64 {
	if c == codingGzip && len(folded) >= 18 {
		if n := int64(binary.LittleEndian.Uint32(folded[len(folded)-4:])); n <= limit {
			return n
		}
	}
	return min(4*int64(len(folded)), largestClass-1)
}
