package parse

import "bytes"

// refresh reads a meta refresh or a Refresh header, as in "5; url=/next", following the
// shared declarative refresh steps of the HTML Standard. It returns the target, or nil if
// the value is invalid or has none: then the page itself is meant, which is not a link.
func refresh(value []byte) []byte {
	value = trimLeft(value)
	if len(value) == 0 || value[0] != '.' && !isDigit(value[0]) {
		return nil
	}
	for len(value) > 0 && (value[0] == '.' || isDigit(value[0])) {
		value = value[1:]
	}
	if len(value) == 0 || value[0] != ';' && value[0] != ',' && tagByte[value[0]] != isSpace {
		return nil
	}
	value = trimLeft(value)
	if len(value) > 0 && (value[0] == ';' || value[0] == ',') {
		value = trimLeft(value[1:])
	}
	if value = refreshTarget(value); len(value) == 0 {
		return nil
	}
	return value
}

// refreshTarget removes "url=" and quotes, if present.
func refreshTarget(value []byte) []byte {
	if len(value) >= 3 && isName(value[:3], "url") {
		if rest := trimLeft(value[3:]); len(rest) > 0 && rest[0] == '=' {
			value = trimLeft(rest[1:])
		}
	}
	if len(value) > 0 && (value[0] == '"' || value[0] == '\'') {
		quote := value[0]
		value = value[1:]
		if end := bytes.IndexByte(value, quote); end >= 0 {
			value = value[:end]
		}
	}
	return value
}

// trimLeft removes ASCII white space at the start.
func trimLeft(b []byte) []byte {
	i := 0
	for i < len(b) && tagByte[b[i]] == isSpace {
		i++
	}
	return b[i:]
}

// trimSpace removes ASCII white space at both ends.
func trimSpace(b []byte) []byte {
	b = trimLeft(b)
	for len(b) > 0 && tagByte[b[len(b)-1]] == isSpace {
		b = b[:len(b)-1]
	}
	return b
}

// isDigit reports whether c is an ASCII digit.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
