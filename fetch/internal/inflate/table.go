package inflate

import (
	"io"
	"math/bits"
)

// entry is a table entry for the next bits: a symbol and the number of bits it takes,
// including its extra bits.
//
//	bit  31     a literal; its byte is in bits 16 to 23
//	bits 16-30  otherwise the base of the length or distance, or, for a link,
//	            where the second table begins
//	bit  15     something else: a link, the end of the block, or no code
//	bit  14     a link to a second table
//	bit  13     the end of the block
//	bits 8-11   bits of the code without the extra ones; for a link the size of
//	            the second table in bits
//	bits 0-7    bits of the code with the extra ones; for a link those of the
//	            first table
type entry uint32

const (
	literal entry = 1 << 31
	special entry = 1 << 15
	link    entry = 1 << 14
	blockUp entry = 1 << 13
)

const (
	maxCode  = 15 // bits of the longest code
	litBits  = 11 // of the first table for literals and lengths
	distBits = 8  // of the first table for distances
	// litSize and distSize hold the first table and any set of second ones
	// (2,342 and 402 entries by zlib's count), rounded up so that an index can
	// be bounded by a mask.
	litSize  = 4096
	distSize = 512

	maxLit     = 288
	maxDist    = 32
	maxSymbols = maxLit + maxDist
)

// litEntries and distEntries are the symbols without their code bits.
var litEntries, distEntries = symbolEntries()

func symbolEntries() (lit [maxLit]entry, dist [maxDist]entry) {
	for i := range 256 {
		lit[i] = literal | entry(i)<<16
	}
	lit[256] = special | blockUp
	// Lengths from 3 to 257 in groups of four with growing extra bits; 258 is
	// special; 286 and 287 are invalid.
	base := 3
	for i := 257; i < 285; i++ {
		extra := max(0, (i-261)/4)
		lit[i] = entry(base)<<16 | entry(extra)
		base += 1 << extra
	}
	lit[285] = entry(258) << 16
	lit[286], lit[287] = special, special
	// Distances from 1 to 32,768 in groups of two; 30 and 31 are invalid.
	base = 1
	for i := range 30 {
		extra := max(0, (i-2)/2)
		dist[i] = entry(base)<<16 | entry(extra)
		base += 1 << extra
	}
	dist[30], dist[31] = special, special
	return lit, dist
}

// codeOrder is the order of the lengths of the code length code.
var codeOrder = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// fixedTables are the tables of RFC 1951, 3.2.6.
func (r *Reader) fixedTables() {
	if r.fixed {
		return
	}
	l := r.lengths[:]
	for i := range maxLit {
		switch {
		case i < 144:
			l[i] = 8
		case i < 256:
			l[i] = 9
		case i < 280:
			l[i] = 7
		default:
			l[i] = 8
		}
	}
	for i := range maxDist {
		l[maxLit+i] = 5
	}
	build(r.lit[:], litBits, l[:maxLit], litEntries[:])
	build(r.offset[:], distBits, l[maxLit:], distEntries[:])
	r.fixed = true
}

// dynamicTables reads the code lengths of a block and builds its tables.
func (r *Reader) dynamicTables() error {
	if err := r.need(14); err != nil {
		return err
	}
	lits, dists, codes := int(r.take(5))+257, int(r.take(5))+1, int(r.take(4))+4
	if lits > 286 || dists > 30 {
		return ErrCorrupt
	}
	r.fixed = false
	var lengths [19]uint8
	for i := range codes {
		if err := r.need(3); err != nil {
			return err
		}
		lengths[codeOrder[i]] = uint8(r.take(3))
	}
	// The distance table is not in use yet; the code length code has at most 7 bits
	// and needs no second table.
	if !build(r.offset[:], distBits, lengths[:], codeEntries[:]) {
		return ErrCorrupt
	}
	if err := r.readLengths(lits + dists); err != nil {
		return err
	}
	if r.lengths[256] == 0 { // no end-of-block code
		return ErrCorrupt
	}
	if !build(r.lit[:], litBits, r.lengths[:lits], litEntries[:]) ||
		!build(r.offset[:], distBits, r.lengths[lits:lits+dists], distEntries[:]) {
		return ErrCorrupt
	}
	return nil
}

