package parse

// tagName is one of the element names this package uses.
type tagName uint8

const (
	tagOther tagName = iota
	tagA
	tagArea
	tagBase
	tagBody
	tagFrame
	tagHTML
	tagIframe
	tagImg
	tagLink
	tagMeta
	tagNoembed
	tagNoframes
	tagPlaintext
	tagScript
	tagSource
	tagStyle
	tagSVG
	tagTextarea
	tagTitle
	tagXMP
)

// tagSet is a set of element names.
type tagSet uint32

func tags(names ...tagName) tagSet {
	var s tagSet
	for _, n := range names {
		s |= 1 << n
	}
	return s
}

func (s tagSet) has(n tagName) bool { return s>>n&1 != 0 }

// rawTags are the elements whose content is not markup. For title and textarea it may
// contain character references; for the others it is literal.
var rawTags = tags(tagIframe, tagNoembed, tagNoframes, tagPlaintext, tagScript, tagStyle, tagTextarea, tagTitle, tagXMP)

// rawNames spells the raw text elements, to find their end tags.
var rawNames = [...]string{
	tagIframe: "iframe", tagNoembed: "noembed", tagNoframes: "noframes", tagPlaintext: "plaintext",
	tagScript: "script", tagStyle: "style", tagTextarea: "textarea", tagTitle: "title", tagXMP: "xmp",
}

// packed is a lower-case ASCII name of at most eight bytes as a number, the last byte
// lowest. Comparing numbers makes checking every tag cheap.
type packed uint64

const (
	nameA        packed = 'a'
	nameArea     packed = 'a'<<24 | 'r'<<16 | 'e'<<8 | 'a'
	nameBase     packed = 'b'<<24 | 'a'<<16 | 's'<<8 | 'e'
	nameBody     packed = 'b'<<24 | 'o'<<16 | 'd'<<8 | 'y'
	nameFrame    packed = 'f'<<32 | 'r'<<24 | 'a'<<16 | 'm'<<8 | 'e'
	nameHTML     packed = 'h'<<24 | 't'<<16 | 'm'<<8 | 'l'
	nameIframe   packed = 'i'<<40 | 'f'<<32 | 'r'<<24 | 'a'<<16 | 'm'<<8 | 'e'
	nameImg      packed = 'i'<<16 | 'm'<<8 | 'g'
	nameLink     packed = 'l'<<24 | 'i'<<16 | 'n'<<8 | 'k'
	nameMeta     packed = 'm'<<24 | 'e'<<16 | 't'<<8 | 'a'
	nameNoembed  packed = 'n'<<48 | 'o'<<40 | 'e'<<32 | 'm'<<24 | 'b'<<16 | 'e'<<8 | 'd'
	nameNoframes packed = 'n'<<56 | 'o'<<48 | 'f'<<40 | 'r'<<32 | 'a'<<24 | 'm'<<16 | 'e'<<8 | 's'
	nameScript   packed = 's'<<40 | 'c'<<32 | 'r'<<24 | 'i'<<16 | 'p'<<8 | 't'
	nameSource   packed = 's'<<40 | 'o'<<32 | 'u'<<24 | 'r'<<16 | 'c'<<8 | 'e'
	nameStyle    packed = 's'<<32 | 't'<<24 | 'y'<<16 | 'l'<<8 | 'e'
	nameSVG      packed = 's'<<16 | 'v'<<8 | 'g'
	nameTextarea packed = 't'<<56 | 'e'<<48 | 'x'<<40 | 't'<<32 | 'a'<<24 | 'r'<<16 | 'e'<<8 | 'a'
	nameTitle    packed = 't'<<32 | 'i'<<24 | 't'<<16 | 'l'<<8 | 'e'
	nameXMP      packed = 'x'<<16 | 'm'<<8 | 'p'
)

// fold maps the bytes of a tag name to lower case, and those that end it to 0. NUL, which
// the standard replaces, becomes a byte no known name has.
var fold = func() (t [256]byte) {
	for c := range t {
		t[c] = byte(c)
		if 'A' <= c && c <= 'Z' {
			t[c] += 'a' - 'A'
		}
	}
	for _, c := range []byte("\t\n\f\r />") {
		t[c] = 0
	}
	t[0] = 0xff
	return t
}()

// readName reads the tag name at i and returns it with the position of the byte that ended
// it, or len(src).
func readName(src []byte, i int) (tagName, int) {
	start := i
	var p packed
	for ; i < len(src); i++ {
		c := fold[src[i]]
		if c == 0 {
			break
		}
		p = p<<8 | packed(c)
	}
	if i-start > 8 {
		if isName(src[start:i], rawNames[tagPlaintext]) {
			return tagPlaintext, i
		}
		return tagOther, i
	}
	switch p {
	case nameA:
		return tagA, i
	case nameArea:
		return tagArea, i
	case nameBase:
		return tagBase, i
	case nameBody:
		return tagBody, i
	case nameFrame:
		return tagFrame, i
	case nameHTML:
		return tagHTML, i
	case nameIframe:
		return tagIframe, i
	case nameImg:
		return tagImg, i
	case nameLink:
		return tagLink, i
	case nameMeta:
		return tagMeta, i
	case nameNoembed:
		return tagNoembed, i
	case nameNoframes:
		return tagNoframes, i
	case nameScript:
		return tagScript, i
	case nameSource:
		return tagSource, i
	case nameStyle:
		return tagStyle, i
	case nameSVG:
		return tagSVG, i
	case nameTextarea:
		return tagTextarea, i
	case nameTitle:
		return tagTitle, i
	case nameXMP:
		return tagXMP, i
	}
	return tagOther, i
}

// isName reports whether b is the lower-case name, ignoring case.
func isName(b []byte, name string) bool {
	if len(b) != len(name) {
		return false
	}
	for i := range b {
		if fold[b[i]] != name[i] {
			return false
		}
	}
	return true
}
