package content

import (
	"bytes"
	"strconv"
)

// sameColour reports whether text of one colour on a background of another cannot be
// seen. A colour without a background is only invisible if it is transparent.
func sameColour(text, background []byte) bool {
	a, ok := readColour(text)
	if !ok {
		return false
	}
	if a.alpha == 0 {
		return true
	}
	b, ok := readColour(firstWord(background))
	return ok && a == b
}

// colour is a colour as numbers from 0 to 255; alpha is 0 for transparent.
type colour struct{ red, green, blue, alpha uint8 }

var colourNames = map[string]colour{
	"transparent": {},
	"black":       {0, 0, 0, 255}, "white": {255, 255, 255, 255}, "red": {255, 0, 0, 255}, "lime": {0, 255, 0, 255},
	"blue": {0, 0, 255, 255}, "yellow": {255, 255, 0, 255}, "gray": {128, 128, 128, 255}, "grey": {128, 128, 128, 255},
	"silver": {192, 192, 192, 255}, "green": {0, 128, 0, 255}, "navy": {0, 0, 128, 255}, "orange": {255, 165, 0, 255},
	"whitesmoke": {245, 245, 245, 255}, "lightgray": {211, 211, 211, 255}, "lightgrey": {211, 211, 211, 255},
	"snow": {255, 250, 250, 255}, "ivory": {255, 255, 240, 255}, "beige": {245, 245, 220, 255},
}

// readColour reads a name, "#fff", "#ffffff", "rgb(…)" or "rgba(…)" in lower case.
func readColour(b []byte) (c colour, ok bool) {
	if c, ok := colourNames[string(b)]; ok {
		return c, true
	}
	if len(b) > 0 && b[0] == '#' {
		return hexColour(b[1:])
	}
	name, arguments, _ := bytes.Cut(b, []byte{'('})
	if string(name) != "rgb" && string(name) != "rgba" {
		return c, false
	}
	c.alpha = 255
	parts := [4]*uint8{&c.red, &c.green, &c.blue, &c.alpha}
	n := 0
	for part := range bytes.FieldsFuncSeq(arguments, func(r rune) bool { return bytes.ContainsRune([]byte(", )/"), r) }) {
		v, err := strconv.ParseFloat(string(part[:min(len(part), 8)]), 64)
		if err != nil || n == len(parts) {
			return c, false
		}
		if n == 3 {
			v *= 255
		}
		*parts[n] = uint8(min(max(v, 0), 255))
		n++
	}
	return c, n >= 3
}

func hexColour(b []byte) (c colour, ok bool) {
	if len(b) == 3 {
		b = []byte{b[0], b[0], b[1], b[1], b[2], b[2]}
	}
	if len(b) != 6 {
		return c, false
	}
	n, err := strconv.ParseUint(string(b), 16, 32)
	return colour{uint8(n >> 16), uint8(n >> 8), uint8(n), 255}, err == nil
}

// firstWord returns b up to the first space outside of brackets.
func firstWord(b []byte) []byte {
	depth := 0
	for i, c := range b {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ' ' && depth == 0:
			return b[:i]
		}
	}
	return b
}
