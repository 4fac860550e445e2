package content

import (
	"bytes"
	"slices"
	"strconv"

	"headway/internal/htmltoken"
)

// property is one of the properties of CSS that can hide text.
type property uint8

const (
	propDisplay property = iota
	propVisibility
	propOpacity
	propFontSize
	propIndent   // text-indent
	propClip     // clip, clip-path
	propPosition // hides means absolute or fixed
	propOffset   // left, right, top, bottom
	propMargin
	propTransform
	propWidth
	propHeight
	propOverflow // hides means hidden
	propColour   // hides means the colour of the background of the same declarations
	propCount
)

// effect says what declarations do to each property: nothing, hide the text, or show it.
type effect struct {
	set, hides uint16
	important  uint16
}

func (e *effect) add(p property, hides, important bool) {
	bit := uint16(1) << p
	if e.important&bit != 0 && !important {
		return
	}
	e.set |= bit
	e.hides &^= bit
	e.important &^= bit
	if hides {
		e.hides |= bit
	}
	if important {
		e.important |= bit
	}
}

func (e *effect) has(p property) bool { return e.hides>>p&1 != 0 }

// gone reports whether the element and all in it is hidden.
func (e *effect) gone() bool {
	return e.has(propDisplay) || e.has(propOpacity) || e.has(propIndent) || e.has(propTransform) || e.has(propMargin) ||
		e.has(propClip) || e.has(propColour) || e.has(propPosition) && e.has(propOffset) ||
		e.has(propOverflow) && (e.has(propWidth) || e.has(propHeight))
}

// selector is one compound selector: a tag, an id, classes.
type selector struct {
	tag   htmltoken.Tag
	id    string
	class string
	more  []string // further classes
}

// weight is the specificity of the selector.
func (s *selector) weight() int {
	w := 100*len(s.more) + min(int(s.tag), 1)
	if s.class != "" {
		w += 100
	}
	if s.id != "" {
		w += 10_000
	}
	return w
}

// rule is a selector and what it does.
type rule struct {
	selector
	weight int
	effect effect
}

// sheet has the rules of the style elements of a page that can hide text or show it again.
type sheet struct {
	rules         []rule // by weight, then in the order of the page
	byID, byClass map[string][]int
	byTag         [htmltoken.TagCount][]int // those without id and class
	hides         bool
	seen          int // style elements read up to this position
	cut           bool
}

// reset empties the sheet.
func (s *sheet) reset() { *s = sheet{} }

// read reads the style element at a position of the page. It reports whether it hides
// something. One that was read before is skipped.
func (s *sheet) read(at int, css []byte) bool {
	if at < s.seen {
		return false
	}
	s.seen = at + 1
	n := len(s.rules)
	s.list(css)
	hides := false
	for i := range s.rules[n:] {
		hides = hides || s.rules[n+i].effect.hides != 0
	}
	if s.hides = s.hides || hides; s.hides && len(s.rules) > n {
		s.index()
	}
	return hides
}

// index sorts the rules and lists them by name.
func (s *sheet) index() {
	slices.SortStableFunc(s.rules, func(a, b rule) int { return a.weight - b.weight })
	s.byID, s.byClass = map[string][]int{}, map[string][]int{}
	clear(s.byTag[:])
	for i := range s.rules {
		switch r := &s.rules[i]; {
		case r.id != "":
			s.byID[r.id] = append(s.byID[r.id], i)
		case r.class != "":
			s.byClass[r.class] = append(s.byClass[r.class], i)
		default:
			s.byTag[r.tag] = append(s.byTag[r.tag], i)
		}
	}
}

// list reads a list of rules.
func (s *sheet) list(css []byte) {
	css = withoutComments(css)
	for len(css) > 0 {
		i := bytes.IndexAny(css, "{;}")
		if i < 0 {
			return
		}
		prelude, delimiter := htmltoken.TrimSpace(css[:i]), css[i]
		css = css[i+1:]
		if delimiter != '{' { // @import and the like, or the end of a group
			continue
		}
		if len(prelude) > 0 && prelude[0] == '@' {
			if !applies(prelude) {
				css = css[groupEnd(css):]
			}
			continue // the rules of the group follow
		}
		end := bytes.IndexByte(css, '}')
		if end < 0 {
			end = len(css)
		}
		s.rule(prelude, css[:end])
		css = css[min(end+1, len(css)):]
	}
}

// applies reports whether the rules in a group count: those without a condition that
// depends on the screen.
func applies(prelude []byte) bool {
	name, condition, _ := bytes.Cut(bytes.ToLower(prelude), []byte(" "))
	switch string(name) {
	case "@layer", "@supports":
		return true
	case "@media":
		switch string(htmltoken.TrimSpace(condition)) {
		case "all", "screen", "only screen":
			return true
		}
	}
	return false
}

