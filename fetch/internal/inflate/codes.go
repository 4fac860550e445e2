package inflate

import (
	"encoding/binary"
	"io"
)

const (
	maxMatch = 258
	// spare is the output room that lets the fast loop write two literals and a match,
	// eight bytes at a time, without bounds checks.
	spare = maxMatch + 8 + 2
)

// codes decodes the symbols of a block until its end or until dst is full.
func (r *Reader) codes(dst []byte) ([]byte, error) {
	// A match must not reach back into the previous member.
	low := max(0, len(dst)-int(min(r.produced, Window)))
	out, o := dst[:cap(dst)], len(dst)
	if r.pending > 0 {
		o = r.match(out, o)
	}
	o, err := r.fast(out, o, low)
	if err == nil && r.state == inCodes {
		o, err = r.careful(out, o, low)
	}
	return out[:o], err
}

// match writes as much of the pending match as fits.
func (r *Reader) match(out []byte, o int) int {
	n := min(r.pending, len(out)-o)
	for i := range n {
		out[o+i] = out[o+i-r.dist]
	}
	r.pending -= n
	return o + n
}

// fast decodes while there are spare bytes in input and output.
func (r *Reader) fast(out []byte, o, low int) (int, error) {
	src, pos, bits, nbits := r.src, r.pos, r.bits, r.nbits
	lit, offset := &r.lit, &r.offset
	lastIn, lastOut := len(src)-16, len(out)-spare // two refills in a round
	var err error
	for pos <= lastIn && o <= lastOut {
		// At least 56 bits. Those above nbits are already set to the same value.
		bits |= binary.LittleEndian.Uint64(src[pos:]) << (nbits & 63)
		pos += int((63 - nbits) >> 3)
		nbits |= 56

		e := lit[bits&(1<<litBits-1)]
		if e&literal != 0 {
			bits >>= e & 15
			nbits -= uint(e & 15)
			out[o] = byte(e >> 16)
			o++
			e = lit[bits&(1<<litBits-1)]
			if e&literal != 0 {
				bits >>= e & 15
				nbits -= uint(e & 15)
				out[o] = byte(e >> 16)
				o++
				e = lit[bits&(1<<litBits-1)]
				if e&literal != 0 {
					bits >>= e & 15
					nbits -= uint(e & 15)
					out[o] = byte(e >> 16)
					o++
					continue
				}
			}
		}
		if e&special != 0 {
			if e&link != 0 {
				e = lit[(uint64(e>>16)+(bits>>litBits)&(1<<(e>>8&15)-1))&(litSize-1)]
			}
			if e&literal != 0 {
				bits >>= e & 15
				nbits -= uint(e & 15)
				out[o] = byte(e >> 16)
				o++
				continue
			}
			if e&special != 0 {
				if e&blockUp != 0 {
					bits >>= e & 15
					nbits -= uint(e & 15)
					r.state = atBlock
				} else {
					err = ErrCorrupt
				}
				break
			}
		}
		length := int(e>>16) + int(bits&(1<<(e&63)-1)>>(e>>8&15))
		bits >>= e & 63
		nbits -= uint(e & 63)

		if nbits < maxCode+13 {
			bits |= binary.LittleEndian.Uint64(src[pos:]) << (nbits & 63)
			pos += int((63 - nbits) >> 3)
			nbits |= 56
		}
		e = offset[bits&(1<<distBits-1)]
		if e&special != 0 {
			if e&link != 0 {
				e = offset[(uint64(e>>16)+(bits>>distBits)&(1<<(e>>8&15)-1))&(distSize-1)]
			}
			if e&special != 0 {
				err = ErrCorrupt
				break
			}
		}
		dist := int(e>>16) + int(bits&(1<<(e&63)-1)>>(e>>8&15))
		bits >>= e & 63
		nbits -= uint(e & 63)
		if o-dist < low {
			err = ErrCorrupt
			break
		}
		from := o - dist
		switch {
		case dist >= 8:
			for i := 0; i < length; i += 8 {
				binary.LittleEndian.PutUint64(out[o+i:], binary.LittleEndian.Uint64(out[from+i:]))
			}
		case dist == 1:
			v := uint64(out[from]) * 0x0101010101010101
			for i := 0; i < length; i += 8 {
				binary.LittleEndian.PutUint64(out[o+i:], v)
			}
		default:
			for i := range length {
				out[o+i] = out[from+i]
			}
		}
		o += length
	}
	r.pos, r.bits, r.nbits = pos, bits, nbits
	return o, err
}

// careful decodes to the last bit of the input and the last byte of the output.
func (r *Reader) careful(out []byte, o, low int) (int, error) {
	for o < len(out) {
		r.fill()
		e := r.lit[r.bits&(1<<litBits-1)]
		if e&link != 0 && e&literal == 0 {
			e = r.lit[(uint64(e>>16)+(r.bits>>litBits)&(1<<(e>>8&15)-1))&(litSize-1)]
		}
		length, err := r.symbol(e)
		switch {
		case err != nil:
			return o, err
		case e&literal != 0:
			out[o] = byte(e >> 16)
			o++
			continue
		case e&blockUp != 0:
			r.state = atBlock
			return o, nil
		}
		r.fill()
		e = r.offset[r.bits&(1<<distBits-1)]
		if e&link != 0 {
			e = r.offset[(uint64(e>>16)+(r.bits>>distBits)&(1<<(e>>8&15)-1))&(distSize-1)]
		}
		dist, err := r.symbol(e)
		if err != nil {
			return o, err
		}
		if o-dist < low {
			return o, ErrCorrupt
		}
		r.pending, r.dist = length, dist
		o = r.match(out, o)
	}
	return o, nil
}

// fill reads whole bytes while they fit.
func (r *Reader) fill() {
	for r.nbits <= 56 && r.pos < len(r.src) {
		r.bits |= uint64(r.src[r.pos]) << r.nbits
		r.pos++
		r.nbits += 8
	}
}

// symbol consumes the bits of an entry and returns its length or distance.
func (r *Reader) symbol(e entry) (int, error) {
	n := uint(e & 63)
	if e&literal == 0 && e&special != 0 && e&blockUp == 0 {
		if r.nbits < maxCode {
			return 0, io.ErrUnexpectedEOF
		}
		return 0, ErrCorrupt
	}
	if n > r.nbits {
		return 0, io.ErrUnexpectedEOF
	}
	value := int(e>>16) + int(r.bits&(1<<n-1)>>(e>>8&15))
	r.bits >>= n
	r.nbits -= n
	return value, nil
}
