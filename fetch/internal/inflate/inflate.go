// Package inflate decompresses gzip bodies that are completely in memory.
//
// A streaming decoder calls a reader and keeps a window next to its output. A body in
// memory needs neither: the output is the window, the input is read eight bytes at a
// time, and two tables map bits to symbols. That makes decompressing a page, the
// largest part of fetching it, two to three times as fast.
//
// Guarantees: [Reader.Next] writes only into the capacity it is given; any input ends
// in output or an error, never in a panic; checksums and lengths are verified; trailing
// data that is not a gzip member is ignored, as browsers do. A fuzz test checks that
// it agrees with compress/gzip on everything else.
package inflate

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// Window is how many of the last output bytes must precede the free room when a body
// is continued in another buffer.
const Window = 32 << 10

// MaxMembers bounds the gzip members of one body.
const MaxMembers = 1024

// The errors of an invalid body.
var (
	ErrCorrupt  = errors.New("corrupt gzip body")
	ErrChecksum = errors.New("gzip checksum differs")
	ErrMembers  = errors.New("too many gzip members")
)

// Reader decompresses one gzip body. The zero Reader is ready for Reset and may be
// used for any number of bodies, one after the other.
type Reader struct {
	src []byte
	pos int
	// bits holds the next nbits bits of the input in its low end; the bits above may
	// already hold more input, which does not count yet.
	bits  uint64
	nbits uint

	state   state
	final   bool // the current block is the last of its member
	stored  int  // bytes left of a stored block
	pending int  // bytes left of a match that did not fit
	dist    int  // of that match

	members  int
	produced int64 // bytes of the member so far
	crc      uint32

	lit     [litSize]entry
	offset  [distSize]entry
	fixed   bool // the tables are the fixed ones
	lengths [maxSymbols]uint8
}

// state is the position in the gzip structure.
type state uint8

const (
	atMember state = iota
	atBlock
	inStored
	inCodes
	atTrailer
	atEnd
)

// Reset starts a new body.
func (r *Reader) Reset(src []byte) {
	r.src, r.pos, r.bits, r.nbits = src, 0, 0, 0
	r.state, r.final, r.members, r.pending = atMember, false, 0, 0
}

// Next appends output to dst within its capacity. The error is nil when dst is full,
// io.EOF at the end of the body, io.ErrUnexpectedEOF when it is truncated, or
// describes what is invalid. To continue, call Next with a slice that ends with the
// last [Window] bytes of the output so far, or all of it if it is shorter.
func (r *Reader) Next(dst []byte) ([]byte, error) {
	for {
		start := len(dst)
		var err error
		switch r.state {
		case atMember:
			err = r.member()
		case atBlock:
			err = r.block()
		case inStored:
			dst, err = r.copyStored(dst)
		case inCodes:
			dst, err = r.codes(dst)
		case atTrailer:
			err = r.trailer()
		case atEnd:
			err = io.EOF
		}
		if out := dst[start:]; len(out) > 0 {
			r.crc = crc32.Update(r.crc, crc32.IEEETable, out)
			r.produced += int64(len(out))
		}
		if err != nil {
			return dst, err
		}
		if len(dst) == cap(dst) && (r.state == inStored || r.state == inCodes) {
			return dst, nil
		}
	}
}

// member reads the header of a gzip member (RFC 1952).
func (r *Reader) member() error {
	p := r.src[r.pos:]
	if len(p) < 10 {
		return io.ErrUnexpectedEOF
	}
	if p[0] != 0x1f || p[1] != 0x8b || p[2] != 8 {
		return ErrCorrupt
	}
	flags := p[3]
	head := 10
	if flags&4 != 0 { // extra fields
		if len(p) < head+2 {
			return io.ErrUnexpectedEOF
		}
		head += 2 + int(binary.LittleEndian.Uint16(p[head:]))
	}
	for _, flag := range []byte{8, 16} { // file name, comment: up to a NUL
		if flags&flag == 0 {
			continue
		}
		for {
			if head >= len(p) {
				return io.ErrUnexpectedEOF
			}
			head++
			if p[head-1] == 0 {
				break
			}
		}
	}
	if flags&2 != 0 { // checksum of the header
		if len(p) < head+2 {
			return io.ErrUnexpectedEOF
		}
		if uint16(crc32.ChecksumIEEE(p[:head])) != binary.LittleEndian.Uint16(p[head:]) {
			return ErrCorrupt
		}
		head += 2
	}
	if head > len(p) {
		return io.ErrUnexpectedEOF
	}
	r.pos += head
	r.bits, r.nbits = 0, 0
	r.crc, r.produced = 0, 0
	r.state = atBlock
	return nil
}

// trailer checks the checksum and length of a member, and looks for another member
// after it.
func (r *Reader) trailer() error {
	r.unread()
	p := r.src[r.pos:]
	if len(p) < 8 {
		return io.ErrUnexpectedEOF
	}
	if binary.LittleEndian.Uint32(p) != r.crc || binary.LittleEndian.Uint32(p[4:]) != uint32(r.produced) {
		return ErrChecksum
	}
	r.pos += 8
	r.state = atEnd
	if rest := r.src[r.pos:]; len(rest) >= 2 && rest[0] == 0x1f && rest[1] == 0x8b {
		if r.members++; r.members == MaxMembers {
			return ErrMembers
		}
		r.state = atMember
	}
	return nil
}

// unread puts prefetched whole bytes back, and drops the bits up to the next byte.
func (r *Reader) unread() {
	r.pos -= int(r.nbits / 8)
	r.bits, r.nbits = 0, 0
}

// need ensures that n bits are available, at most 32.
func (r *Reader) need(n uint) error {
	for r.nbits < n {
		if r.pos >= len(r.src) {
			return io.ErrUnexpectedEOF
		}
		r.bits |= uint64(r.src[r.pos]) << r.nbits
		r.pos++
		r.nbits += 8
	}
	return nil
}

// take returns n bits that need has made available.
func (r *Reader) take(n uint) uint64 {
	v := r.bits & (1<<n - 1)
	r.bits >>= n
	r.nbits -= n
	return v
}

// block reads the header of a block (RFC 1951).
func (r *Reader) block() error {
	if r.final {
		r.final = false
		r.state = atTrailer
		return nil
	}
	if err := r.need(3); err != nil {
		return err
	}
	r.final = r.take(1) == 1
	switch r.take(2) {
	case 0:
		return r.beginStored()
	case 1:
		r.fixedTables()
	case 2:
		if err := r.dynamicTables(); err != nil {
			return err
		}
	default:
		return ErrCorrupt
	}
	r.state = inCodes
	return nil
}

func (r *Reader) beginStored() error {
	r.unread()
	p := r.src[r.pos:]
	if len(p) < 4 {
		return io.ErrUnexpectedEOF
	}
	size := binary.LittleEndian.Uint16(p)
	if size != ^binary.LittleEndian.Uint16(p[2:]) {
		return ErrCorrupt
	}
	r.pos += 4
	r.stored = int(size)
	r.state = inStored
	return nil
}

// copyStored copies the rest of a stored block.
func (r *Reader) copyStored(dst []byte) ([]byte, error) {
	n := min(r.stored, cap(dst)-len(dst), len(r.src)-r.pos)
	dst = append(dst, r.src[r.pos:r.pos+n]...)
	r.pos += n
	r.stored -= n
	switch {
	case r.stored == 0:
		r.state = atBlock
	case r.pos == len(r.src):
		return dst, io.ErrUnexpectedEOF
	}
	return dst, nil
}
