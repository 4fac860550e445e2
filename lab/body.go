package lab

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"strconv"
	"sync"
)

// A page is mostly filler, which is written and compressed once, when first needed in
// that form. Only the head and the links differ between pages. In a gzip body, filler
// blocks are copied in their compressed form, and unique text is added as stored blocks;
// the result is an ordinary gzip stream that costs a few copies.

// block is a piece of filler HTML and its deflate form, ending at a byte boundary.
type block struct {
	plain    []byte
	deflated func() []byte
}

func newBlock(plain []byte) block {
	return block{plain, sync.OnceValue(func() []byte { return deflateBlock(plain) })}
}

var gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}

// deflateEnd is an empty, final stored block.
var deflateEnd = []byte{1, 0, 0, 0xff, 0xff}

// body builds one response body, plain or gzipped.
type body struct {
	out    []byte
	lit    []byte // unique text not yet flushed (gzip only)
	gzip   bool
	crc    uint32
	length uint32

	anchors anchors // scratch space of the page being rendered
}

func (b *body) reset(gzip bool) {
	b.out, b.lit, b.gzip, b.crc, b.length = b.out[:0], b.lit[:0], gzip, 0, 0
	if gzip {
		b.out = append(b.out, gzipHeader...)
	}
}

// text appends unique text.
func (b *body) text(parts ...string) {
	dst := &b.out
	if b.gzip {
		dst = &b.lit
	}
	for _, p := range parts {
		*dst = append(*dst, p...)
	}
}

// bytes appends unique text.
func (b *body) bytes(p []byte) {
	if b.gzip {
		b.lit = append(b.lit, p...)
	} else {
		b.out = append(b.out, p...)
	}
}

// num appends a number.
func (b *body) num(n int) {
	if b.gzip {
		b.lit = strconv.AppendInt(b.lit, int64(n), 10)
	} else {
		b.out = strconv.AppendInt(b.out, int64(n), 10)
	}
}

// filler appends a filler block.
func (b *body) filler(f *block) {
	if !b.gzip {
		b.out = append(b.out, f.plain...)
		return
	}
	b.flushText()
	b.out = append(b.out, f.deflated()...)
	b.crc = crc32.Update(b.crc, crc32.IEEETable, f.plain)
	b.length += uint32(len(f.plain))
}

func (b *body) flushText() {
	for rest := b.lit; len(rest) > 0; {
		n := min(len(rest), 0xffff)
		b.out = append(b.out, 0, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
		b.out = append(b.out, rest[:n]...)
		b.crc = crc32.Update(b.crc, crc32.IEEETable, rest[:n])
		b.length += uint32(n)
		rest = rest[n:]
	}
	b.lit = b.lit[:0]
}

// plainLen is the uncompressed length so far.
func (b *body) plainLen() int {
	if b.gzip {
		return int(b.length) + len(b.lit)
	}
	return len(b.out)
}

// finish returns the bytes to send; they are valid until the next reset.
func (b *body) finish() []byte {
	if b.gzip {
		b.flushText()
		b.out = append(b.out, deflateEnd...)
		b.out = binary.LittleEndian.AppendUint32(b.out, b.crc)
		b.out = binary.LittleEndian.AppendUint32(b.out, b.length)
	}
	return b.out
}

// deflateBlock compresses text separately and ends at a byte boundary, without the
// final-block mark, so that blocks can be joined.
func deflateBlock(text []byte) []byte {
	var buf bytes.Buffer
	w, err := flate.NewWriter(&buf, flate.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		panic(err) // the level is a constant, and a buffer never fails
	}
	return buf.Bytes()
}
