package content

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"headway/internal/htmltoken"
)

// appendText appends the main text as plain text: an empty line between paragraphs, a
// line per list item and table row, a tab between cells.
func (s *scanner) appendText(out []byte) []byte {
	last := int32(-1)
	for i := range s.blocks {
		b := &s.blocks[i]
		if !b.keep || b.chars == 0 {
			continue
		}
		start := len(out)
		if last >= 0 {
			out = append(out, s.gap(last, b.node)...)
		}
		begin := len(out)
		if out = s.appendBlock(out, b); len(out) == begin {
			out = out[:start]
			continue
		}
		last = b.node
	}
	return out
}

// gap returns what separates the texts of two nodes.
func (s *scanner) gap(a, b int32) string {
	if row := s.around(b, &rowTags); row > 0 {
		switch {
		case s.around(a, &rowTags) == row:
			return "\t"
		case s.around(a, &tableTag) == s.around(b, &tableTag):
			return "\n"
		}
	}
	if s.nodes[a].tag == htmltoken.TagLi && s.nodes[b].tag == htmltoken.TagLi {
		return "\n"
	}
	return "\n\n"
}

// around returns the innermost node of a set that is n or around it; -1 if there is none.
func (s *scanner) around(n int32, set *htmltoken.TagSet) int32 {
	for ; n > 0; n = s.nodes[n].parent {
		if set.Has(s.nodes[n].tag) {
			return n
		}
	}
	return -1
}

// appendBlock appends the text of one block.
func (s *scanner) appendBlock(out []byte, b *block) []byte {
	start, literal := len(out), s.isVerbatim(b)
	for _, r := range s.runs[b.run:b.end] {
		switch r.kind {
		case runText, runPlain:
			switch text := s.decode(r); {
			case literal:
				out = append(out, text...)
			case r.isEven():
				out = append(out, trimSpace(out, text, start)...)
			default:
				out = appendWords(out, text, start)
			}
		case runBreak:
			out = append(trimRight(out, start), '\n')
		}
	}
	return trimRight(out, start)
}

// isEven reports whether the text is words with single spaces, as written.
func (r run) isEven() bool { return r.all&byteWord != 0 && r.some&byteReference == 0 }

// trimSpace removes the space before a text if nothing in the block that ends with out
// needs it. The text of the block begins at start.
func trimSpace(out, text []byte, start int) []byte {
	if end := len(out); text[0] == ' ' && (end == start || out[end-1] == ' ' || out[end-1] == '\n') {
		return text[1:]
	}
	return text
}

// isVerbatim reports whether the white space of a block is kept.
func (s *scanner) isVerbatim(b *block) bool {
	tag := s.nodes[b.node].tag
	return tag == htmltoken.TagPre || tag == htmltoken.TagXMP || s.around(b.node, &verbatimTags) > 0
}

// decode returns the text of a run, references decoded and without control characters,
// until the next call.
func (s *scanner) decode(r run) []byte {
	text := s.src[r.at.start:r.at.end]
	decode := r.kind == runText && r.some&byteReference != 0
	if !decode && r.some&byteControl == 0 {
		return text
	}
	s.scratch = s.scratch[:0]
	if decode {
		s.scratch = htmltoken.AppendDecoded(s.scratch, text, htmltoken.InText)
	} else {
		s.scratch = append(s.scratch, text...)
	}
	if r.some&byteControl != 0 || bytes.Contains(text, numericReference) { // a name never means a control character
		s.scratch = slices.DeleteFunc(s.scratch, isControl)
	}
	return s.scratch
}

var numericReference = []byte("&#")

// Classes of bytes in text.
const (
	byteFirst     = 1 << iota // the first of a character other than white space
	byteWord                  // in words with single spaces: not other white space
	byteInner                 // of these, never markup in the middle of a line of Markdown
	bytePlain                 // of these, never markup at all
	byteControl               // a control character other than white space
	byteReference             // the start of a character reference
)

