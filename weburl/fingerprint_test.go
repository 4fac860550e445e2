package weburl

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"testing"
)

// TestSipHash runs the published SipHash-2-4 vectors: the key is 00 01 … 0f,
// the message of length n is 00 01 … n-1, for n from 0 to 63. Some are spelt
// out; of all 64 the SHA-256 is compared.
func TestSipHash(t *testing.T) {
	var k Key
	for i := range k {
		k[i] = byte(i)
	}
	short := map[int]string{
		0: "310e0edd47db6f72", 1: "fd67dc93c539f874", 7: "37d1018bf50002ab", 8: "6224939a79f5f593",
		15: "e545be4961ca29a1", 16: "db9bc2577fcc2a3f", 63: "724506eb4c328a95",
	}
	wide := map[int]string{
		0: "a3817f04ba25a8e66df67214c7550293", 1: "da87c1d86b99af44347659119b22fc45",
		7: "a1f1ebbed8dbc153c0b84aa61ff08239", 8: "3b62a9ba6258f5610f83e264f31497b4",
		15: "5493e99933b0a8117e08ec0f97cfc3d9", 63: "5150d1772f50834a503e069a973fbd7c",
	}
	var message, allShort, allWide []byte
	for n := range 64 {
		// The fields are set by hand: the vectors are bytes, not URLs.
		u := URL{s: string(message)}
		got := binary.LittleEndian.AppendUint64(nil, u.Fingerprint(k))
		if want, ok := short[n]; ok && hex.EncodeToString(got) != want {
			t.Errorf("64 bits of %d bytes: %x, want %s", n, got, want)
		}
		allShort = append(allShort, got...)
		f := u.Fingerprint128(k)
		if want, ok := wide[n]; ok && hex.EncodeToString(f[:]) != want {
			t.Errorf("128 bits of %d bytes: %x, want %s", n, f, want)
		}
		allWide = append(allWide, f[:]...)
		message = append(message, byte(n))
	}
	for _, tt := range []struct {
		name, want string
		got        []byte
	}{
		{"64 bits", "0226a91002af9775a791b3ec5a48e643f8848d2d5774dea9be3438d5786bb58e", allShort},
		{"128 bits", "ecfaa9fe47ff788fa834a9863ea2715a2880cd37d2b8c3c194402838428119b9", allWide},
	} {
		if sum := sha256.Sum256(tt.got); hex.EncodeToString(sum[:]) != tt.want {
			t.Errorf("%s: SHA-256 of all hashes is %x, want %s", tt.name, sum, tt.want)
		}
	}
}

// TestFingerprintKey checks that fingerprints depend on URL and key.
func TestFingerprintKey(t *testing.T) {
	u, v := mustParse(t, "https://example.com/a"), mustParse(t, "https://example.com/b")
	same := mustParse(t, "HTTPS://example.com:443/a#x")
	k, l := Key{1}, Key{2}
	if u.Fingerprint(k) != same.Fingerprint(k) || u.Fingerprint128(k) != same.Fingerprint128(k) {
		t.Error("one URL has two fingerprints")
	}
	if u.Fingerprint(k) == v.Fingerprint(k) || u.Fingerprint128(k) == v.Fingerprint128(k) {
		t.Error("two URLs share a fingerprint")
	}
	if u.Fingerprint(k) == u.Fingerprint(l) || u.Fingerprint128(k) == u.Fingerprint128(l) {
		t.Error("the key makes no difference")
	}
}
