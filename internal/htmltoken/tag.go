package htmltoken

// Tag is the name of an element, if it is one of those known here.
type Tag uint8

// The known elements. TagOther is any other.
const (
	TagOther Tag = iota
	TagA
	TagAddress
	TagArea
	TagArticle
	TagAside
	TagAudio
	TagB
	TagBase
	TagBlockquote
	TagBody
	TagBr
	TagButton
	TagCanvas
	TagCaption
	TagCenter
	TagCode
	TagDatalist
	TagDd
	TagDel
	TagDetails
	TagDialog
	TagDiv
	TagDl
	TagDt
	TagEm
	TagEmbed
	TagFieldset
	TagFigcaption
	TagFigure
	TagFooter
	TagForm
	TagFrame
	TagFrameset
	TagH1
	TagH2
	TagH3
	TagH4
	TagH5
	TagH6
	TagHead
	TagHeader
	TagHgroup
	TagHr
	TagHTML
	TagI
	TagIframe
	TagImg
	TagInput
	TagKbd
	TagLegend
	TagLi
	TagLink
	TagMain
	TagMath
	TagMenu
	TagMeta
	TagNav
	TagNoembed
	TagNoframes
	TagNoscript
	TagObject
	TagOl
	TagOptgroup
	TagOption
	TagP
	TagPicture
	TagPlaintext
	TagPre
	TagQ
	TagS
	TagSamp
	TagScript
	TagSection
	TagSelect
	TagSource
	TagSpan
	TagStrike
	TagStrong
	TagStyle
	TagSummary
	TagSup
	TagSVG
	TagTable
	TagTbody
	TagTd
	TagTemplate
	TagTextarea
	TagTfoot
	TagTh
	TagThead
	TagTime
	TagTitle
	TagTr
	TagTt
	TagUl
	TagVideo
	TagWbr
	TagXMP
	TagCount // how many there are
)

var tagNames = [TagCount]string{
	TagA: "a", TagAddress: "address", TagArea: "area", TagArticle: "article", TagAside: "aside", TagAudio: "audio",
	TagB: "b", TagBase: "base", TagBlockquote: "blockquote", TagBody: "body", TagBr: "br", TagButton: "button",
	TagCanvas: "canvas", TagCaption: "caption", TagCenter: "center", TagCode: "code", TagDatalist: "datalist",
	TagDd: "dd", TagDel: "del", TagDetails: "details", TagDialog: "dialog", TagDiv: "div", TagDl: "dl", TagDt: "dt",
	TagEm: "em", TagEmbed: "embed", TagFieldset: "fieldset", TagFigcaption: "figcaption", TagFigure: "figure",
	TagFooter: "footer", TagForm: "form", TagFrame: "frame", TagFrameset: "frameset", TagH1: "h1", TagH2: "h2",
	TagH3: "h3", TagH4: "h4", TagH5: "h5", TagH6: "h6", TagHead: "head", TagHeader: "header", TagHgroup: "hgroup",
	TagHr: "hr", TagHTML: "html", TagI: "i", TagIframe: "iframe", TagImg: "img", TagInput: "input", TagKbd: "kbd",
	TagLegend: "legend", TagLi: "li", TagLink: "link", TagMain: "main", TagMath: "math", TagMenu: "menu",
	TagMeta: "meta", TagNav: "nav", TagNoembed: "noembed", TagNoframes: "noframes", TagNoscript: "noscript",
	TagObject: "object", TagOl: "ol", TagOptgroup: "optgroup", TagOption: "option", TagP: "p", TagPicture: "picture",
	TagPlaintext: "plaintext", TagPre: "pre", TagQ: "q", TagS: "s", TagSamp: "samp", TagScript: "script",
	TagSection: "section", TagSelect: "select", TagSource: "source", TagSpan: "span", TagStrike: "strike",
	TagStrong: "strong", TagStyle: "style", TagSummary: "summary", TagSup: "sup", TagSVG: "svg", TagTable: "table",
	TagTbody: "tbody", TagTd: "td", TagTemplate: "template", TagTextarea: "textarea", TagTfoot: "tfoot", TagTh: "th",
	TagThead: "thead", TagTime: "time", TagTitle: "title", TagTr: "tr", TagTt: "tt", TagUl: "ul", TagVideo: "video",
	TagWbr: "wbr", TagXMP: "xmp",
}

// TagSet is a set of element names.
type TagSet [2]uint64

// Tags returns the set of the given names.
func Tags(names ...Tag) TagSet { return TagSet{}.With(names...) }

// With returns the set with further names.
func (s TagSet) With(names ...Tag) TagSet {
	for _, n := range names {
		s[n>>6] |= 1 << (n & 63)
	}
	return s
}

// Has reports whether the name is in the set.
func (s *TagSet) Has(n Tag) bool { return s[n>>6&1]>>(n&63)&1 != 0 }

// AllTags are all elements, those without a known name included.
var AllTags = TagSet{^uint64(0), ^uint64(0)}

// RawTags are the elements whose content is not markup. For title and textarea it may
// contain character references; for the others it is literal.
var RawTags = Tags(TagIframe, TagNoembed, TagNoframes, TagPlaintext, TagScript, TagStyle, TagTextarea, TagTitle, TagXMP)

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
func readName(src []byte, i int) (Tag, int) {
	start := i
	var p packed
	for ; i < len(src); i++ {
		c := fold[src[i]]
		if c == 0 {
			break
		}
		p = p<<8 | packed(c)
	}
	return Tag(tagTable.find(src[start:i], p)), i
}

// TagOf returns the element of a name, ignoring case.
func TagOf(name []byte) Tag { return Tag(tagTable.find(name, pack(name))) }

// EqualName reports whether b is the lower-case name, ignoring case.
func EqualName(b []byte, name string) bool {
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
