package parse

import (
	"bytes"

	"headway/internal/htmltoken"
)

// refresh reads a meta refresh or a Refresh header, as in "5; url=/next", following the
// shared declarative refresh steps of the HTML Standard. It returns the target, or nil if
// the value is invalid or has none: then the page itself is meant, which is not a link.
func refresh(value []byte) []byte {
	value = htmltoken.TrimLeft(value)
	if len(value) == 0 || value[0] != '.' && !isDigit(value[0]) {
		return nil
	}
	for len(value) > 0 && (value[0] == '.' || isDigit(value[0])) {
		value = value[1:]
	}
	if len(value) == 0 || value[0] != ';' && value[0] != ',' && !htmltoken.IsSpace(value[0]) {
		return nil
	}
	value = htmltoken.TrimLeft(value)
	if len(value) > 0 && (value[0] == ';' || value[0] == ',') {
		value = htmltoken.TrimLeft(value[1:])
	}
	if value = refreshTarget(value); len(value) == 0 {
		return nil
	}
	return value
}

// refreshTarget removes "url=" and quotes, if present.
func refreshTarget(value []byte) []byte {
	if len(value) >= 3 && htmltoken.EqualName(value[:3], "url") {
		if rest := htmltoken.TrimLeft(value[3:]); len(rest) > 0 && rest[0] == '=' {
			value = htmltoken.TrimLeft(rest[1:])
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

// isDigit reports whether c is an ASCII digit.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
