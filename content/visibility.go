package content

import (
	"bytes"

	"headway/internal/htmltoken"
)

// style decides whether the text of an element is shown, from its name, its attributes
// and the page's own style elements.
func (s *scanner) style(e *element) {
	a := &s.z.Attrs
	switch {
	case unreadTags.Has(e.tag), e.tag == htmltoken.TagDialog && !a.Has(htmltoken.AttrOpen):
		e.state |= unread
		return
	case e.tag == htmltoken.TagBody, e.tag == htmltoken.TagHTML: // scripts often show it later
		return
	}
	var all effect
	if s.sheet.hides {
		s.sheet.apply(&all, e.tag, s.value(htmltoken.AttrID), s.value(htmltoken.AttrClass))
	}
	if a.Has(htmltoken.AttrStyle) {
		inline := s.z.Bytes(a.At(htmltoken.AttrStyle))
		if bytes.IndexByte(inline, '&') >= 0 {
			inline = htmltoken.AppendDecoded(nil, inline, htmltoken.InAttribute)
		}
		all.cascade(effectOf(withoutComments(inline)))
	}
	// A display property outweighs the hidden attribute, as in browsers.
	if a.Has(htmltoken.AttrHidden) && all.set>>propDisplay&1 == 0 || all.gone() {
		e.state |= unread
		return
	}
	e.inherit(&all, propVisibility, invisible)
	e.inherit(&all, propFontSize, sizeless)
}

// inherit updates what an inherited property does to the text in the element.
func (e *element) inherit(all *effect, p property, bit state) {
	if all.set>>p&1 == 0 {
		return
	}
	e.state &^= bit
	if all.has(p) {
		e.state |= bit
	}
}

// cascade applies stronger declarations.
func (e *effect) cascade(other effect) {
	take := other.set &^ (e.important &^ other.important)
	e.set |= take
	e.hides = e.hides&^take | other.hides&take
	e.important |= other.important & take
}

// apply applies the rules that match an element, the weakest first.
func (s *sheet) apply(e *effect, tag htmltoken.Tag, id, class []byte) {
	var matches [maxMatches]int
	n := 0
	add := func(list []int) {
		for _, i := range list {
			if n < len(matches) && s.rules[i].matches(tag, id, class) {
				matches[n] = i
				n++
			}
		}
	}
	add(s.byTag[tag])
	if len(id) > 0 {
		add(s.byID[string(id)])
	}
	for word := range fields(class) {
		add(s.byClass[string(word)])
	}
	for i := 1; i < n; i++ { // few: insertion sort
		for j := i; j > 0 && matches[j] < matches[j-1]; j-- {
			matches[j], matches[j-1] = matches[j-1], matches[j]
		}
	}
	for _, i := range matches[:n] {
		e.cascade(s.rules[i].effect)
	}
}

// matches reports whether the selector matches an element.
func (s *selector) matches(tag htmltoken.Tag, id, class []byte) bool {
	if s.tag != htmltoken.TagOther && s.tag != tag || s.id != "" && s.id != string(id) {
		return false
	}
	if s.class == "" {
		return true
	}
	if !hasClass(class, s.class) {
		return false
	}
	for _, want := range s.more {
		if !hasClass(class, want) {
			return false
		}
	}
	return true
}

func hasClass(class []byte, want string) bool {
	for word := range fields(class) {
		if string(word) == want {
			return true
		}
	}
	return false
}

// fields yields the words of a class attribute, at most maxClasses.
func fields(b []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for range maxClasses {
			b = htmltoken.TrimLeft(b)
			n := 0
			for n < len(b) && !htmltoken.IsSpace(b[n]) {
				n++
			}
			if n == 0 || !yield(b[:n]) {
				return
			}
			b = b[n:]
		}
	}
}
