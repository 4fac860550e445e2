package weburl

import "encoding/binary"

// Key is the secret behind fingerprints. Make it once per store, from
// crypto/rand, and keep it with the data: another key gives other
// fingerprints.
type Key [16]byte

// Fingerprint128 is a fingerprint wide enough to stand for a URL: among 2^40
// URLs the chance that any two share one is about 2^-49.
type Fingerprint128 [16]byte

// Fingerprint returns a 64-bit fingerprint of u under a key: enough for caches
// and for choosing a slot, where a rare collision costs little.
//
// Whoever writes a page chooses the URLs that are hashed. With a hash that can
// be computed without the key, or whose seed can be worked around as with the
// xxHash family, a site could publish links that all collide and so fill one
// bucket, or make a URL look like one that was seen already. SipHash-2-4 is a
// pseudo-random function made for this: colliding links cannot be found
// without the key. It costs about 60 ns for a typical URL, five times xxh3,
// and far less than everything else that is done for a link.
func (u URL) Fingerprint(k Key) uint64 {
	return sipHash64(k, u.s)
}

// Fingerprint128 is [URL.Fingerprint] with 128 bits, for uses where a
// collision would lose a URL.
func (u URL) Fingerprint128(k Key) Fingerprint128 {
	lo, hi := sipHash128(k, u.s)
	var f Fingerprint128
	binary.LittleEndian.PutUint64(f[:8], lo)
	binary.LittleEndian.PutUint64(f[8:], hi)
	return f
}
