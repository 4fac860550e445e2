package weburl

import (
	"encoding/binary"
	"math/bits"
)

// SipHash-2-4 (Aumasson and Bernstein, 2012), implemented here because a few lines of
// arithmetic are not worth a dependency. The four words of state are passed separately:
// in a struct they would not stay in registers.

// sipHash64 returns the 64-bit hash of s.
func sipHash64(k Key, s string) uint64 {
	v0, v1, v2, v3 := sipInit(k)
	v0, v1, v2, v3 = sipAbsorb(v0, v1, v2, v3, s)
	v0, v1, v2, v3 = sipFinish(v0, v1, v2^0xff, v3)
	return v0 ^ v1 ^ v2 ^ v3
}

// sipHash128 returns the two halves of the 128-bit hash of s.
func sipHash128(k Key, s string) (lo, hi uint64) {
	v0, v1, v2, v3 := sipInit(k)
	v0, v1, v2, v3 = sipAbsorb(v0, v1^0xee, v2, v3, s)
	v0, v1, v2, v3 = sipFinish(v0, v1, v2^0xee, v3)
	lo = v0 ^ v1 ^ v2 ^ v3
	v0, v1, v2, v3 = sipFinish(v0, v1^0xdd, v2, v3)
	return lo, v0 ^ v1 ^ v2 ^ v3
}

// sipInit returns the initial state for a key.
func sipInit(k Key) (v0, v1, v2, v3 uint64) {
	k0, k1 := binary.LittleEndian.Uint64(k[:8]), binary.LittleEndian.Uint64(k[8:])
	return k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573
}

// sipAbsorb mixes in s, eight bytes at a time, and its length.
func sipAbsorb(v0, v1, v2, v3 uint64, s string) (_, _, _, _ uint64) {
	last := uint64(len(s)) << 56
	for ; len(s) >= 8; s = s[8:] {
		m := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		v3 ^= m
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
		v0 ^= m
	}
	for i := range len(s) {
		last |= uint64(s[i]) << (8 * i)
	}
	v3 ^= last
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	return v0 ^ last, v1, v2, v3
}

// sipFinish finalises the state.
func sipFinish(v0, v1, v2, v3 uint64) (_, _, _, _ uint64) {
	for range 4 {
		v0, v1, v2, v3 = sipRound(v0, v1, v2, v3)
	}
	return v0, v1, v2, v3
}

// sipRound is one round; small enough to be inlined.
func sipRound(v0, v1, v2, v3 uint64) (_, _, _, _ uint64) {
	v0 += v1
	v2 += v3
	v1 = bits.RotateLeft64(v1, 13) ^ v0
	v3 = bits.RotateLeft64(v3, 16) ^ v2
	v0 = bits.RotateLeft64(v0, 32)
	v2 += v1
	v0 += v3
	v1 = bits.RotateLeft64(v1, 17) ^ v2
	v3 = bits.RotateLeft64(v3, 21) ^ v0
	return v0, v1, bits.RotateLeft64(v2, 32), v3
}
