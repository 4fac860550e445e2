package parse

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"

	"headway/internal/htmltoken"
)

// Charset is the character encoding used to decode a body, and its source.
type Charset struct {
	Name string // as in the Encoding Standard, lower case
	From CharsetSource
}

// CharsetSource is the source of the encoding.
type CharsetSource string

// The sources of the encoding, the strongest first.
const (
	FromBOM    CharsetSource = "bom"    // a byte order mark
	FromHeader CharsetSource = "header" // the Content-Type field
	FromMeta   CharsetSource = "meta"   // a meta element or XML declaration in the first 1,024 bytes
	FromGuess  CharsetSource = "guess"  // UTF-8 if valid, otherwise windows-1252
)

// prescanLength is how much of a body is searched for its encoding.
const prescanLength = 1024

const utf8Name = "utf-8"

// decoded is a document in UTF-8.
type decoded struct {
	text    []byte
	charset Charset
	legacy  encoding.Encoding // the encoding for queries, nil for UTF-8
	cut     bool              // the decoded form exceeds MaxBytes
}

// decode converts a body to UTF-8. The body itself is returned if it needs no change,
// which is nearly always the case: anything declared as UTF-8, valid or not, and
// anything with only ASCII.
func decode(body []byte, contentType string) decoded {
	enc, charset, mark := encodingOf(body, contentType)
	body = body[mark:]
	d := decoded{text: body, charset: charset}
	if charset.Name == utf8Name {
		return d
	}
	if !strings.HasPrefix(charset.Name, "utf-16") {
		d.legacy = enc
		if isASCII(body) && charset.Name != "replacement" {
			return d
		}
	}
	d.text, d.cut = transcode(enc, body)
	return d
}

// encodingOf determines the encoding of a body and the length of its byte order mark.
func encodingOf(body []byte, contentType string) (enc encoding.Encoding, c Charset, mark int) {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return unicode.UTF8, Charset{utf8Name, FromBOM}, 3
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return utf16BE, Charset{"utf-16be", FromBOM}, 2
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return utf16LE, Charset{"utf-16le", FromBOM}, 2
	}
	if _, label := mediaType(contentType); label != "" {
		if enc, name := lookup(label); enc != nil {
			return enc, Charset{name, FromHeader}, 0
		}
	}
	if label := prescan(body[:min(len(body), prescanLength)]); label != "" {
		// A page that is readable so far is not UTF-16, whatever it declares.
		if enc, name := lookup(label); strings.HasPrefix(name, "utf-16") {
			return unicode.UTF8, Charset{utf8Name, FromMeta}, 0
		} else if enc != nil {
			return enc, Charset{name, FromMeta}, 0
		}
	}
	if utf8.Valid(body) {
		return unicode.UTF8, Charset{utf8Name, FromGuess}, 0
	}
	return charmap.Windows1252, Charset{"windows-1252", FromGuess}, 0
}

var (
	utf16BE = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	utf16LE = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
)

// lookup finds an encoding by a label; nil if browsers do not know it.
func lookup(label string) (encoding.Encoding, string) {
	if strings.EqualFold(label, utf8Name) { // avoids the search for nearly every page
		return unicode.UTF8, utf8Name
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return nil, ""
	}
	name, err := htmlindex.Name(enc)
	if err != nil {
		return nil, ""
	}
	return enc, name
}

// prescan finds the label of the encoding in the head of a document.
func prescan(head []byte) string {
	if label := xmlEncoding(head); label != "" {
		return label
	}
	var z htmltoken.Tokenizer
	z.Reset(head, htmltoken.Tags(htmltoken.TagMeta))
	for {
		switch z.Next() {
		case htmltoken.End:
			return ""
		case htmltoken.Start:
			if z.Tag != htmltoken.TagMeta {
				continue
			}
			if z.Attrs.Has(htmltoken.AttrCharset) {
				return string(htmltoken.TrimSpace(z.Bytes(z.Attrs.At(htmltoken.AttrCharset))))
			}
			if z.Attrs.Has(htmltoken.AttrHTTPEquiv) && equalFold(z.Bytes(z.Attrs.At(htmltoken.AttrHTTPEquiv)), "content-type") {
				if label := charsetOf(z.Bytes(z.Attrs.At(htmltoken.AttrContent))); label != "" {
					return label
				}
			}
		}
	}
}

