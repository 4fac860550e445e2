package htmltoken

// Attr is the name of an attribute, if it is one of those known here.
type Attr uint8

// The known attributes.
const (
	attrOther Attr = iota
	AttrAlt
	AttrCharset
	AttrClass
	AttrContent
	AttrDatetime
	AttrHidden
	AttrHref
	AttrHreflang
	AttrHTTPEquiv
	AttrID
	AttrItemprop
	AttrLang
	AttrName
	AttrOpen
	AttrProperty
	AttrRel
	AttrRole
	AttrSrc
	AttrSrcset
	AttrStart
	AttrStyle
	AttrType
	AttrCount // how many there are
)

var attrNames = [AttrCount]string{
	AttrAlt: "alt", AttrCharset: "charset", AttrClass: "class", AttrContent: "content",
	AttrDatetime: "datetime", AttrHidden: "hidden", AttrHref: "href", AttrHreflang: "hreflang",
	AttrHTTPEquiv: "http-equiv", AttrID: "id", AttrItemprop: "itemprop", AttrLang: "lang", AttrName: "name",
	AttrOpen: "open", AttrProperty: "property", AttrRel: "rel", AttrRole: "role", AttrSrc: "src", AttrSrcset: "srcset",
	AttrStart: "start", AttrStyle: "style", AttrType: "type",
}

// Attrs holds the known attributes of one tag. Of a duplicate attribute the first
// counts.
type Attrs struct {
	have uint32 // bit set of the attributes present
	at   [AttrCount]Span
}

// Has reports whether the tag has the attribute.
func (a *Attrs) Has(n Attr) bool { return a.have>>n&1 != 0 }

// At returns where the value of an attribute is, if the tag has it.
func (a *Attrs) At(n Attr) Span { return a.at[n] }

// Classes of bytes inside a tag.
const (
	isSpace    = 1 << iota
	isSlash    // "/"
	isClose    // ">"
	isEquals   // "="
	endsKey    = isSpace | isSlash | isClose | isEquals
	endsBare   = isSpace | isClose // ends an unquoted value
	betweenKey = isSpace | isSlash
)

var tagByte = func() (t [256]byte) {
	for _, c := range []byte("\t\n\f\r ") {
		t[c] = isSpace
	}
	t['/'], t['>'], t['='] = isSlash, isClose, isEquals
	return t
}()

// Read reads the attributes of a tag from the end of its name at i. It returns the
// position after the ">" that ends the tag, or -1 if the input ends first. Values are
// stored only if keep is set.
func (a *Attrs) Read(src []byte, i int, keep bool) int {
	for {
		for i < len(src) && tagByte[src[i]]&betweenKey != 0 {
			i++
		}
		if i >= len(src) {
			return -1
		}
		if src[i] == '>' {
			return i + 1
		}
		start := i
		key := packed(fold[src[i]]) // the first byte is part of the key, even "="
		for i++; i < len(src) && tagByte[src[i]]&endsKey == 0; i++ {
			key = key<<8 | packed(fold[src[i]])
		}
		end := i
		for i < len(src) && tagByte[src[i]] == isSpace {
			i++
		}
		var value Span
		if i < len(src) && src[i] == '=' {
			for i++; i < len(src) && tagByte[src[i]] == isSpace; i++ {
			}
			if i >= len(src) {
				return -1
			}
			switch c := src[i]; c {
			case '"', '\'':
				end := find(src, i+1, c)
				if end < 0 {
					return -1
				}
				value = Span{i + 1, end}
				i = end + 1
			default: // an empty value if the tag ends here
				value.Start = i
				for i < len(src) && tagByte[src[i]]&endsBare == 0 {
					i++
				}
				value.End = i
			}
		}
		if i >= len(src) {
			return -1
		}
		if keep {
			a.note(src[start:end], key, value)
		}
	}
}

// note stores the value of a known attribute that is not set yet.
func (a *Attrs) note(name []byte, key packed, value Span) {
	n := Attr(attrTable.find(name, key))
	if n != attrOther && a.have>>n&1 == 0 {
		a.have |= 1 << n
		a.at[n] = value
	}
}
