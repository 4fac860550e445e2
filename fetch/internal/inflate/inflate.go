// Package inflate undoes gzip for bodies that lie in memory as a whole.
//
// Decoders that read from a stream pay for it with every byte: they ask a
// reader, and they keep a window beside what they hand out. A body that has
// come whole needs neither. The output is its own window, the input is read
// eight bytes at a time, and two tables turn bits into symbols. That makes
// unfolding a page, the largest part of fetching it, two to three times as fast.
//
// Promises: [Reader.Next] writes into the capacity it is given and nowhere
// else; any input ends in output or an error, never in a panic; checksums and
// lengths are verified; what follows the last gzip member and is none is left
// alone, as browsers do. It agrees with compress/gzip on everything else, which
// a fuzz test holds it to.
package inflate

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// Window is how many of the last bytes of the output must stand in front of the
// room when a body is continued in another buffer.
const Window = 32 << 10

// MaxMembers bounds the gzip members of one body.
const MaxMembers = 1024

// The errors of a body that is not what it says.
var (
	ErrCorrupt  = errors.New("corrupt gzip body")
	ErrChecksum = errors.New("gzip checksum differs")
	ErrMembers  = errors.New("too many gzip members")
)

// Reader unfolds one gzip body. The zero Reader is ready for Reset and may be
// used for any number of bodies, one after the other.
type Reader struct {
	src []byte
	pos int
	// bits holds the next nbits bits of the input in its low end; above them it
	// may hold more of the input that does not count yet.
	bits  uint64
	nbits uint

	state   state
	final   bool // the block under way is the last of its member
	stored  int  // bytes left of a stored block
	pending int  // bytes left of a match that did not fit
	dist    int  // of that match

	members  int
	produced int64 // bytes of the member so far
	crc      uint32

	lit     [litSize]entry
	offset  [distSize]entry
	fixed   bool // the tables are those of the fixed code
	lengths [maxSymbols]uint8
}

// state is where in the body the reader is.
type state uint8

const (
	atMember state = iota
	atBlock
	inStored
	inCodes
	atTrailer
	atEnd
)

// Reset begins a new body.
func (r *Reader) Reset(src []byte) {
	r.src, r.pos, r.bits, r.nbits = src, 0, 0, 0
	r.state, r.final, r.members, r.pending = atMember, false, 0, 0
}

// Next appends to dst what comes next, within its capacity. The error is nil
// when dst is full, io.EOF when the body has ended, io.ErrUnexpectedEOF when it
// breaks off, or says what is wrong with it. To go on, call Next again with a
// slice that ends with the last [Window] bytes of the output so far, or all of
// it if it is shorter.
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

// trailer checks a member against its checksum and length, and looks for
// another member behind it.
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

// unread gives the whole bytes that were taken in advance back, and drops the
// bits up to the next byte.
func (r *Reader) unread() {
	r.pos -= int(r.nbits / 8)
	r.bits, r.nbits = 0, 0
}

// need makes sure of n bits, at most 32.
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

// take returns n bits that need has made sure of.
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

// copyStored copies what is left of a stored block.
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