// charsetOf finds the encoding in the content of a meta element, such as
// "text/html; charset=koi8-r".
func charsetOf(content []byte) string {
	lower := bytes.ToLower(content)
	for {
		i := bytes.Index(lower, []byte("charset"))
		if i < 0 {
			return ""
		}
		lower = htmltoken.TrimLeft(lower[i+len("charset"):])
		if len(lower) == 0 || lower[0] != '=' {
			continue
		}
		value := htmltoken.TrimLeft(lower[1:])
		if len(value) > 0 && (value[0] == '"' || value[0] == '\'') {
			end := bytes.IndexByte(value[1:], value[0])
			if end < 0 {
				return ""
			}
			return string(value[1 : end+1])
		}
		if end := bytes.IndexAny(value, "; \t\n\f\r"); end >= 0 {
			value = value[:end]
		}
		return string(value)
	}
}

// xmlEncoding finds the encoding in an XML declaration at the very start.
func xmlEncoding(head []byte) string {
	if !bytes.HasPrefix(head, []byte("<?xml")) {
		return ""
	}
	end := bytes.IndexByte(head, '>')
	if end < 0 {
		return ""
	}
	head = head[:end]
	i := bytes.Index(head, []byte("encoding"))
	if i < 0 {
		return ""
	}
	head = htmltoken.TrimLeft(head[i+len("encoding"):])
	if len(head) == 0 || head[0] != '=' {
		return ""
	}
	head = htmltoken.TrimLeft(head[1:])
	if len(head) == 0 || head[0] != '"' && head[0] != '\'' {
		return ""
	}
	end = bytes.IndexByte(head[1:], head[0])
	if end < 0 {
		return ""
	}
	return string(head[1 : end+1])
}

// transcode decodes src to UTF-8, up to MaxBytes. Invalid bytes become U+FFFD.
func transcode(enc encoding.Encoding, src []byte) (dst []byte, cut bool) {
	t := enc.NewDecoder()
	// Single-byte text usually grows by half at most.
	dst = make([]byte, 0, min(len(src)+len(src)/2+utf8.UTFMax, MaxBytes))
	for {
		nDst, nSrc, err := t.Transform(dst[len(dst):cap(dst)], src, true)
		dst, src = dst[:len(dst)+nDst], src[nSrc:]
		if err == nil {
			return dst, false
		}
		if cap(dst) >= MaxBytes || nDst == 0 && nSrc == 0 && cap(dst)-len(dst) >= utf8.UTFMax {
			return dst, true
		}
		grown := make([]byte, len(dst), min(2*cap(dst), MaxBytes))
		copy(grown, dst)
		dst = grown
	}
}

// isASCII reports whether b is the same text in every encoding that contains ASCII: no
// byte above 0x7f, and no escape, which some encodings use to switch character sets.
func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf || c == 0x1b {
			return false
		}
	}
	return true
}

// encodeQuery appends ref, a reference from a document in a legacy encoding, as its
// server expects: as in browsers, non-ASCII characters in the query are escaped in the
// encoding of the document, while those of the path are left to be escaped in UTF-8. A
// character the encoding does not have becomes a numeric character reference.
func encodeQuery(dst, ref []byte, enc encoding.Encoding) []byte {
	start := bytes.IndexByte(ref, '?')
	if hash := bytes.IndexByte(ref, '#'); start < 0 || hash >= 0 && hash < start {
		return append(dst, ref...)
	}
	dst = append(dst, ref[:start]...)
	encoder := enc.NewEncoder().Transformer
	for _, r := range string(ref[start:]) {
		if r < utf8.RuneSelf {
			dst = append(dst, byte(r))
			continue
		}
		var char [utf8.UTFMax]byte
		var out [16]byte // the longest form is one of ISO-2022-JP, with two escapes
		encoder.Reset()
		n, _, err := encoder.Transform(out[:], char[:utf8.EncodeRune(char[:], r)], true)
		if err != nil {
			dst = fmt.Appendf(dst, "%%26%%23%d%%3B", r)
			continue
		}
		for _, c := range out[:n] {
			if c < utf8.RuneSelf {
				dst = append(dst, c)
			} else {
				dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
			}
		}
	}
	return dst
}

const upperHex = "0123456789ABCDEF"
