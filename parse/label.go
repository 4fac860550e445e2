package parse

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"headway/internal/htmltoken"
)

// Label is the words of a link, with single spaces: at most MaxAnchor bytes of its text and
// MaxRel of its rel attribute; the rest is missing. The text of a link is what its element
// contains, with the alternative texts of images.
type Label struct {
	Anchor string
	Rel    string // as written, with unknown words
}

// labels collects the labels of references.
type labels struct {
	list  []label // by reference; later references have none
	words []byte  // of all labels
	open  int     // the reference whose a element is open, counted from 1
	text  []byte  // of the open element, as written
}

// label is a label as parts of labels.words.
type label struct{ anchor, rel htmltoken.Span }

func (l label) in(words string) Label {
	return Label{Anchor: words[l.anchor.Start:l.anchor.End], Rel: words[l.rel.Start:l.rel.End]}
}

// maxLabelText is how much of an element is read for its text: white space and references
// make it longer than the text.
const maxLabelText = 8 * MaxAnchor

// joinTags are inside words, unlike other tags.
var joinTags = htmltoken.Tags(htmltoken.TagB, htmltoken.TagCode, htmltoken.TagDel, htmltoken.TagEm, htmltoken.TagI, htmltoken.TagKbd, htmltoken.TagQ, htmltoken.TagS,
	htmltoken.TagSamp, htmltoken.TagStrike, htmltoken.TagStrong, htmltoken.TagSup, htmltoken.TagTt, htmltoken.TagWbr)

// at returns the label of a reference, counted from 0.
func (l *labels) at(ref int) *label {
	for len(l.list) <= ref {
		l.list = append(l.list, label{})
	}
	return &l.list[ref]
}

// begin starts the text of a reference.
func (l *labels) begin(ref int) {
	l.open, l.text = ref+1, l.text[:0]
	l.at(ref)
}

// read adds the text before a token to the open element, and ends it with its end tag.
func (l *labels) read(z *htmltoken.Tokenizer, token htmltoken.Token) {
	l.write(z.Bytes(z.Text))
	switch {
	case token == htmltoken.Close && z.Tag == htmltoken.TagA:
		l.close()
	case token != htmltoken.Gap && !joinTags.Has(z.Tag):
		l.write([]byte{' '})
	}
}

// write adds to the text of the open element.
func (l *labels) write(text []byte) {
	l.text = append(l.text, text[:min(len(text), maxLabelText-len(l.text))]...)
}

// close ends the text of the open element.
func (l *labels) close() {
	if l.open != 0 {
		l.at(l.open - 1).anchor = l.add(l.text, MaxAnchor, true)
		l.open = 0
	}
}

// add adds words in one line: white space collapsed, valid UTF-8, without control
// characters, cut to a bound.
func (l *labels) add(raw []byte, bound int, references bool) htmltoken.Span {
	start := len(l.words)
	l.words = appendWords(l.words, raw[:min(len(raw), maxLabelText)], references)
	words := l.words[start:]
	for _, c := range words {
		if c < ' ' || c >= 0x7f {
			words = l.clean(start)
			break
		}
	}
	if len(words) > bound {
		words = words[:bound]
		for len(words) > 0 && !utf8.RuneStart(l.words[start+len(words)]) { // not in the middle of a character
			words = words[:len(words)-1]
		}
	}
	if n := len(words); n > 0 && words[n-1] == ' ' {
		words = words[:n-1]
	}
	l.words = l.words[:start+len(words)]
	return htmltoken.Span{Start: start, End: len(l.words)}
}

// clean removes what is not text from the words after start.
func (l *labels) clean(start int) []byte {
	words := l.words[start:]
	odd := func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) && r != ' ' }
	if utf8.Valid(words) && !strings.ContainsFunc(view(words), odd) {
		return words
	}
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, string(words))
	l.words = append(l.words[:start], strings.Join(strings.Fields(text), " ")...)
	return l.words[start:]
}

// reset returns empty labels for the next page.
func (l *labels) reset() labels {
	empty := labels{list: l.list[:0], words: l.words[:0], text: l.text[:0]}
	if cap(empty.list) > MaxReferences/4 {
		empty.list = nil
	}
	if cap(empty.words) > maxKept {
		empty.words = nil
	}
	return empty
}
