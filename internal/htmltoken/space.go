package htmltoken

// IsSpace reports whether c is white space in HTML.
func IsSpace(c byte) bool { return tagByte[c] == isSpace }

// TrimLeft removes white space at the start.
func TrimLeft(b []byte) []byte {
	i := 0
	for i < len(b) && tagByte[b[i]] == isSpace {
		i++
	}
	return b[i:]
}

// TrimSpace removes white space at both ends.
func TrimSpace(b []byte) []byte {
	b = TrimLeft(b)
	for len(b) > 0 && tagByte[b[len(b)-1]] == isSpace {
		b = b[:len(b)-1]
	}
	return b
}

// isLetter reports whether c is an ASCII letter.
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// isDigit reports whether c is an ASCII digit.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