var textByte = func() (t [256]byte) {
	for i := range t {
		c := byte(i)
		if utf8.RuneStart(c) && !htmltoken.IsSpace(c) {
			t[c] |= byteFirst
		}
		if c == '&' {
			t[c] |= byteReference
		}
		switch {
		case c < ' ' && !htmltoken.IsSpace(c), c == 0x7f, c == '\r':
			t[c] |= byteControl
		case htmltoken.IsSpace(c) && c != ' ', c == nbsp[0]:
		case strings.IndexByte("\\`*[]<_~&|", c) >= 0:
			t[c] |= byteWord
		case strings.IndexByte(">#=-+.)", c) >= 0:
			t[c] |= byteWord | byteInner
		default:
			t[c] |= byteWord | byteInner | bytePlain
		}
	}
	return t
}()

// plainText are the classes that letters and spaces have in common.
const plainText = byteWord | byteInner | bytePlain

// topBits has the top bit of eight bytes.
const topBits = 0x8080808080808080

// spaces returns the top bit of each byte of v that is a space.
func spaces(v uint64) uint64 {
	v ^= 0x2020202020202020
	return ^((v&^topBits + ^uint64(topBits)) | v) & topBits
}

// letters returns the top bit of each byte of v that is an English letter.
func letters(v uint64) uint64 {
	small := (v | 0x2020202020202020) &^ topBits
	return (small + (0x80-'a')*0x0101010101010101) &^ (small + (0x80-'z'-1)*0x0101010101010101) &^ v & topBits
}

// nbsp is a no-break space.
const nbsp = "\u00a0"

// isControl reports whether c is a control character other than white space.
func isControl(c byte) bool { return textByte[c]&byteControl != 0 }

// plainLen returns the length of the words with single spaces at the start of b, of bytes
// of a class. b must not start with a space.
func plainLen(b []byte, class byte) int {
	i := 0
	for last := uint64(0); i+8 <= len(b); i += 8 { // eight bytes at once: most texts are long
		c := b[i : i+8 : i+8]
		v := binary.LittleEndian.Uint64(c)
		space := spaces(v)
		if letters(v)|space != topBits && textByte[c[0]]&textByte[c[1]]&textByte[c[2]]&textByte[c[3]]&textByte[c[4]]&textByte[c[5]]&textByte[c[6]]&textByte[c[7]]&class == 0 {
			break
		}
		if space&(space<<8|last>>56) != 0 {
			break // two spaces in a row
		}
		last = space
	}
	for i < len(b) && textByte[b[i]]&class != 0 && (b[i] != ' ' || b[i-1] != ' ') {
		i++
	}
	if i > 0 && b[i-1] == ' ' { // what follows decides whether it is written
		i--
	}
	return i
}

// appendWords appends text with white space collapsed. The text of the block begins at
// start.
func appendWords(out, text []byte, start int) []byte {
	for i := 0; i < len(text); {
		if n := spaceAt(text[i:]); n > 0 {
			if end := len(out); end > start && out[end-1] != ' ' && out[end-1] != '\n' {
				out = append(out, ' ')
			}
			i += n
			continue
		}
		n := max(1, plainLen(text[i:], byteWord))
		out = append(out, text[i:i+n]...)
		i += n
	}
	return out
}

// spaceAt returns the length of the white space character at the start of b, 0 if there is
// none. A no-break space is one.
func spaceAt(b []byte) int {
	switch {
	case htmltoken.IsSpace(b[0]):
		return 1
	case b[0] == nbsp[0] && len(b) > 1 && b[1] == nbsp[1]:
		return len(nbsp)
	}
	return 0
}

// trimRight removes white space at the end of out, but nothing before start.
func trimRight(out []byte, start int) []byte {
	for len(out) > start && htmltoken.IsSpace(out[len(out)-1]) {
		out = out[:len(out)-1]
	}
	return out
}
