package content

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"headway/internal/htmltoken"
	"headway/weburl"
)

// inline writes the text of one block as Markdown. White space is written before the next
// character, so that marks enclose words closely, as Markdown requires.
type inline struct {
	*scanner
	base   weburl.URL
	out    []byte
	marks  []openMark
	line   int // where the line begins in out
	space  bool
	breaks int
	code   int // where the code begins in out, -1 outside of code
	flat   bool
	inCell bool
}

// openMark is formatting that is open, and whether its begin has been written.
type openMark struct {
	mark    mark
	at      span32
	written bool
	silent  bool // within the same formatting, or a link without a usable address
	target  string
}

// block returns the Markdown of a block without its prefix. A flat one is one line.
func (w *inline) block(b *block, flat, inCell bool) []byte {
	w.out, w.marks = w.out[:0], w.marks[:0]
	w.line, w.space, w.breaks, w.code, w.flat, w.inCell = 0, false, 0, -1, flat, inCell
	runs := w.runs[b.run:b.end]
	for i, r := range runs {
		switch r.kind {
		case runText, runPlain:
			w.text(w.decode(r), r.isEven() && r.all&byteInner != 0)
		case runBreak:
			w.breaks++
		case runOpen:
			w.open(r)
		case runClose:
			w.close(r.mark)
		case runImage:
			var alt run
			if i+1 < len(runs) && runs[i+1].kind == runAlt {
				alt = runs[i+1]
			}
			w.image(r, alt)
		}
	}
	for len(w.marks) > 0 {
		w.closeLast()
	}
	return w.out
}

// open begins a mark.
func (w *inline) open(r run) {
	m := openMark{mark: r.mark, at: r.at}
	for _, other := range w.marks {
		m.silent = m.silent || other.mark == r.mark && !other.silent || other.mark == markCode
	}
	if r.mark == markLink && !m.silent {
		m.target = w.address(r.at)
		m.silent = m.target == ""
	}
	w.marks = append(w.marks, m)
}

// close ends the innermost mark of a kind, and those begun after it.
func (w *inline) close(m mark) {
	for i := len(w.marks) - 1; i >= 0; i-- {
		if w.marks[i].mark == m {
			for len(w.marks) > i {
				w.closeLast()
			}
			return
		}
	}
}

// delimiters by mark.
var delimiters = [markCount]string{markStrong: "**", markEmphasis: "*", markDeleted: "~~"}

func (w *inline) closeLast() {
	m := w.marks[len(w.marks)-1]
	w.marks = w.marks[:len(w.marks)-1]
	if !m.written || m.silent {
		return
	}
	switch m.mark {
	case markLink:
		w.out = append(append(append(w.out, "]("...), m.target...), ')')
	case markCode:
		w.endCode()
	default:
		w.out = append(w.out, delimiters[m.mark]...)
	}
}

// endCode encloses the code in backticks, more of them than there are in it.
func (w *inline) endCode() {
	code := bytes.Clone(w.out[w.code:])
	fence := strings.Repeat("`", longestRun(code, '`')+1)
	w.out = append(w.out[:w.code], fence...)
	if len(fence) > 1 {
		w.out = append(append(append(w.out, ' '), code...), ' ')
	} else {
		w.out = append(w.out, code...)
	}
	w.out = append(w.out, fence...)
	w.code = -1
}

