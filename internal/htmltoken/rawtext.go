package htmltoken

import "bytes"

// scriptState is the state of a script's content with regard to HTML comments in it, which
// can hide its end tag: inside "<!--" a further "<script" makes the next "</script>" part
// of the content.
type scriptState uint8

const (
	scriptData scriptState = iota
	scriptEscaped
	scriptDoubleEscaped
)

// readRaw reads the content of the raw text element z.raw up to its end tag,
// or to the end of the input. It reports whether there was any.
func (z *Tokenizer) readRaw() bool {
	start := z.pos
	end := len(z.src)
	switch z.raw {
	case TagPlaintext: // nothing ends it
	case TagScript:
		end = z.scriptEnd(start)
	default:
		name := tagNames[z.raw]
		for i := start; ; {
			if i = find(z.src, i, '<'); i < 0 {
				break
			}
			if closes(z.src, i, name) {
				end = i
				break
			}
			i++
		}
	}
	z.raw = TagOther
	z.Text, z.pos = Span{start, end}, end
	return end > start
}

// scriptEnd returns the start of the end tag of the script whose content starts at i.
func (z *Tokenizer) scriptEnd(i int) int {
	const name = "script"
	src, state := z.src, scriptData
	for i < len(src) {
		if state == scriptData {
			if i = find(src, i, '<'); i < 0 {
				break
			}
			if closes(src, i, name) {
				return i
			}
			i++
			if bytes.HasPrefix(src[i:], []byte("!--")) {
				state = scriptEscaped
				i += len("!--")
			}
			continue
		}
		switch c := src[i]; {
		case c == '>' && src[i-1] == '-' && src[i-2] == '-':
			state = scriptData
		case c == '<' && state == scriptEscaped:
			if closes(src, i, name) {
				return i
			}
			if startsName(src, i+1, name) {
				state = scriptDoubleEscaped
				i += len(name) + 1 // the byte that ends the name belongs to it
			}
		case c == '<' && closes(src, i, name):
			state = scriptEscaped
			i += len(name) + 2
		}
		i++
	}
	return len(src)
}

// closes reports whether an end tag of the named element is at i.
func closes(src []byte, i int, name string) bool {
	return i+1 < len(src) && src[i+1] == '/' && startsName(src, i+2, name)
}

// startsName reports whether the lower-case name is at i, ignoring case, followed by a
// byte that ends a tag name.
func startsName(src []byte, i int, name string) bool {
	end := i + len(name)
	return end < len(src) && fold[src[end]] == 0 && EqualName(src[i:end], name)
}
