package content

import "headway/internal/htmltoken"

// The elements by how they shape the text.
var (
	// blockTags begin and end a block of text, and have a node.
	blockTags = htmltoken.Tags(htmltoken.TagAddress, htmltoken.TagArticle, htmltoken.TagAside, htmltoken.TagBlockquote,
		htmltoken.TagBody, htmltoken.TagCaption, htmltoken.TagCenter, htmltoken.TagDd, htmltoken.TagDetails,
		htmltoken.TagDialog, htmltoken.TagDiv, htmltoken.TagDl, htmltoken.TagDt, htmltoken.TagFieldset,
		htmltoken.TagFigcaption, htmltoken.TagFigure, htmltoken.TagFooter, htmltoken.TagForm, htmltoken.TagH1,
		htmltoken.TagH2, htmltoken.TagH3, htmltoken.TagH4, htmltoken.TagH5, htmltoken.TagH6, htmltoken.TagHeader,
		htmltoken.TagHgroup, htmltoken.TagHTML, htmltoken.TagLegend, htmltoken.TagLi, htmltoken.TagMain,
		htmltoken.TagMenu, htmltoken.TagNav, htmltoken.TagOl, htmltoken.TagP, htmltoken.TagPre, htmltoken.TagSection,
		htmltoken.TagSummary, htmltoken.TagTable, htmltoken.TagTbody, htmltoken.TagTd, htmltoken.TagTfoot,
		htmltoken.TagTh, htmltoken.TagThead, htmltoken.TagTr, htmltoken.TagUl, htmltoken.TagXMP)

	// voidTags have no content and no end tag.
	voidTags = htmltoken.Tags(htmltoken.TagArea, htmltoken.TagBase, htmltoken.TagBr, htmltoken.TagEmbed,
		htmltoken.TagFrame, htmltoken.TagHr, htmltoken.TagImg, htmltoken.TagInput, htmltoken.TagLink,
		htmltoken.TagMeta, htmltoken.TagSource, htmltoken.TagWbr)

	// unreadTags have content that is not text of the page: controls, media, and what a
	// browser with scripts does not show.
	unreadTags = htmltoken.Tags(htmltoken.TagAudio, htmltoken.TagButton, htmltoken.TagCanvas, htmltoken.TagDatalist,
		htmltoken.TagHead, htmltoken.TagNoscript, htmltoken.TagObject, htmltoken.TagOptgroup, htmltoken.TagOption,
		htmltoken.TagSelect, htmltoken.TagSVG, htmltoken.TagTemplate, htmltoken.TagVideo)

	// scopeTags are those that an end tag of something outside does not close.
	scopeTags = htmltoken.Tags(htmltoken.TagTable, htmltoken.TagTd, htmltoken.TagTh, htmltoken.TagCaption,
		htmltoken.TagTemplate, htmltoken.TagObject)

	tableTags = htmltoken.Tags(htmltoken.TagTable, htmltoken.TagTbody, htmltoken.TagThead, htmltoken.TagTfoot,
		htmltoken.TagTr, htmltoken.TagTd, htmltoken.TagTh, htmltoken.TagCaption)

	// headTags are the elements that do not end the head.
	headTags = htmltoken.Tags(htmltoken.TagBase, htmltoken.TagLink, htmltoken.TagMeta, htmltoken.TagNoscript,
		htmltoken.TagScript, htmltoken.TagStyle, htmltoken.TagTemplate, htmltoken.TagTitle)

	// asideTags are elements for what is beside the main text.
	asideTags = htmltoken.Tags(htmltoken.TagAside, htmltoken.TagDialog, htmltoken.TagFooter, htmltoken.TagMenu, htmltoken.TagNav)

	headingTags  = htmltoken.Tags(htmltoken.TagH1, htmltoken.TagH2, htmltoken.TagH3, htmltoken.TagH4, htmltoken.TagH5, htmltoken.TagH6)
	listTags     = htmltoken.Tags(htmltoken.TagUl, htmltoken.TagOl, htmltoken.TagMenu)
	cellTags     = htmltoken.Tags(htmltoken.TagTd, htmltoken.TagTh)
	sectionTags  = htmltoken.Tags(htmltoken.TagTbody, htmltoken.TagThead, htmltoken.TagTfoot)
	verbatimTags = htmltoken.Tags(htmltoken.TagPre, htmltoken.TagXMP)
	layoutTags   = headingTags.With(htmltoken.TagTable, htmltoken.TagUl, htmltoken.TagOl, htmltoken.TagPre, htmltoken.TagXMP,
		htmltoken.TagBlockquote, htmltoken.TagArticle, htmltoken.TagSection, htmltoken.TagNav, htmltoken.TagForm)
	itemTags    = htmltoken.Tags(htmltoken.TagLi)
	termTags    = htmltoken.Tags(htmltoken.TagDt, htmltoken.TagDd)
	labelTags   = htmltoken.Tags(htmltoken.TagDt, htmltoken.TagDd, htmltoken.TagSummary)
	rowTags     = htmltoken.Tags(htmltoken.TagTr)
	tableTag    = htmltoken.Tags(htmltoken.TagTable)
	termLists   = htmltoken.Tags(htmltoken.TagDl)
	rowParents  = tableTag.With(htmltoken.TagTbody, htmltoken.TagThead, htmltoken.TagTfoot)
	cellParents = tableTag.With(htmltoken.TagTr)
)

// implied says which open elements a start tag ends, and within which element they are
// searched.
func implied(tag htmltoken.Tag) (ends, within *htmltoken.TagSet) {
	switch {
	case tag == htmltoken.TagLi:
		return &itemTags, &listTags
	case termTags.Has(tag):
		return &termTags, &termLists
	case cellTags.Has(tag):
		return &cellTags, &cellParents
	case tag == htmltoken.TagTr:
		return &rowTags, &rowParents
	case sectionTags.Has(tag):
		return &sectionTags, &tableTag
	}
	return nil, nil
}

// mark is inline formatting.
type mark uint8

const (
	markNone mark = iota
	markLink
	markStrong
	markEmphasis
	markCode
	markDeleted
	markCount
)

func markOf(tag htmltoken.Tag) mark {
	switch tag {
	case htmltoken.TagA:
		return markLink
	case htmltoken.TagStrong, htmltoken.TagB:
		return markStrong
	case htmltoken.TagEm, htmltoken.TagI:
		return markEmphasis
	case htmltoken.TagCode, htmltoken.TagKbd, htmltoken.TagSamp, htmltoken.TagTt:
		return markCode
	case htmltoken.TagDel, htmltoken.TagS, htmltoken.TagStrike:
		return markDeleted
	}
	return markNone
}
