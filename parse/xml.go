package parse

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"headway/internal/htmltoken"
)

// ErrDoctype reports XML with a DOCTYPE. Sitemaps and feeds need none, and its entities can
// grow without limit.
var ErrDoctype = errors.New("xml has a DOCTYPE")

const (
	xmlBuffer  = 64 << 10 // bytes of XML in memory at a time
	maxXMLTag  = 16 << 10 // bytes kept of a tag
	maxXMLText = 16 << 10 // bytes kept of an element's text
)

// xmlToken is a start or an end tag.
type xmlToken uint8

const (
	xmlStart xmlToken = iota + 1
	xmlEmpty          // a self-closing tag
	xmlEnd
)

// xmlScanner reads the tags of an XML document as a stream. It is lenient where real files
// are wrong (bare ampersands, mismatched end tags) and strict where leniency is costly: it
// ignores entities of the document, and keeps no stack.
type xmlScanner struct {
	r       *bufio.Reader
	capture bool   // collect text
	text    []byte // decoded text and CDATA since it was last emptied

	prefix, name []byte // of the last tag
	attributes   []byte // of the last tag, as written
	kept         []byte // buffer for tags that span several reads
}

// next reads to the end of the next tag. The slices it sets are valid until the next call.
func (x *xmlScanner) next() (xmlToken, error) {
	for {
		if err := x.readText(); err != nil {
			return 0, err
		}
		head, err := x.r.Peek(1)
		if err != nil {
			return 0, err
		}
		switch head[0] {
		case '!':
			err = x.declaration()
		case '?':
			err = x.skipPast("?>")
		default:
			return x.readTag()
		}
		if err != nil {
			return 0, err
		}
	}
}

// readText reads up to and including the next "<".
func (x *xmlScanner) readText() error {
	for {
		piece, err := x.r.ReadSlice('<')
		if x.capture {
			x.keepText(bytes.TrimSuffix(piece, []byte{'<'}), true)
		}
		if !isFull(err) {
			return err
		}
	}
}

// keepText appends to the text, up to its limit.
func (x *xmlScanner) keepText(piece []byte, decode bool) {
	if len(x.text) >= maxXMLText {
		return
	}
	piece = piece[:min(len(piece), maxXMLText)]
	if decode {
		x.text = appendXMLText(x.text, piece)
	} else {
		x.text = append(x.text, piece...)
	}
}

// declaration skips a comment, reads a CDATA section, and refuses what only occurs in a
// DOCTYPE.
func (x *xmlScanner) declaration() error {
	const cdata = "![CDATA["
	head, err := x.r.Peek(len(cdata))
	switch {
	case bytes.HasPrefix(head, []byte("!--")):
		if _, err := x.r.Discard(len("!--")); err != nil {
			return err
		}
		return x.skipPast("-->")
	case string(head) == cdata:
		if _, err := x.r.Discard(len(cdata)); err != nil {
			return err
		}
		return x.readCDATA()
	case err != nil:
		return err
	}
	return ErrDoctype
}

// skipPast reads up to and including end, whose last byte is ">".
func (x *xmlScanner) skipPast(end string) error {
	return x.pieces(end, func([]byte) {})
}

// readCDATA reads a CDATA section to its end.
func (x *xmlScanner) readCDATA() error {
	err := x.pieces("]]>", func(piece []byte) {
		if x.capture {
			x.keepText(piece, false)
		}
	})
	if x.capture {
		x.text = bytes.TrimSuffix(x.text, []byte("]]>"))
	}
	return err
}

// pieces calls each with the input up to and including end, whose last byte is ">".
func (x *xmlScanner) pieces(end string, each func([]byte)) error {
	var tail []byte // the last bytes before the piece
	for {
		piece, err := x.r.ReadSlice('>')
		each(piece)
		tail = append(tail, piece[max(0, len(piece)-len(end)):]...)
		tail = tail[max(0, len(tail)-len(end)):]
		if string(tail) == end {
			return nil
		}
		if err != nil && !isFull(err) {
			return err
		}
	}
}

