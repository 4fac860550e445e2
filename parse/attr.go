package parse

// attrKey is one of the attributes this package uses.
type attrKey uint8

const (
	attrCharset attrKey = iota
	attrContent
	attrHref
	attrHreflang
	attrHTTPEquiv
	attrLang
	attrName
	attrRel
	attrSrc
	attrSrcset
	attrType
	attrCount
)

const (
	keyCharset  packed = 'c'<<48 | 'h'<<40 | 'a'<<32 | 'r'<<24 | 's'<<16 | 'e'<<8 | 't'
	keyContent  packed = 'c'<<48 | 'o'<<40 | 'n'<<32 | 't'<<24 | 'e'<<16 | 'n'<<8 | 't'
	keyHref     packed = 'h'<<24 | 'r'<<16 | 'e'<<8 | 'f'
	keyHreflang packed = 'h'<<56 | 'r'<<48 | 'e'<<40 | 'f'<<32 | 'l'<<24 | 'a'<<16 | 'n'<<8 | 'g'
	keyLang     packed = 'l'<<24 | 'a'<<16 | 'n'<<8 | 'g'
	keyName     packed = 'n'<<24 | 'a'<<16 | 'm'<<8 | 'e'
	keyRel      packed = 'r'<<16 | 'e'<<8 | 'l'
	keySrc      packed = 's'<<16 | 'r'<<8 | 'c'
	keySrcset   packed = 's'<<40 | 'r'<<32 | 'c'<<24 | 's'<<16 | 'e'<<8 | 't'
	keyType     packed = 't'<<24 | 'y'<<16 | 'p'<<8 | 'e'
)

// attrs holds the known attributes of one tag. Of a duplicate attribute the first
// counts.
type attrs struct {
	have uint16 // bit set of the attributes present
	at   [attrCount]span
}

// has reports whether the tag has the attribute.
func (a *attrs) has(n attrKey) bool { return a.have>>n&1 != 0 }

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

// read reads the attributes of a tag from the end of its name at i. It returns the
// position after the ">" that ends the tag, or -1 if the input ends first. Values are
// stored only if keep is set.
func (a *attrs) read(src []byte, i int, keep bool) int {
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
		var value span
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
				value = span{i + 1, end}
				i = end + 1
			default: // an empty value if the tag ends here
				value.start = i
				for i < len(src) && tagByte[src[i]]&endsBare == 0 {
					i++
				}
				value.end = i
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
func (a *attrs) note(name []byte, key packed, value span) {
	var n attrKey
	if len(name) > 8 {
		if !isName(name, "http-equiv") {
			return
		}
		n = attrHTTPEquiv
	} else {
		switch key {
		case keyCharset:
			n = attrCharset
		case keyContent:
			n = attrContent
		case keyHref:
			n = attrHref
		case keyHreflang:
			n = attrHreflang
		case keyLang:
			n = attrLang
		case keyName:
			n = attrName
		case keyRel:
			n = attrRel
		case keySrc:
			n = attrSrc
		case keySrcset:
			n = attrSrcset
		case keyType:
			n = attrType
		default:
			return
		}
	}
	if a.have>>n&1 == 0 {
		a.have |= 1 << n
		a.at[n] = value
	}
}
