package htmltoken

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// Token is what the tokenizer stopped at. Every token may have text before it.
type Token uint8

// The tokens.
const (
	End   Token = iota // end of the input; the rest is text
	Gap                // a comment, doctype or other irrelevant markup
	Start              // a start tag, with or without a closing slash
	Close              // an end tag
	Raw                // the content of a raw text element, such as script
)

// Tokenizer splits HTML into tags and text, following section 13.2.5 of the HTML Standard.
// It works in place on a byte slice: it builds no tree, copies nothing and keeps only
// offsets. The encoding must contain ASCII; in practice it is UTF-8.
//
// Comments and doctypes are skipped, and only the
// known attributes are kept. CDATA sections are bogus comments, as they are
// everywhere outside SVG and MathML. noscript is markup, since no scripts run here.
//
// Each byte is read a bounded number of times, so the time is linear for any input.
type Tokenizer struct {
	src []byte
	pos int

	Text  Span   // text before the token, or the content of a raw text element
	Tag   Tag    // name of a start or end tag, or of the raw text element
	want  TagSet // tags whose attributes are kept
	Attrs Attrs  // kept attributes of a start tag
	raw   Tag    // raw text element in which the next token starts
}

// Reader reads the tokens that somebody else asks for, so that a page is read once for
// several purposes. It needs the attributes of all tags.
type Reader interface {
	// Begin precedes the first token of src.
	Begin(z *Tokenizer, src []byte)
	// Read follows each call of Next, with what it returned.
	Read(token Token)
}

// Span is a part of the tokenizer's input.
type Span struct{ Start, End int }

// Reset makes z read src from the start, keeping the attributes of the tags in
// want.
func (z *Tokenizer) Reset(src []byte, want TagSet) {
	*z = Tokenizer{src: src, want: want}
}

// Bytes returns the input that s covers.
func (z *Tokenizer) Bytes(s Span) []byte { return z.src[s.Start:s.End] }

// Next reads up to the next token. After End it must not be called again.
func (z *Tokenizer) Next() Token {
	if z.raw != TagOther {
		if z.Tag = z.raw; z.readRaw() {
			return Raw
		}
	}
	src, start := z.src, z.pos
	for i := start; ; {
		i = find(src, i, '<')
		if i < 0 || i+1 >= len(src) {
			z.Text, z.pos = Span{start, len(src)}, len(src)
			return End
		}
		z.Text = Span{start, i}
		var kind Token
		var end int
		switch c := src[i+1]; {
		case isLetter(c):
			kind, end = Start, z.startTag(i+1)
		case c == '/':
			if i+2 >= len(src) {
				z.Text, z.pos = Span{start, len(src)}, len(src)
				return End
			}
			if isLetter(src[i+2]) {
				kind, end = Close, z.endTag(i+2)
			} else {
				kind, end = Gap, skipTo(src, i+2, '>')
			}
		case c == '!':
			kind, end = Gap, skipDeclaration(src, i+2)
		case c == '?':
			kind, end = Gap, skipTo(src, i+2, '>')
		default: // a single "<" is text
			i++
			continue
		}
		if end < 0 { // the input ends inside markup, which is dropped
			z.pos = len(src)
			return End
		}
		z.pos = end
		return kind
	}
}

// startTag reads a start tag whose name begins at i. It returns where the tag
// ends, or -1 when the input ends first.
func (z *Tokenizer) startTag(i int) int {
	name, i := readName(z.src, i)
	if i >= len(z.src) {
		return -1
	}
	z.Tag = name
	z.Attrs.have = 0
	if z.src[i] == '>' {
		i++
	} else if i = z.Attrs.Read(z.src, i, z.want.Has(name)); i < 0 {
		return -1
	}
	if RawTags.Has(name) {
		z.raw = name
	}
	return i
}

// endTag reads an end tag whose name starts at i. It may have attributes, which are
// ignored, but whose quotes can hide a ">".
func (z *Tokenizer) endTag(i int) int {
	name, i := readName(z.src, i)
	if i >= len(z.src) {
		return -1
	}
	z.Tag = name
	if z.src[i] == '>' {
		return i + 1
	}
	var unused Attrs
	return unused.Read(z.src, i, false)
}

// skipTo returns the position after the next c at or after i, or -1.
func skipTo(src []byte, i int, c byte) int {
	if i = find(src, i, c); i < 0 {
		return -1
	}
	return i + 1
}

// find returns the position of the next c at or after i, or -1. It is mostly near, so the
// first eight bytes are tried before the general search.
func find(src []byte, i int, c byte) int {
	const (
		low  = 0x0101010101010101
		high = 0x8080808080808080
	)
	if len(src)-i >= 8 {
		v := binary.LittleEndian.Uint64(src[i:]) ^ low*uint64(c)
		if v = (v - low) &^ v & high; v != 0 {
			return i + bits.TrailingZeros64(v)>>3
		}
		i += 8
	}
	j := bytes.IndexByte(src[i:], c)
	if j < 0 {
		return -1
	}
	return i + j
}

// skipDeclaration skips what starts with "<!" before i: a comment, or anything else up to
// the next ">".
func skipDeclaration(src []byte, i int) int {
	if i+2 > len(src) || src[i] != '-' || src[i+1] != '-' {
		return skipTo(src, i, '>')
	}
	begin := i + 2
	for i = begin; ; {
		if i = skipTo(src, i, '>'); i < 0 {
			return -1
		}
		if commentEnds(src[begin : i-1]) {
			return i
		}
	}
}

// commentEnds reports whether a ">" ends the comment whose text so far is
// data: after "--" or "--!", or directly at the start as in "<!-->".
func commentEnds(data []byte) bool {
	n := len(data)
	switch {
	case n == 0, n == 1 && data[0] == '-':
		return true
	case n >= 2 && data[n-1] == '-' && data[n-2] == '-':
		return true
	case n >= 3 && data[n-1] == '!' && data[n-2] == '-' && data[n-3] == '-':
		return true
	}
	return false
}
