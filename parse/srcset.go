package parse

import (
	"bytes"

	"headway/internal/htmltoken"
)

// srcset calls found with the URL of each candidate in a srcset attribute, until found
// returns false. Descriptors such as "2x" are skipped, including commas in brackets.
func srcset(value []byte, found func(ref []byte) bool) {
	for {
		for len(value) > 0 && (value[0] == ',' || htmltoken.IsSpace(value[0])) {
			value = value[1:]
		}
		if len(value) == 0 {
			return
		}
		n := 0
		for n < len(value) && !htmltoken.IsSpace(value[n]) {
			n++
		}
		ref := value[:n]
		value = value[n:]
		if trimmed := bytes.TrimRight(ref, ","); len(trimmed) < len(ref) {
			ref = trimmed // the comma ends the candidate
		} else {
			value = value[descriptors(value):]
		}
		if len(ref) > 0 && !found(ref) {
			return
		}
	}
}

// descriptors returns the length of the descriptors at the start of value, which end at a
// comma outside brackets.
func descriptors(value []byte) int {
	open := false
	for i, c := range value {
		switch {
		case c == '(':
			open = true
		case c == ')':
			open = false
		case c == ',' && !open:
			return i
		}
	}
	return len(value)
}
