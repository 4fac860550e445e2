package htmltoken

import (
	"bytes"
	"html"
	"unicode/utf8"
)

// The context of a character reference decides how it is read: in an attribute "&copy=1"
// and "&copy2" are kept as they are, because old links contain them, while in text both
// start with a copyright sign.
const (
	InText      = false
	InAttribute = true
)

// maxReference limits the search for the end of a named character reference. The longest
// is &CounterClockwiseContourIntegral; with 33 bytes.
const maxReference = 33

// AppendDecoded appends src to dst with its character references decoded.
func AppendDecoded(dst, src []byte, attribute bool) []byte {
	for {
		i := bytes.IndexByte(src, '&')
		if i < 0 {
			return append(dst, src...)
		}
		dst = append(dst, src[:i]...)
		var n int
		dst, n = AppendReference(dst, src[i:], attribute)
		src = src[i+n:]
	}
}

// AppendReference appends the meaning of the character reference at the start of src,
// which starts with "&". It returns how many bytes of src it consumed: 1, for the "&"
// itself, if there is no reference.
func AppendReference(dst, src []byte, attribute bool) ([]byte, int) {
	if len(src) > 1 && src[1] == '#' {
		if r, n := NumericReference(src); n > 0 {
			return utf8.AppendRune(dst, r), n
		}
		return append(dst, '&'), 1
	}
	end := 1
	for end < len(src) && end < maxReference && isAlphanumeric(src[end]) {
		end++
	}
	if end == 1 {
		return append(dst, '&'), 1
	}
	closed := end < len(src) && src[end] == ';'
	if closed {
		end++
		if known := commonReference(src[1:end]); known != "" {
			return append(dst, known...), end
		}
	} else if attribute && end < len(src) && (src[end] == '=' || isAlphanumeric(src[end])) {
		return append(dst, '&'), 1
	}
	// The standard library has the table of names. It reads every reference as text,
	// where a known prefix of a name is enough; an attribute needs the full name.
	out := html.UnescapeString(string(src[:end]))
	if attribute && !isWhole(out, closed) {
		return append(dst, '&'), 1
	}
	return append(dst, out...), end
}

// isWhole reports whether out is the value of a complete named reference, and not of one
// known in part or not at all. Names that need no ";" are one character each.
func isWhole(out string, closed bool) bool {
	if closed {
		return out[len(out)-1] != ';' || out == ";"
	}
	return utf8.RuneCountInString(out) == 1
}

// commonReference has the most frequent references, so that the others may be slow, and
// the two missing from the standard library. It returns "" for the rest.
func commonReference(name []byte) string {
	switch string(name) {
	case "amp;":
		return "&"
	case "lt;":
		return "<"
	case "gt;":
		return ">"
	case "quot;":
		return `"`
	case "apos;":
		return "'"
	case "nbsp;":
		return "\u00a0"
	case "copy;":
		return "©"
	case "reg;":
		return "®"
	case "laquo;":
		return "«"
	case "raquo;":
		return "»"
	case "middot;":
		return "·"
	case "times;":
		return "×"
	case "bull;":
		return "•"
	case "hellip;":
		return "…"
	case "ndash;":
		return "–"
	case "mdash;":
		return "—"
	case "lsquo;":
		return "‘"
	case "rsquo;":
		return "’"
	case "ldquo;":
		return "“"
	case "rdquo;":
		return "”"
	case "eacute;":
		return "é"
	case "egrave;":
		return "è"
	case "agrave;":
		return "à"
	case "auml;":
		return "ä"
	case "ouml;":
		return "ö"
	case "uuml;":
		return "ü"
	case "szlig;":
		return "ß"
	case "nGt;":
		return "\u226b\u20d2"
	case "nLt;":
		return "\u226a\u20d2"
	}
	return ""
}

// windows1252 has the values of numeric references from 0x80 to 0x9f.
var windows1252 = [32]rune{
	'€', 0x81, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0x8d, 'Ž', 0x8f,
	0x90, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0x9d, 'ž', 'Ÿ',
}

// NumericReference reads "&#123;" or "&#x7b;", with or without the ";", and returns its
// length, or 0 if there is none.
func NumericReference(src []byte) (rune, int) {
	i, base := len("&#"), rune(10)
	if i < len(src) && src[i]|0x20 == 'x' {
		i, base = i+1, 16
	}
	first := i
	var r rune
	for ; i < len(src); i++ {
		d := digit(src[i])
		if d >= base {
			break
		}
		if r <= utf8.MaxRune { // larger values only have to stay large
			r = r*base + d
		}
	}
	if i == first {
		return 0, 0
	}
	if i < len(src) && src[i] == ';' {
		i++
	}
	switch {
	case 0x80 <= r && r <= 0x9f:
		r = windows1252[r-0x80]
	case r == 0 || !utf8.ValidRune(r):
		r = utf8.RuneError
	}
	return r, i
}

// digit returns the value of a hexadecimal digit, 16 for any other byte.
func digit(c byte) rune {
	switch {
	case isDigit(c):
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return 16
}

// isAlphanumeric reports whether c is an ASCII letter or digit.
func isAlphanumeric(c byte) bool { return isLetter(c) || isDigit(c) }