// groupEnd returns the position after the "}" that ends a group.
func groupEnd(css []byte) int {
	depth := 1
	for i, c := range css {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(css)
}

// withoutComments returns the style sheet without its comments.
func withoutComments(css []byte) []byte {
	if !bytes.Contains(css, []byte("/*")) {
		return css
	}
	var out []byte
	for {
		i := bytes.Index(css, []byte("/*"))
		if i < 0 {
			return append(out, css...)
		}
		out = append(append(out, css[:i]...), ' ')
		end := bytes.Index(css[i+2:], []byte("*/"))
		if end < 0 {
			return out
		}
		css = css[i+2+end+2:]
	}
}

// rule adds a rule for each of its selectors that is simple enough. The declarations are
// only read if there is one, which is rare.
func (s *sheet) rule(selectors, declarations []byte) {
	var e effect
	known := false
	for len(selectors) > 0 {
		var part []byte
		part, selectors, _ = bytes.Cut(selectors, []byte{','})
		part = htmltoken.TrimSpace(part)
		if !isCompound(part) {
			continue
		}
		if !known {
			if e, known = effectOf(declarations), true; e.set == 0 {
				return
			}
		}
		sel, ok := readSelector(string(part))
		if !ok {
			continue
		}
		if len(s.rules) == maxRules {
			s.cut = true
			return
		}
		s.rules = append(s.rules, rule{sel, sel.weight(), e})
	}
}

// isCompound reports whether a selector may be one that readSelector accepts.
func isCompound(b []byte) bool {
	if len(b) > maxSelector {
		return false
	}
	for _, c := range b {
		if !isNameByte(c) && c != '.' && c != '#' {
			return false
		}
	}
	return len(b) > 0
}

// readSelector reads a compound of a tag, classes and ids. Other selectors, such as
// those with a space, an attribute or a state, are refused. The page as a whole is not
// hidden either: scripts that show it later are common.
func readSelector(b string) (sel selector, ok bool) {
	n := nameLength(b)
	if n > 0 {
		if sel.tag = htmltoken.TagOf([]byte(b[:n])); sel.tag == htmltoken.TagOther || sel.tag == htmltoken.TagHTML || sel.tag == htmltoken.TagBody {
			return sel, false
		}
	}
	for b = b[n:]; b != ""; b = b[1+n:] {
		if n = nameLength(b[1:]); n == 0 {
			return sel, false
		}
		switch name := b[1 : 1+n]; {
		case b[0] == '.' && sel.class == "":
			sel.class = name
		case b[0] == '.':
			sel.more = append(sel.more, name)
		case b[0] == '#' && sel.id == "":
			sel.id = name
		default:
			return sel, false
		}
	}
	return sel, sel.tag != htmltoken.TagOther || sel.id != "" || sel.class != ""
}

// nameLength returns the length of the name at the start of b.
func nameLength(b string) int {
	for i := range len(b) {
		if !isNameByte(b[i]) {
			return i
		}
	}
	return len(b)
}

// isNameByte reports whether c can be in the name of a class or id.
func isNameByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '-' || c == '_' || c >= 0x80
}

// effectOf reads declarations.
func effectOf(b []byte) (e effect) {
	var colour, background []byte
	var buffer [maxProperty]byte
	for len(b) > 0 {
		var d []byte
		d, b, _ = bytes.Cut(b, []byte{';'})
		name, value, ok := bytes.Cut(d, []byte{':'})
		if !ok {
			continue
		}
		name = lowered(&buffer, htmltoken.TrimSpace(name))
		if !canHide[string(name)] {
			continue
		}
		value = bytes.ToLower(htmltoken.TrimSpace(value[:min(len(value), maxValue)]))
		value, important := bytes.CutSuffix(value, []byte("important"))
		if important {
			value = bytes.TrimRight(value, "! \t\n\r\f")
		}
		switch string(name) {
		case "color":
			colour = value
		case "background", "background-color":
			background = value
		default:
			e.declare(string(name), value, important)
		}
	}
	if colour != nil {
		e.add(propColour, sameColour(colour, background), false)
	}
	return e
}

// canHide has the properties that are read.
var canHide = map[string]bool{
	"color": true, "background": true, "background-color": true, "display": true, "visibility": true,
	"content-visibility": true, "opacity": true, "font-size": true, "text-indent": true, "clip": true, "clip-path": true,
	"position": true, "left": true, "right": true, "top": true, "bottom": true, "margin": true, "margin-left": true,
	"margin-top": true, "transform": true, "width": true, "max-width": true, "height": true, "max-height": true,
	"overflow": true, "overflow-x": true, "overflow-y": true,
}

