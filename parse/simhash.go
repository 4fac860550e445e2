package parse

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// SimHash is a fingerprint of visible text in which similar texts differ in few bits
// (Charikar 2002). Its features are runs of three words; a shorter text is one feature.
// The fingerprint of a page without text is 0. It is the same on every machine and is
// stored: a change of any constant here would make old and new fingerprints incomparable.
type SimHash uint64

// Distance returns in how many of 64 bits two fingerprints differ. Pages with the same
// text and small changes differ in a few bits, unrelated ones in about 32.
func (s SimHash) Distance(other SimHash) int { return bits.OnesCount64(uint64(s ^ other)) }

// String returns the fingerprint as 16 hexadecimal digits.
func (s SimHash) String() string { return fmt.Sprintf("%016x", uint64(s)) }

// Arbitrary odd numbers, which must not change.
const (
	mixA = 0x9e3779b97f4a7c15
	mixB = 0xd6e8feb86659fd93
)

// mix spreads the bits of x over the whole word.
func mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^mixA, mixB)
	return hi ^ lo
}

// shingles turns words into three-word features and counts, for each of 64 bits, in how
// many of them it is set.
type shingles struct {
	n            int // words so far
	last, before uint64
	batch        [8]uint64 // features not counted yet, of words 8k to 8k+7
	counts       bitCounts
}

// add takes words, each followed by one space. The capacity of text must allow reading
// eight bytes after its end.
func (s *shingles) add(text []byte) {
	const spaces = 0x2020202020202020
	end := len(text)
	text = text[:end+8]
	n, last, before := s.n, s.last, s.before
	for i := 0; i < end; n++ {
		word := uint64(mixB)
		for {
			v := binary.LittleEndian.Uint64(text[i:])
			gap := v ^ spaces
			gap = (gap - 0x0101010101010101) &^ gap & 0x8080808080808080
			if gap == 0 { // no space in these eight bytes
				word = mix(word ^ v)
				i += 8
				continue
			}
			word = mix(word ^ v&(gap&-gap>>7-1)) // the bytes before the first space
			i += bits.TrailingZeros64(gap)>>3 + 1
			break
		}
		if n >= 2 {
			s.batch[n&7] = mix(word ^ bits.RotateLeft64(last, 21) ^ bits.RotateLeft64(before, 42))
			if n&7 == 7 {
				s.counts.add(&s.batch)
				s.batch = [8]uint64{}
			}
		}
		before, last = last, word
	}
	s.n, s.last, s.before = n, last, before
}

// sum returns the fingerprint of the words so far.
func (s *shingles) sum() SimHash {
	features := s.n - 2
	switch s.n {
	case 0:
		return 0
	case 1, 2:
		return SimHash(mix(s.last ^ bits.RotateLeft64(s.before, 21)))
	}
	s.counts.add(&s.batch) // unused places have no bits set
	s.batch = [8]uint64{}
	var f SimHash
	s.counts.settle()
	used := bits.Len(uint(features))/3 + 1 // number of levels needed
	for bit := range 64 {
		if 2*s.counts.count(bit, used) > features {
			f |= 1 << bit
		}
	}
	return f
}

// bitCounts holds 64 parallel counters in octal: plane 0 of level k has bit 3k of all of
// them, so that one operation on words updates all counters. The overflow of a level
// waits until there are eight words.
type bitCounts struct {
	levels [9]bitLevel // enough for a text of 64 MiB in words of one letter
}

type bitLevel struct {
	planes  [3]uint64 // ones, twos and fours
	waiting [8]uint64 // words to be counted
	n       int       // how many wait
}

// add counts eight words.
func (c *bitCounts) add(x *[8]uint64) {
	for k := range c.levels[:len(c.levels)-1] {
		eights := c.levels[k].add(x)
		up := &c.levels[k+1]
		up.waiting[up.n&7] = eights
		if up.n++; up.n < len(up.waiting) {
			return
		}
		up.n = 0
		x = &up.waiting
	}
}

// settle counts everything that waits.
func (c *bitCounts) settle() {
	for k := range c.levels[:len(c.levels)-1] {
		l, up := &c.levels[k], &c.levels[k+1]
		if l.n > 0 {
			clear(l.waiting[l.n:])
			l.n = 0
			up.waiting[up.n] = l.add(&l.waiting)
			up.n++
		}
	}
}

// add counts eight words with carry-save adders and returns the overflow.
func (l *bitLevel) add(x *[8]uint64) (eights uint64) {
	ones, twos, fours := l.planes[0], l.planes[1], l.planes[2]
	var twosA, twosB, foursA, foursB uint64
	ones, twosA = carrySave(ones, x[0], x[1])
	ones, twosB = carrySave(ones, x[2], x[3])
	twos, foursA = carrySave(twos, twosA, twosB)
	ones, twosA = carrySave(ones, x[4], x[5])
	ones, twosB = carrySave(ones, x[6], x[7])
	twos, foursB = carrySave(twos, twosA, twosB)
	fours, eights = carrySave(fours, foursA, foursB)
	l.planes = [3]uint64{ones, twos, fours}
	return eights
}

// carrySave adds three bits in each of 64 positions.
func carrySave(a, b, c uint64) (sum, carry uint64) {
	u := a ^ b
	return u ^ c, a&b | u&c
}

// count returns the counter of one bit from the first levels, after settle.
func (c *bitCounts) count(bit, used int) int {
	n := 0
	for k := range c.levels[:used] {
		p := &c.levels[k].planes
		n |= int(p[0]>>bit&1|p[1]>>bit&1<<1|p[2]>>bit&1<<2) << (3 * k)
	}
	return n
}
