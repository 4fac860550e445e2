package weburl

import (
	"encoding/binary"
	"math/bits"
)

// sipState is the state of SipHash-2-4 (Aumasson and Bernstein, 2012), written
// here because a few lines of arithmetic are not worth a dependency.
type sipState struct{ v0, v1, v2, v3 uint64 }

// sipHash64 returns the 64-bit hash of s.
func sipHash64(k Key, s string) uint64 {
	h := newSipState(k)
	h.absorb(s)
	h.v2 ^= 0xff
	return h.squeeze()
}

// sipHash128 returns the two halves of the 128-bit hash of s.
func sipHash128(k Key, s string) (lo, hi uint64) {
	h := newSipState(k)
	h.v1 ^= 0xee
	h.absorb(s)
	h.v2 ^= 0xee
	lo = h.squeeze()
	h.v1 ^= 0xdd
	return lo, h.squeeze()
}

func newSipState(k Key) sipState {
	k0, k1 := binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:])
	return sipState{
		k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d,
		k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573,
	}
}

// absorb mixes in s and its length, eight bytes at a time.
func (h *sipState) absorb(s string) {
	x := *h // in registers
	last := uint64(len(s)) << 56
	for ; len(s) >= 8; s = s[8:] {
		m := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		x.v3 ^= m
		x.round()
		x.round()
		x.v0 ^= m
	}
	for i := range len(s) {
		last |= uint64(s[i]) << (8 * i)
	}
	x.v3 ^= last
	x.round()
	x.round()
	x.v0 ^= last
	*h = x
}

// squeeze finishes one word of output.
func (h *sipState) squeeze() uint64 {
	for range 4 {
		h.round()
	}
	return h.v0 ^ h.v1 ^ h.v2 ^ h.v3
}

func (h *sipState) round() {
	h.v0 += h.v1
	h.v2 += h.v3
	h.v1 = bits.RotateLeft64(h.v1, 13) ^ h.v0
	h.v3 = bits.RotateLeft64(h.v3, 16) ^ h.v2
	h.v0 = bits.RotateLeft64(h.v0, 32)
	h.v2 += h.v1
	h.v0 += h.v3
	h.v1 = bits.RotateLeft64(h.v1, 17) ^ h.v2
	h.v3 = bits.RotateLeft64(h.v3, 21) ^ h.v0
	h.v2 = bits.RotateLeft64(h.v2, 32)
}