// lowered returns b in lower case in a buffer; nothing if it is too long.
func lowered(buffer *[maxProperty]byte, b []byte) []byte {
	if len(b) > len(buffer) {
		return nil
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		buffer[i] = c
	}
	return buffer[:len(b)]
}

// declare handles one declaration.
func (e *effect) declare(name string, value []byte, important bool) {
	switch name {
	case "display":
		e.add(propDisplay, string(value) == "none", important)
	case "visibility":
		e.add(propVisibility, string(value) == "hidden" || string(value) == "collapse", important)
	case "content-visibility":
		e.add(propDisplay, string(value) == "hidden", important)
	case "opacity":
		e.add(propOpacity, isZero(value), important)
	case "font-size":
		if _, unit, ok := length(value); !ok || unit != "em" && unit != "%" { // relative to the inherited size
			e.add(propFontSize, isZero(value), important)
		}
	case "text-indent":
		e.add(propIndent, isFar(value), important)
	case "clip":
		e.add(propClip, clips(value, "rect("), important)
	case "clip-path":
		e.add(propClip, string(value) == "inset(50%)" || string(value) == "inset(100%)" || clips(value, "circle("), important)
	case "position":
		e.add(propPosition, string(value) != "static" && string(value) != "sticky", important)
	case "left", "right", "top", "bottom":
		if isFar(value) || e.set>>propOffset&1 == 0 {
			e.add(propOffset, isFar(value), important)
		}
	case "margin-left", "margin-top":
		e.add(propMargin, isFar(value), important)
	case "margin":
		far := false
		for part := range bytes.FieldsSeq(value) {
			far = far || isFar(part)
		}
		e.add(propMargin, far, important)
	case "transform":
		e.add(propTransform, hidesByTransform(value), important)
	case "width", "max-width":
		e.add(propWidth, isTiny(value), important)
	case "height", "max-height":
		e.add(propHeight, isTiny(value), important)
	case "overflow", "overflow-x", "overflow-y":
		e.add(propOverflow, bytes.HasPrefix(value, []byte("hidden")) || string(value) == "clip", important)
	}
}

// length reads a number with a unit.
func length(b []byte) (n float64, unit string, ok bool) {
	i := 0
	for i < len(b) && (b[i] == '-' || b[i] == '+' || b[i] == '.' || '0' <= b[i] && b[i] <= '9') {
		i++
	}
	n, err := strconv.ParseFloat(string(b[:min(i, 16)]), 64)
	return n, string(b[i:min(len(b), i+4)]), err == nil
}

func isZero(b []byte) bool {
	n, _, ok := length(b)
	return ok && n == 0
}

// isTiny reports whether a length is at most one pixel.
func isTiny(b []byte) bool {
	n, unit, ok := length(b)
	return ok && (n == 0 || n <= 1 && unit == "px")
}

// isFar reports whether a length moves text off the screen.
func isFar(b []byte) bool {
	n, unit, ok := length(b)
	if !ok {
		return false
	}
	switch unit {
	case "px", "pt":
		return n <= -farPixels
	case "em", "rem", "ch", "ex":
		return n <= -farEms
	case "%", "vw", "vh":
		return n <= -farPercent
	}
	return false
}

// clips reports whether a clip leaves nothing: all numbers are zero or one pixel.
func clips(value []byte, function string) bool {
	if !bytes.HasPrefix(value, []byte(function)) {
		return false
	}
	value = bytes.Trim(value[len(function):], ") ")
	parts := 0
	for part := range bytes.FieldsFuncSeq(value, func(r rune) bool { return r == ',' || r == ' ' }) {
		if parts++; !isTiny(part) {
			return false
		}
	}
	return parts > 0
}

func hidesByTransform(value []byte) bool {
	name, argument, _ := bytes.Cut(value, []byte{'('})
	switch string(name) {
	case "scale", "scalex", "scaley":
		return isZero(argument)
	case "translate", "translatex", "translatey", "translate3d":
		for part := range bytes.SplitSeq(bytes.TrimRight(argument, ")"), []byte{','}) {
			if n, unit, ok := length(htmltoken.TrimSpace(part)); ok && unit == "px" && n <= -farPixels {
				return true
			}
		}
	}
	return false
}

// Lengths that move text off the screen.
const (
	farPixels  = 900
	farEms     = 60
	farPercent = 100
)
