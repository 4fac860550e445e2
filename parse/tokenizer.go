package parse

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// token is what the tokenizer stopped at. Every token may have text before it.
type token uint8

const (
	tokenEnd   token = iota // end of the input; the rest is text
	tokenGap                // a comment, doctype or other irrelevant markup
	tokenStart              // a start tag, with or without a closing slash
	tokenClose              // an end tag
	tokenRaw                // the content of a raw text element, such as script
)

// tokenizer splits HTML into tags and text, following section 13.2.5 of the HTML Standard.
// It works in place on a byte slice: it builds no tree, copies nothing and keeps only
// offsets. The encoding must contain ASCII; in practice it is UTF-8.
//
// Left out, because no link depends on it: comments and doctypes are skipped, and only the
// attributes in attr.go are kept. CDATA sections are bogus comments, as they are
// everywhere outside SVG and MathML. noscript is markup, since no scripts run here.
//
// Each byte is read a bounded number of times, so the time is linear for any input.
type tokenizer struct {
	src []byte
	pos int

	text  span    // text before the token, or the content of a raw text element
	tag   tagName // name of a start or end tag, or of the raw text element
	want  tagSet  // tags whose attributes are kept
	attrs attrs   // kept attributes of a start tag
	raw   tagName // raw text element in which the next token starts
}

// span is a part of the tokenizer's input.
type span struct{ start, end int }

// reset makes z read src from the start, keeping the attributes of the tags in
// want.
func (z *tokenizer) reset(src []byte, want tagSet) {
	*z = tokenizer{src: src, want: want}
}

// bytes returns the input that s covers.
func (z *tokenizer) bytes(s span) []byte { return z.src[s.start:s.end] }

// next reads up to the next token. After tokenEnd it must not be called again.
func (z *tokenizer) next() token {
	if z.raw != tagOther {
		if z.tag = z.raw; z.readRaw() {
			return tokenRaw
		}
	}
	src, start := z.src, z.pos
	for i := start; ; {
		i = find(src, i, '<')
		if i < 0 || i+1 >= len(src) {
			z.text, z.pos = span{start, len(src)}, len(src)
			return tokenEnd
		}
		z.text = span{start, i}
		var kind token
		var end int
		switch c := src[i+1]; {
		case isLetter(c):
			kind, end = tokenStart, z.startTag(i+1)
		case c == '/':
			if i+2 >= len(src) {
				z.text, z.pos = span{start, len(src)}, len(src)
				return tokenEnd
			}
			if isLetter(src[i+2]) {
				kind, end = tokenClose, z.endTag(i+2)
			} else {
				kind, end = tokenGap, skipTo(src, i+2, '>')
			}
		case c == '!':
			kind, end = tokenGap, skipDeclaration(src, i+2)
		case c == '?':
			kind, end = tokenGap, skipTo(src, i+2, '>')
		default: // a single "<" is text
			i++
			continue
		}
		if end < 0 { // the input ends inside markup, which is dropped
			z.pos = len(src)
			return tokenEnd
		}
		z.pos = end
		return kind
	}
}

// startTag reads a start tag whose name begins at i. It returns where the tag
// ends, or -1 when the input ends first.
func (z *tokenizer) startTag(i int) int {
	name, i := readName(z.src, i)
	if i >= len(z.src) {
		return -1
	}
	z.tag = name
	z.attrs.have = 0
	if z.src[i] == '>' {
		i++
	} else if i = z.attrs.read(z.src, i, z.want.has(name)); i < 0 {
		return -1
	}
	if rawTags.has(name) {
		z.raw = name
	}
	return i
}

// endTag reads an end tag whose name starts at i. It may have attributes, which are
// ignored, but whose quotes can hide a ">".
func (z *tokenizer) endTag(i int) int {
	name, i := readName(z.src, i)
	if i >= len(z.src) {
		return -1
	}
	z.tag = name
	if z.src[i] == '>' {
		return i + 1
	}
	var unused attrs
	return unused.read(z.src, i, false)
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

// isLetter reports whether c is an ASCII letter.
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
