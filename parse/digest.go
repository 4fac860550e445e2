package parse

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"

	"headway/internal/htmltoken"
)

// Digest identifies the visible text of a page independently of its markup: the XXH3-128
// of its words with single spaces, in UTF-8, character references decoded. The digest of
// a page without text is zero. It finds equal pages; it is not secure against
// deliberate collisions.
type Digest [16]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// IsZero reports whether the page had no text.
func (d Digest) IsZero() bool { return d == Digest{} }

// DigestOf returns the digest of a text in UTF-8, its white space collapsed, and how many
// words it has.
func DigestOf(text []byte) (Digest, int) {
	d := documents.Get().(*document)
	d.text.reset()
	d.text.noSimHash = true
	d.text.write(text, false)
	digest, _, words := d.text.sum()
	d.text.noSimHash = false
	documents.Put(d)
	return digest, words
}

const (
	// textBlock is how much text is collected before it is hashed. Most pages fit, so
	// that hashing is one pass over memory still in the CPU cache.
	textBlock = 64 << 10
	// textPiece is how much text is processed at once; no piece grows beyond its
	// length and one character reference.
	textPiece = 4 << 10
)

// visibleText reduces the text of a page to a digest, a simhash and a word count, in
// bounded memory. Words end at white space and at every tag.
type visibleText struct {
	buf    []byte // words not hashed yet, each followed by a space
	hasher xxh3.Hasher
	words  shingles

	noSimHash bool // words are only counted
}

// reset makes t ready for another page.
func (t *visibleText) reset() {
	if t.buf == nil {
		t.buf = make([]byte, 0, textBlock+2*textPiece)
	}
	t.buf = t.buf[:0]
	t.hasher.Reset()
	t.words = shingles{}
}

// Classes of bytes in text.
const (
	textPlain byte = iota
	textSpace
	textOdd // special: "&", NUL, and the first byte of a no-break space
)

var textByte = func() (t [256]byte) {
	for _, c := range []byte("\t\n\f\r ") {
		t[c] = textSpace
	}
	t[0], t['&'], t[nbsp[0]] = textOdd, textOdd, textOdd
	return t
}()

// nbsp is a no-break space, which separates words like any other.
const nbsp = "\u00a0"

// write adds the text between two tags. With decode, character references are decoded.
func (t *visibleText) write(run []byte, decode bool) {
	for len(run) > textPiece {
		n := pieceEnd(run)
		t.write(run[:n], decode)
		run = run[n:]
	}
	if len(t.buf)+len(run) > textBlock {
		t.flush()
	}
	t.buf = appendWords(t.buf, run, decode)
}

// pieceEnd returns where to cut a long run: after the last white space of a piece, or at
// its end if there is none.
func pieceEnd(run []byte) int {
	for n := textPiece; n > textPiece/2; n-- {
		if textByte[run[n-1]] == textSpace {
			return n
		}
	}
	return textPiece
}

// appendWords appends the words of run, each followed by one space.
func appendWords(dst, run []byte, decode bool) []byte {
	for i := 0; i < len(run); {
		for i < len(run) && textByte[run[i]] == textSpace {
			i++
		}
		if i == len(run) {
			break
		}
		var n int
		dst, n = appendInOrder(dst, run[i:])
		for i += n; i < len(run) && textByte[run[i]] == textPlain; i++ {
			dst = append(dst, run[i])
		}
		for i < len(run) && textByte[run[i]] == textOdd {
			before := len(dst)
			dst, n = appendOdd(dst, run[i:], decode)
			i += n
			if isBlank(dst[before:]) {
				dst = dst[:before]
				break
			}
			for i < len(run) && textByte[run[i]] == textPlain {
				dst = append(dst, run[i])
				i++
			}
		}
		if n := len(dst); n > 0 && dst[n-1] != ' ' {
			dst = append(dst, ' ')
		}
	}
	return dst
}

// appendInOrder appends the longest prefix of run that is already normalised: words with
// single spaces, and no space at its end unless the run ends with it. It returns the length
// of that prefix. It compares and copies eight bytes at a time, which keeps the digest cheap;
// near the end of memory it may stop early. run must not start with a space.
func appendInOrder(dst, run []byte) ([]byte, int) {
	const (
		low  = 0x0101010101010101
		high = 0x8080808080808080
	)
	dst = slices.Grow(dst, len(run)+8)
	out := dst[len(dst):cap(dst)]
	i, last := 0, uint64(0) // last has the top bit set after a space
	for i < len(run) {
		if cap(run)-i < 8 {
			break
		}
		v := binary.LittleEndian.Uint64(run[i : i+8])
		if left := len(run) - i; left < 8 { // missing bytes count as letters
			mask := uint64(1)<<(8*left) - 1
			v = v&mask | 'a'*low&^mask
		}
		control := (v - ' '*low) &^ v
		amp := v ^ '&'*low
		amp = (amp - low) &^ amp
		odd := v ^ 0xc2*low // the first byte of a no-break space
		odd = (odd - low) &^ odd
		space := v ^ ' '*low
		space = ^((space&^high + ^uint64(high)) | space) & high
		twice := space & (space<<8 | last>>56)
		binary.LittleEndian.PutUint64(out[i:], v)
		if stop := (control|amp|odd)&high | twice; stop != 0 {
			i += bits.TrailingZeros64(stop) >> 3
			break
		}
		last = space
		i += 8
	}
	if i >= len(run) {
		return dst[:len(dst)+len(run)], len(run)
	}
	if i > 0 && run[i-1] == ' ' {
		i-- // the next call decides about the space
	}
	return dst[:len(dst)+i], i
}

// appendOdd appends the meaning of the special byte at the start of run, and returns how
// much of run it consumed.
func appendOdd(dst, run []byte, decode bool) ([]byte, int) {
	switch c := run[0]; {
	case c == '&' && decode:
		return htmltoken.AppendReference(dst, run, htmltoken.InText)
	case c == nbsp[0] && len(run) > 1 && run[1] == nbsp[1]:
		return append(dst, nbsp...), len(nbsp)
	case c == 0: // NUL is dropped
		return dst, 1
	default:
		return append(dst, c), 1
	}
}

// isBlank reports whether a decoded reference is white space.
func isBlank(b []byte) bool {
	return string(b) == nbsp || len(b) == 1 && textByte[b[0]] == textSpace
}

// flush hashes the collected text.
func (t *visibleText) flush() {
	n := len(t.buf)
	if n == 0 {
		return
	}
	// The space after the last word is hashed only if another word follows. Writing
	// to a hash never fails.
	if t.words.n > 0 {
		_, _ = t.hasher.WriteString(" ")
	}
	_, _ = t.hasher.Write(t.buf[:n-1])
	t.addWords()
	t.buf = t.buf[:0]
}

// addWords counts the words that were collected, and adds them to the simhash.
func (t *visibleText) addWords() {
	if t.noSimHash {
		t.words.n += bytes.Count(t.buf, space)
		return
	}
	t.words.add(t.buf)
}

var space = []byte{' '}

// sum returns the results for the text since the last reset.
func (t *visibleText) sum() (d Digest, s SimHash, words int) {
	if t.words.n == 0 && len(t.buf) > 0 { // all in one block: no need to stream
		d = xxh3.Hash128(t.buf[:len(t.buf)-1]).Bytes()
		t.addWords()
		return d, t.words.sum(), t.words.n
	}
	t.flush()
	if t.words.n == 0 {
		return Digest{}, 0, 0
	}
	return t.hasher.Sum128().Bytes(), t.words.sum(), t.words.n
}