// codeEntries are the symbols of the code length code.
var codeEntries = func() (e [19]entry) {
	for i := range e {
		e[i] = entry(i) << 16
	}
	return e
}()

// readLengths reads n code lengths, which are coded themselves.
func (r *Reader) readLengths(n int) error {
	for i := 0; i < n; {
		// Enough bits for a code and its repeat count, or the rest of the input.
		if err := r.need(maxCode); err != nil && r.nbits == 0 {
			return err
		}
		e := r.offset[r.bits&(1<<distBits-1)]
		if e&special != 0 {
			return ErrCorrupt
		}
		code := uint(e & 0xff)
		if code > r.nbits {
			return io.ErrUnexpectedEOF
		}
		r.take(code)
		symbol := uint8(e >> 16)
		if symbol < 16 {
			r.lengths[i] = symbol
			i++
			continue
		}
		var extra uint
		var value uint8
		var times int
		switch symbol {
		case 16:
			if i == 0 {
				return ErrCorrupt
			}
			extra, times, value = 2, 3, r.lengths[i-1]
		case 17:
			extra, times = 3, 3
		default:
			extra, times = 7, 11
		}
		if err := r.need(extra); err != nil {
			return err
		}
		times += int(r.take(extra))
		if i+times > n {
			return ErrCorrupt
		}
		for range times {
			r.lengths[i] = value
			i++
		}
	}
	return nil
}

// build fills a table for codes of the given lengths. It reports false for lengths
// that form no valid code. As in zlib and Go, a code with one symbol may be
// incomplete, and one without symbols is valid as long as it is not used.
func build(table []entry, first uint, lengths []uint8, symbols []entry) bool {
	var count, place [maxCode + 2]int
	for _, n := range lengths {
		count[n]++
	}
	used := len(lengths) - count[0]
	free := 1 // codes left at this length
	for n := 1; n <= maxCode; n++ {
		place[n+1] = place[n] + count[n]
		if free = free<<1 - count[n]; free < 0 {
			return false
		}
	}
	if free > 0 {
		if used > 1 || used == 1 && count[1] != 1 {
			return false
		}
		for i := range table[:1<<first] {
			table[i] = special
		}
	}
	// Symbols in the order of their codes.
	var sorted [maxLit]uint16
	for symbol, n := range lengths {
		if n > 0 {
			sorted[place[n]] = uint16(symbol)
			place[n]++
		}
	}
	var (
		code   uint32    // the next code, as RFC 1951 counts
		length = uint(0) // length of the current codes
		mask   = uint32(1)<<first - 1
		prefix = ^uint32(0) // prefix of the current second table
		begin  uint32       // its start
		size   uint         // its size in bits
		end    = 1 << first // start of the next second table
	)
	for _, symbol := range sorted[:used] {
		n := uint(lengths[symbol])
		code <<= n - length
		length = n
		reversed := bits.Reverse32(code) >> (32 - n)
		code++
		e := symbols[symbol]
		e = e&^0xff | entry(n)<<8 | (e&0xff + entry(n))
		if n <= first {
			for i := reversed; i < 1<<first; i += 1 << n {
				table[i] = e
			}
			continue
		}
		if reversed&mask != prefix {
			// As many bits as all codes with this prefix need.
			prefix = reversed & mask
			size = n - first
			for room := 1<<size - count[n]; room > 0 && first+size < maxCode; {
				size++
				room = room<<1 - count[first+size]
			}
			begin = uint32(end)
			end += 1 << size
			if end > len(table) {
				return false
			}
			table[prefix] = special | link | entry(begin)<<16 | entry(size)<<8 | entry(first)
		}
		count[n]-- // the remaining codes of this length go to later second tables
		for i := reversed >> first; i < 1<<size; i += 1 << (n - first) {
			table[begin+i] = e
		}
	}
	return true
}