// longestRun returns the length of the longest run of c in b.
func longestRun(b []byte, c byte) int {
	longest, n := 0, 0
	for _, x := range b {
		if x != c {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

// lead writes what precedes the next character: a line break or space, and the begin of
// marks.
func (w *inline) lead() {
	switch {
	case len(w.out) == 0:
	case w.breaks > 0 && w.inCell:
		w.out = append(w.out, "<br>"...)
	case w.breaks > 0 && !w.flat:
		if w.breaks > 1 && !w.isMarked() {
			w.out = append(w.out, "\n\n"...)
		} else {
			w.out = append(w.out, "  \n"...)
		}
		w.line = len(w.out)
	case w.breaks > 0 || w.space:
		w.out = append(w.out, ' ')
	}
	w.breaks, w.space = 0, false
	for i := range w.marks {
		m := &w.marks[i]
		if m.written {
			continue
		}
		m.written = true
		if m.silent {
			continue
		}
		switch m.mark {
		case markLink:
			w.out = append(w.out, '[')
		case markCode:
			w.code = len(w.out)
		default:
			w.out = append(w.out, delimiters[m.mark]...)
		}
	}
}

// isMarked reports whether a mark has begun, which must not contain an empty line.
func (w *inline) isMarked() bool {
	for i := range w.marks {
		if m := &w.marks[i]; m.written && !m.silent {
			return true
		}
	}
	return false
}

// text writes text with white space collapsed and markup escaped. An even one needs neither
// in the middle of a line.
func (w *inline) text(b []byte, even bool) {
	for i := 0; i < len(b); {
		if n := spaceAt(b[i:]); n > 0 {
			w.space = w.space || len(w.out) > 0
			i += n
			continue
		}
		if w.space || w.breaks > 0 || len(w.marks) > 0 {
			w.lead()
		}
		rest, class := b[i:], byte(byteInner)
		switch {
		case len(w.out)-w.line <= maxNumber: // it may be the number of a list item
			rest, class = rest[:min(len(rest), maxNumber+1)], bytePlain
		case even:
			words := bytes.TrimSuffix(rest, space)
			w.out, w.space = append(w.out, words...), len(words) < len(rest)
			return
		}
		if n := plainLen(rest, class); n > 0 {
			w.out = append(w.out, b[i:i+n]...)
			i += n
			continue
		}
		if c := b[i]; w.code < 0 && c < utf8.RuneSelf && w.escapes(b, i) || c == '|' && w.inCell {
			w.out = append(w.out, '\\')
		}
		w.out = append(w.out, b[i])
		i++
	}
}

var space = []byte{' '}

// escapes reports whether the character at i would be read as markup.
func (w *inline) escapes(b []byte, i int) bool {
	next := byte(' ')
	if i+1 < len(b) {
		next = b[i+1]
	}
	atStart := len(w.out) == w.line
	switch c := b[i]; c {
	case '\\', '`', '*', '[', ']', '<':
		return true
	case '_':
		return i == 0 || !isWordByte(b[i-1]) || !isWordByte(next)
	case '~':
		return next == '~' || i > 0 && b[i-1] == '~'
	case '&':
		return isWordByte(next) || next == '#'
	case '>', '#', '=':
		return atStart
	case '-', '+':
		return atStart && (htmltoken.IsSpace(next) || next == c)
	case '.', ')':
		return htmltoken.IsSpace(next) && isNumber(w.out[w.line:])
	}
	return false
}

// isWordByte reports whether c is part of a word.
func isWordByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

// maxNumber is more digits than a list item can have.
const maxNumber = 10

// isNumber reports whether b is a number as before the text of a list item.
func isNumber(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0 && len(b) < maxNumber
}

// image writes an image, if its address is one.
func (w *inline) image(src, alt run) {
	target := w.address(src.at)
	if target == "" || w.code >= 0 {
		return
	}
	w.lead()
	w.out = append(w.out, "!["...)
	if alt.kind == runAlt {
		w.scratch = htmltoken.AppendDecoded(w.scratch[:0], w.src[alt.at.start:alt.at.end], htmltoken.InAttribute)
		w.scratch = w.scratch[:min(len(w.scratch), maxFact)]
		for _, word := range bytes.Fields(w.scratch) {
			if w.out[len(w.out)-1] != '[' {
				w.out = append(w.out, ' ')
			}
			for _, c := range word {
				if c == '[' || c == ']' || c == '\\' || c == '`' || c == '<' || c == '|' && w.inCell {
					w.out = append(w.out, '\\')
				}
				if !isControl(c) {
					w.out = append(w.out, c)
				}
			}
		}
	}
	w.out = append(append(append(w.out, "]("...), target...), ')')
}

// address returns the absolute form of a reference, "" if it has none.
func (w *inline) address(at span32) string {
	if at.end-at.start > weburl.MaxLength {
		return ""
	}
	w.scratch = htmltoken.AppendDecoded(w.scratch[:0], w.src[at.start:at.end], htmltoken.InAttribute)
	ref := string(htmltoken.TrimSpace(w.scratch))
	if len(ref) > len("mailto:") && strings.EqualFold(ref[:len("mailto:")], "mailto:") && !strings.ContainsAny(ref, " <>()\n\t") {
		return ref
	}
	u, err := w.base.Resolve(ref)
	if err != nil {
		return ""
	}
	target := u.String()
	if _, fragment, ok := strings.Cut(ref, "#"); ok && fragment != "" && !strings.ContainsAny(fragment, " <>\n\t") {
		target += "#" + fragment
	}
	return parentheses.Replace(target)
}

// parentheses escapes what would end the address of a link.
var parentheses = strings.NewReplacer("(", "%28", ")", "%29")
