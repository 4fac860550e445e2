package parse

import (
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/zeebo/xxh3"
)

// Digest identifies the visible text of a page, whatever its markup: the
// XXH3-128 of its words with one space between them, in UTF-8, character
// references decoded. The digest of a page without text is zero. It finds
// equal pages; it is no defence against someone who wants two to collide.
type Digest [16]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// IsZero reports whether the page had no text.
func (d Digest) IsZero() bool { return d == Digest{} }

const (
	// textBlock is how much text is collected before it is hashed. Most pages
	// fit, so that hashing is one pass over memory that is still in the cache.
	textBlock = 64 << 10
	// textPiece is how much text is taken at once; no piece grows beyond its
	// own length and one character reference.
	textPiece = 4 << 10
)

// visibleText reduces the text of a page to a digest, a simhash and a number
// of words, in memory that does not grow with the page. Words end at white
// space and at every tag.
type visibleText struct {
	buf    []byte // words not hashed yet, each with a space behind it
	hasher xxh3.Hasher
	words  shingles
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
	textOdd // needs a look: "&", NUL, and the first byte of a no-break space
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

// write adds the text between two tags. With decode set, character references
// are decoded.
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

// pieceEnd returns where to cut a long run: behind the last white space of a
// piece, or at its end if it has none.
func pieceEnd(run []byte) int {
	for n := textPiece; n > textPiece/2; n-- {
		if textByte[run[n-1]] == textSpace {
			return n
		}
	}
	return textPiece
}

// appendWords appends the words of run, each with one space behind it.
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

// appendInOrder appends the beginning of run that is in order already: words
// with single spaces between them. It returns the length of that beginning, not
// always the longest possible. Eight bytes at a time are looked at and copied,
// which is what keeps the digest cheap. run must not begin with a space.
func appendInOrder(dst, run []byte) ([]byte, int) {
	const (
		low  = 0x0101010101010101
		high = 0x8080808080808080
	)
	dst = slices.Grow(dst, len(run)+8)
	out := dst[len(dst):cap(dst)]
	i, last := 0, uint64(0) // last has the top bit set if a space came before
	for i < len(run) {
		if cap(run)-i < 8 {
			break
		}
		v := binary.LittleEndian.Uint64(run[i : i+8])
		if left := len(run) - i; left < 8 { // what lies behind counts as letters
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
		if (control|amp|odd)&high|twice != 0 {
			break
		}
		binary.LittleEndian.PutUint64(out[i:], v)
		last = space
		i += 8
	}
	if i >= len(run) {
		return dst[:len(dst)+len(run)], len(run)
	}
	if last>>63 != 0 {
		i-- // what follows decides what becomes of the space
	}
	return dst[:len(dst)+i], i
}

// appendOdd appends what the odd byte at the start of run stands for, and
// returns how much of run it took.
func appendOdd(dst, run []byte, decode bool) ([]byte, int) {
	switch c := run[0]; {
	case c == '&' && decode:
		return appendReference(dst, run, inText)
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
	// The space behind the last word is hashed only if another word follows. A
	// hash takes everything, so there are no errors to look at.
	if t.words.n > 0 {
		_, _ = t.hasher.WriteString(" ")
	}
	_, _ = t.hasher.Write(t.buf[:n-1])
	t.words.add(t.buf)
	t.buf = t.buf[:0]
}

// sum returns what became of the text written since the last reset.
func (t *visibleText) sum() (d Digest, s SimHash, words int) {
	if t.words.n == 0 && len(t.buf) > 0 { // all in one block: no need to stream
		d = xxh3.Hash128(t.buf[:len(t.buf)-1]).Bytes()
		t.words.add(t.buf)
		return d, t.words.sum(), t.words.n
	}
	t.flush()
	if t.words.n == 0 {
		return Digest{}, 0, 0
	}
	return t.hasher.Sum128().Bytes(), t.words.sum(), t.words.n
}
