package weburl

import (
	"encoding/binary"
	"math/bits"
)

// Key is the secret behind fingerprints. Make it once per store, from
// crypto/rand, and keep it with the data: other keys give other fingerprints.
type Key [16]byte

// Fingerprint128 is a 128-bit fingerprint, comparable and fit for a map key.
type Fingerprint128 [16]byte

// Fingerprint returns a keyed 64-bit hash of the canonical form.
func (u URL) Fingerprint(k Key) uint64 {
	lo, _ := sip(k, u.s, false)
	return lo
}

// Fingerprint128 returns a keyed 128-bit hash of the canonical form.
func (u URL) Fingerprint128(k Key) Fingerprint128 {
	lo, hi := sip(k, u.s, true)
	var f Fingerprint128
	binary.LittleEndian.PutUint64(f[:8], lo)
	binary.LittleEndian.PutUint64(f[8:], hi)
	return f
}

// sip computes SipHash-2-4 of s with 64 or 128 bits of output.
func sip(k Key, s string, wide bool) (lo, hi uint64) {
	k0 := binary.LittleEndian.Uint64(k[:8])
	k1 := binary.LittleEndian.Uint64(k[8:])
	v0, v1 := k0^0x736f6d6570736575, k1^0x646f72616e646f6d
	v2, v3 := k0^0x6c7967656e657261, k1^0x7465646279746573
	if wide {
		v1 ^= 0xee
	}
	round := func() {
		v0 += v1
		v2 += v3
		v1 = bits.RotateLeft64(v1, 13) ^ v0
		v3 = bits.RotateLeft64(v3, 16) ^ v2
		v0 = bits.RotateLeft64(v0, 32)
		v2 += v1
		v0 += v3
		v1 = bits.RotateLeft64(v1, 17) ^ v2
		v3 = bits.RotateLeft64(v3, 21) ^ v0
		v2 = bits.RotateLeft64(v2, 32)
	}
	last := uint64(len(s)) << 56
	for ; len(s) >= 8; s = s[8:] {
		m := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		v3 ^= m
		round()
		round()
		v0 ^= m
	}
	for i := range len(s) {
		last |= uint64(s[i]) << (8 * i)
	}
	v3 ^= last
	round()
	round()
	v0 ^= last
	if wide {
		v2 ^= 0xee
	} else {
		v2 ^= 0xff
	}
	for range 4 {
		round()
	}
	lo = v0 ^ v1 ^ v2 ^ v3
	if !wide {
		return lo, 0
	}
	v1 ^= 0xdd
	for range 4 {
		round()
	}
	return lo, v0 ^ v1 ^ v2 ^ v3
}
