package weburl

import "encoding/binary"

// Key is the secret key of fingerprints. Create it once per store, from crypto/rand,
// and keep it with the data: another key gives other fingerprints.
type Key [16]byte

// Fingerprint128 is a fingerprint wide enough to identify a URL: among 2^40 URLs the
// chance of any collision is about 2^-49.
type Fingerprint128 [16]byte

// Fingerprint returns a 64-bit fingerprint of u under a key: enough for caches and for
// choosing a slot, where a rare collision costs little.
//
// Page authors choose the URLs that are hashed. With an unkeyed hash, or one whose seed
// can be bypassed as in the xxHash family, a site could publish links that all collide,
// to fill one bucket or to make a URL look already seen. SipHash-2-4 is a pseudo-random
// function made for this: collisions cannot be found without the key. It takes about
// 60 ns for a typical URL, five times xxh3, and far less than the rest of the work for a
// link.
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
