package parse

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// SimHash is a fingerprint of visible text in which similar texts differ in
// few bits (Charikar 2002). Its features are the runs of three words; a text
// of fewer words is one feature. The fingerprint of a page without text is 0.
// It is the same on every machine and is kept in stores: a change of any
// constant here would make old and new fingerprints incomparable.
type SimHash uint64

// Distance returns in how many of 64 bits two fingerprints differ. Pages with
// the same text and small changes are a few bits apart; unrelated ones about 32.
func (s SimHash) Distance(other SimHash) int { return bits.OnesCount64(uint64(s ^ other)) }

// String returns the fingerprint as 16 hexadecimal digits.
func (s SimHash) String() string { return fmt.Sprintf("%016x", uint64(s)) }

// Odd numbers without a pattern; others would do as well, but not later.
const (
	mixA = 0x9e3779b97f4a7c15
	mixB = 0xd6e8feb86659fd93
)

// mix spreads the bits of x over the whole word.
func mix(x uint64) uint64 {
	hi, lo := bits.Mul64(x^mixA, mixB)
	return hi ^ lo
}

// shingles turns words into three-word features and counts, for each of 64
// bits, in how many of them it is set.
type shingles struct {
	n            int // words so far
	last, before uint64
	batch        [8]uint64 // features not counted yet; those of words 8k to 8k+7
	counts       bitCounts
}

// add takes words that each have one space behind them. The capacity of text
// must leave eight bytes to read behind its end.
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
			bits := bits.TrailingZeros64(gap) &^ 7
			word = mix(word ^ v&(1<<bits-1))
			i += bits>>3 + 1
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
	s.counts.add(&s.batch) // places without a feature have no bits, and count for nothing
	s.batch = [8]uint64{}
	var f SimHash
	for bit := range 64 {
		if 2*s.counts.count(bit) > features {
			f |= 1 << bit
		}
	}
	return f
}

// bitCounts holds 64 counters side by side: plane k has bit k of all of them,
// so that one addition of words adds to all counters at once.
type bitCounts struct {
	planes [26]uint64 // enough for a text of 64 MiB in words of one letter
}

// add counts eight words, three at a time through a carry-save adder.
func (c *bitCounts) add(x *[8]uint64) {
	ones, twos, fours := c.planes[0], c.planes[1], c.planes[2]
	var twosA, twosB, foursA, foursB, eights uint64
	ones, twosA = carrySave(ones, x[0], x[1])
	ones, twosB = carrySave(ones, x[2], x[3])
	twos, foursA = carrySave(twos, twosA, twosB)
	ones, twosA = carrySave(ones, x[4], x[5])
	ones, twosB = carrySave(ones, x[6], x[7])
	twos, foursB = carrySave(twos, twosA, twosB)
	fours, eights = carrySave(fours, foursA, foursB)
	c.planes[0], c.planes[1], c.planes[2] = ones, twos, fours
	for k := 3; eights != 0 && k < len(c.planes); k++ {
		c.planes[k], eights = c.planes[k]^eights, c.planes[k]&eights
	}
}

// carrySave adds three bits in each of 64 places.
func carrySave(a, b, c uint64) (sum, carry uint64) {
	u := a ^ b
	return u ^ c, a&b | u&c
}

// count returns the counter of one bit.
func (c *bitCounts) count(bit int) int {
	n := 0
	for k, p := range c.planes {
		n |= int(p>>bit&1) << k
	}
	return n
}