// readTag reads a tag whose "<" has been read. A ">" in quotes does not end it.
func (x *xmlScanner) readTag() (xmlToken, error) {
	x.kept = x.kept[:0]
	var quote, last byte // last is the byte before the piece
	for {
		piece, err := x.r.ReadSlice('>')
		if err != nil && !isFull(err) {
			return 0, err
		}
		quote = openQuote(piece, quote)
		ended := err == nil && quote == 0
		if ended {
			piece = piece[:len(piece)-1]
		}
		if len(piece) > 0 {
			last = piece[len(piece)-1]
		}
		if ended && len(x.kept) == 0 { // the usual case: no copy
			return x.splitTag(piece, last == '/'), nil
		}
		x.kept = append(x.kept, piece[:min(len(piece), maxXMLTag-len(x.kept))]...)
		if ended {
			return x.splitTag(x.kept, last == '/'), nil
		}
	}
}

// openQuote returns the quote that is open after piece, 0 for none, given the one open
// before it.
func openQuote(piece []byte, quote byte) byte {
	if quote == 0 && bytes.IndexByte(piece, '"') < 0 && bytes.IndexByte(piece, '\'') < 0 {
		return 0
	}
	for _, c := range piece {
		switch {
		case quote == c:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		}
	}
	return quote
}

// splitTag splits a tag without its brackets.
func (x *xmlScanner) splitTag(tag []byte, empty bool) xmlToken {
	kind := xmlStart
	if len(tag) > 0 && tag[0] == '/' {
		kind, tag = xmlEnd, tag[1:]
	} else if empty {
		kind, tag = xmlEmpty, bytes.TrimSuffix(tag, []byte{'/'})
	}
	end := 0
	for end < len(tag) && !htmltoken.IsSpace(tag[end]) {
		end++
	}
	x.name, x.attributes, x.prefix = tag[:end], tag[end:], nil
	if colon := bytes.IndexByte(x.name, ':'); colon >= 0 {
		x.prefix, x.name = x.name[:colon], x.name[colon+1:]
	}
	return kind
}

// attribute returns the value of an attribute of the last tag, decoded.
func (x *xmlScanner) attribute(key htmltoken.Attr) (string, bool) {
	var a htmltoken.Attrs
	src := append(bytes.Clone(x.attributes), '>') // attributes are read up to the end of a tag
	if a.Read(src, 0, true) < 0 || !a.Has(key) {
		return "", false
	}
	return string(appendXMLText(nil, src[a.At(key).Start:a.At(key).End])), true
}

// appendXMLText appends text with the predefined XML references decoded. Others, and bare
// ampersands, are left as they are.
func appendXMLText(dst, src []byte) []byte {
	for {
		i := bytes.IndexByte(src, '&')
		if i < 0 {
			return append(dst, src...)
		}
		dst = append(dst, src[:i]...)
		src = src[i:]
		n := 1
		switch {
		case len(src) > 1 && src[1] == '#':
			if r, length := htmltoken.NumericReference(src); length > 0 {
				dst, n = utf8.AppendRune(dst, r), length
			} else {
				dst = append(dst, '&')
			}
		default:
			for _, e := range xmlEntities {
				if bytes.HasPrefix(src, []byte(e.name)) {
					dst, n = append(dst, e.char), len(e.name)
					break
				}
			}
			if n == 1 {
				dst = append(dst, '&')
			}
		}
		src = src[n:]
	}
}

var xmlEntities = []struct {
	name string
	char byte
}{{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}

// isEnd reports whether a reader reached the end of its input. A wrapped io.EOF is
// different: a transport reports that the input was truncated.
func isEnd(err error) bool {
	return err == io.EOF //nolint:errorlint // see above
}

// isFull reports whether a piece of input fills the buffer before the end was found.
func isFull(err error) bool { return errors.Is(err, bufio.ErrBufferFull) }
