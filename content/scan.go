package content

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"headway/internal/htmltoken"
)

// scanner reads the tags of a page and records its blocks. What is recorded points into
// the page; only what is kept is decoded.
type scanner struct {
	z     *htmltoken.Tokenizer
	own   htmltoken.Tokenizer // for a scan of its own
	src   []byte
	facts facts
	sheet sheet

	stack []element
	open  [htmltoken.TagCount]int32 // open elements by name
	marks [markCount]int32          // open marks
	over  int                       // open elements beyond maxDepth

	known    knownHints
	nodes    []node
	blocks   []block
	runs     []run
	main     int32    // the node around the main text
	scratch  []byte   // decoded text
	out      []byte   // the main text
	md       []byte   // the main text as Markdown
	markdown markdown // the writer of it
	inBlock  bool
	late     bool // a style element after the first block hides something
	cut      bool
}

// element is an open element.
type element struct {
	tag   htmltoken.Tag
	mark  mark
	state state
	node  int32
	href  span32
}

// state is what the text in an element inherits.
type state uint8

const (
	unread    state = 1 << iota // not text of the page, or not displayed at all
	invisible                   // visibility: hidden, which a descendant can undo
	sizeless                    // font-size: 0, which a descendant can undo
	verbatim                    // in pre

	hiddenText = unread | invisible | sizeless
)

// Begin implements [htmltoken.Reader].
func (s *scanner) Begin(z *htmltoken.Tokenizer, src []byte) {
	s.z, s.src = z, src
	s.sheet.reset()
	s.reset()
}

// Read implements [htmltoken.Reader].
func (s *scanner) Read(token htmltoken.Token) {
	z := s.z
	if token == htmltoken.Raw {
		s.raw()
		return
	}
	if z.Text.Start < z.Text.End {
		s.text(z.Text, runText)
	}
	switch token {
	case htmltoken.End:
		s.endBlock()
		for len(s.stack) > 0 {
			s.pop()
		}
		s.nodes[0].end, s.nodes[0].last = int32(len(s.blocks)), int32(len(s.nodes)-1)
	case htmltoken.Start:
		s.startTag(z.Tag)
	case htmltoken.Close:
		s.endTag(z.Tag)
	}
}

// scan reads the tokens of the page.
func (s *scanner) scan() {
	s.z = &s.own
	s.own.Reset(s.src, htmltoken.AllTags)
	for {
		token := s.own.Next()
		if s.Read(token); token == htmltoken.End {
			return
		}
	}
}

// reset drops what an earlier scan recorded, except for the style sheet.
func (s *scanner) reset() {
	s.stack, s.nodes, s.blocks, s.runs = s.stack[:0], s.nodes[:0], s.blocks[:0], s.runs[:0]
	clear(s.open[:])
	clear(s.marks[:])
	clear(s.known[:])
	s.over, s.inBlock, s.late, s.cut = 0, false, false, false
	s.facts = facts{}
	s.nodes = append(s.nodes, node{tag: htmltoken.TagHTML})
}

// top returns what the text at this point inherits, and the node it is in.
func (s *scanner) top() (st state, n int32) {
	if i := len(s.stack) - 1; i >= 0 {
		return s.stack[i].state, s.stack[i].node
	}
	return 0, 0
}

// raw handles the content of a raw text element.
func (s *scanner) raw() {
	z := s.z
	switch z.Tag {
	case htmltoken.TagTitle:
		if s.open[htmltoken.TagSVG] == 0 {
			s.facts.title(z.Bytes(z.Text))
		}
	case htmltoken.TagStyle:
		if st, _ := s.top(); st&unread == 0 || s.open[htmltoken.TagHead] > 0 {
			if s.sheet.read(z.Text.Start, z.Bytes(z.Text)) && len(s.blocks) > 0 {
				s.late = true
			}
		}
	case htmltoken.TagScript:
		if s.facts.ldJSON {
			s.facts.linkedData(z.Bytes(z.Text))
		}
	case htmltoken.TagPlaintext, htmltoken.TagXMP:
		s.text(z.Text, runPlain)
	}
	s.facts.ldJSON = false
}

// text records text between two tags.
func (s *scanner) text(at htmltoken.Span, kind runKind) {
	st, n := s.top()
	if st&hiddenText != 0 {
		return
	}
	b := s.z.Bytes(at)
	if !s.inBlock {
		if len(htmltoken.TrimLeft(b)) == 0 && st&verbatim == 0 {
			return
		}
		if !s.beginBlock(n) {
			return
		}
	}
	chars, some, all := measure(b)
	if !s.add(run{at: short(at), kind: kind, some: some, all: all}) {
		return
	}
	block := &s.blocks[len(s.blocks)-1]
	block.chars += chars
	block.commas += int32(bytes.Count(b, comma))
	if chars > 0 {
		block.last = int32(at.End)
	}
	if s.marks[markLink] > 0 {
		block.linked += chars
	}
}

var comma = []byte{','}

// measure counts the characters of text, without white space. It returns the classes that
// some of its bytes have, and those that all have, without byteFirst; byteWord is only one
// of these if there are no two spaces in a row. Character references count as they are written, which is near
// enough.
func measure(b []byte) (chars int32, some, all byte) {
	all = ^byte(0)
	last := uint64(0)
	for len(b) >= 8 { // eight bytes at once: most texts are long
		v := binary.LittleEndian.Uint64(b)
		space, letter := spaces(v), letters(v)
		if space&(space<<8|last>>56) != 0 {
			all = 0
		}
		last = space
		if space|letter == topBits {
			chars += int32(bits.OnesCount64(letter))
			some |= plainText
			all &= plainText
			b = b[8:]
			continue
		}
		c := (*[8]byte)(b)
		t0, t1, t2, t3 := textByte[c[0]], textByte[c[1]], textByte[c[2]], textByte[c[3]]
		t4, t5, t6, t7 := textByte[c[4]], textByte[c[5]], textByte[c[6]], textByte[c[7]]
		some |= t0 | t1 | t2 | t3 | t4 | t5 | t6 | t7
		all &= t0 & t1 & t2 & t3 & t4 & t5 & t6 & t7
		chars += int32(t0&byteFirst + t1&byteFirst + t2&byteFirst + t3&byteFirst + t4&byteFirst + t5&byteFirst + t6&byteFirst + t7&byteFirst)
		b = b[8:]
	}
	after := last>>63 != 0
	for _, c := range b {
		t := textByte[c]
		some, all = some|t, all&t
		chars += int32(t & byteFirst)
		if c == ' ' && after {
			all = 0
		}
		after = c == ' '
	}
	return chars, some &^ byteFirst, all &^ byteFirst
}

// add records a run, if there is room.
func (s *scanner) add(r run) bool {
	if len(s.runs) == maxRuns {
		s.cut = true
		return false
	}
	s.runs = append(s.runs, r)
	return true
}

// beginBlock begins a block in a node, with the marks that are open.
func (s *scanner) beginBlock(n int32) bool {
	if len(s.blocks) == maxBlocks {
		s.cut = true
		return false
	}
	s.blocks = append(s.blocks, block{node: n, run: int32(len(s.runs))})
	s.inBlock = true
	for i := range s.stack {
		if e := &s.stack[i]; e.mark != markNone {
			s.add(run{kind: runOpen, mark: e.mark, at: e.href})
		}
	}
	return true
}

// endBlock ends the block, if there is one.
func (s *scanner) endBlock() {
	if s.inBlock {
		s.blocks[len(s.blocks)-1].end = int32(len(s.runs))
		s.inBlock = false
	}
}

// startTag handles a start tag.
func (s *scanner) startTag(tag htmltoken.Tag) {
	if voidTags.Has(tag) {
		s.void(tag)
		return
	}
	switch tag {
	case htmltoken.TagScript:
		s.facts.ldJSON = s.attributeIs(htmltoken.AttrType, "application/ld+json")
		return
	case htmltoken.TagStyle, htmltoken.TagTitle, htmltoken.TagTextarea, htmltoken.TagIframe, htmltoken.TagNoembed, htmltoken.TagNoframes, htmltoken.TagPlaintext:
		return
	case htmltoken.TagHTML:
		s.facts.language(s.value(htmltoken.AttrLang))
		return
	case htmltoken.TagButton:
		s.closeTo(tag)
	case htmltoken.TagTime:
		s.facts.time(s)
	case htmltoken.TagBody:
		s.closeTo(htmltoken.TagHead)
		if s.open[htmltoken.TagBody] > 0 {
			return
		}
	}
	s.endHead(tag)
	if s.over > 0 || len(s.stack) == maxDepth {
		s.over++
		s.cut = true
		return
	}
	if ends, within := implied(tag); ends != nil {
		s.closeImplied(ends, within)
	}
	isBlock := blockTags.Has(tag)
	if isBlock {
		s.closeParagraph(tag)
	}
	st, n := s.top()
	e := element{tag: tag, state: st, node: n}
	if st&unread == 0 {
		s.style(&e)
	}
	if isBlock {
		s.boundary(st)
		if st&unread == 0 && e.state&unread == 0 {
			e.node = s.beginNode(tag, n)
		}
		if tag == htmltoken.TagPre || tag == htmltoken.TagXMP {
			e.state |= verbatim
			s.codeLanguage(e.node)
		}
	} else if e.mark = markOf(tag); e.mark != markNone {
		s.openMark(&e)
	}
	s.stack = append(s.stack, e)
	s.open[tag]++
}

// endHead ends the head at the first element that cannot be in it, and SVG at the first
// block.
func (s *scanner) endHead(tag htmltoken.Tag) {
	if i := len(s.stack) - 1; i >= 0 && s.stack[i].tag == htmltoken.TagHead && !headTags.Has(tag) {
		s.pop()
	}
	if s.open[htmltoken.TagSVG] > 0 && blockTags.Has(tag) {
		s.closeTo(htmltoken.TagSVG)
	}
}

// boundary ends a block at the start or end of a block element. In pre it is a line break.
func (s *scanner) boundary(st state) {
	if st&verbatim != 0 {
		if s.inBlock {
			s.add(run{kind: runBreak})
		}
		return
	}
	s.endBlock()
}

// openMark begins inline formatting.
func (s *scanner) openMark(e *element) {
	if e.mark == markLink {
		if s.marks[markLink] > 0 { // links do not nest
			s.closeMark(htmltoken.TagA)
		}
		if !s.z.Attrs.Has(htmltoken.AttrHref) {
			e.mark = markNone
			return
		}
		e.href = short(s.z.Attrs.At(htmltoken.AttrHref))
	}
	if e.mark == markCode && e.state&verbatim != 0 {
		s.codeLanguage(e.node)
	}
	s.marks[e.mark]++
	if s.inBlock && e.state&hiddenText == 0 {
		s.add(run{kind: runOpen, mark: e.mark, at: e.href})
	}
}

// closeMark ends the formatting of the innermost element with this name, wherever it is.
func (s *scanner) closeMark(tag htmltoken.Tag) {
	for i := len(s.stack) - 1; i >= 0; i-- {
		if e := &s.stack[i]; e.tag == tag && e.mark != markNone {
			s.endMark(e)
			return
		}
	}
}

func (s *scanner) endMark(e *element) {
	if e.mark == markNone {
		return
	}
	s.marks[e.mark]--
	if s.inBlock && e.state&hiddenText == 0 {
		s.add(run{kind: runClose, mark: e.mark})
	}
	e.mark = markNone
}

// beginNode records a block element. Without room for another it belongs to its parent.
func (s *scanner) beginNode(tag htmltoken.Tag, parent int32) int32 {
	if len(s.nodes) == maxNodes {
		s.cut = true
		return parent
	}
	n := node{parent: parent, first: int32(len(s.blocks)), tag: tag, hints: s.hints(tag)}
	if tag == htmltoken.TagOl {
		n.start = number(s.value(htmltoken.AttrStart))
	}
	s.nodes = append(s.nodes, n)
	return int32(len(s.nodes) - 1)
}

// pop closes the innermost element.
func (s *scanner) pop() {
	e := &s.stack[len(s.stack)-1]
	s.endMark(e)
	s.open[e.tag]--
	s.stack = s.stack[:len(s.stack)-1]
	if !blockTags.Has(e.tag) {
		return
	}
	st, parent := s.top()
	s.boundary(st)
	if e.node != parent {
		n := &s.nodes[e.node]
		n.end, n.last = int32(len(s.blocks)), int32(len(s.nodes)-1)
	}
}

// popTo closes elements until only n are open.
func (s *scanner) popTo(n int) {
	for len(s.stack) > n {
		s.pop()
	}
}

// closeTo closes the innermost element with this name and all in it.
func (s *scanner) closeTo(tag htmltoken.Tag) {
	if s.open[tag] == 0 {
		return
	}
	for i := len(s.stack) - 1; i >= 0; i-- {
		if s.stack[i].tag == tag {
			s.popTo(i)
			return
		}
	}
}

// closeImplied closes the innermost element of a set, searched up to one of another set.
func (s *scanner) closeImplied(ends, within *htmltoken.TagSet) {
	for i := len(s.stack) - 1; i >= 0; i-- {
		switch tag := s.stack[i].tag; {
		case ends.Has(tag):
			s.popTo(i)
			return
		case within.Has(tag), tag == htmltoken.TagTable:
			return
		}
	}
}

// closeParagraph ends an open paragraph, or heading before a heading, at the start of a
// block.
func (s *scanner) closeParagraph(tag htmltoken.Tag) {
	if s.open[htmltoken.TagP] == 0 && !headingTags.Has(tag) {
		return
	}
	for i := len(s.stack) - 1; i >= 0; i-- {
		switch open := s.stack[i].tag; {
		case open == htmltoken.TagP, headingTags.Has(open) && headingTags.Has(tag):
			s.popTo(i)
			return
		case blockTags.Has(open), unreadTags.Has(open):
			return
		}
	}
}

// endTag handles an end tag.
func (s *scanner) endTag(tag htmltoken.Tag) {
	switch tag {
	case htmltoken.TagBr:
		s.void(tag)
		return
	case htmltoken.TagBody, htmltoken.TagHTML: // what follows still belongs to the body
		return
	}
	if s.over > 0 {
		if !htmltoken.RawTags.Has(tag) && !voidTags.Has(tag) {
			s.over--
		}
		return
	}
	if s.open[tag] == 0 {
		if tag == htmltoken.TagP {
			st, _ := s.top()
			s.boundary(st)
		}
		return
	}
	isBlock, inTable := blockTags.Has(tag), tableTags.Has(tag)
	for i := len(s.stack) - 1; i >= 0; i-- {
		open := s.stack[i].tag
		if open == tag {
			s.popTo(i)
			return
		}
		switch {
		case inTable && open != htmltoken.TagTable: // a cell ends with its table
		case scopeTags.Has(open):
			return
		case !isBlock && blockTags.Has(open):
			s.closeMark(tag)
			return
		}
	}
}

// void handles an element without content.
func (s *scanner) void(tag htmltoken.Tag) {
	s.endHead(tag)
	switch tag {
	case htmltoken.TagMeta:
		s.facts.meta(s)
		return
	case htmltoken.TagBase:
		s.facts.base(s)
		return
	case htmltoken.TagHr:
		s.closeParagraph(tag)
	}
	st, n := s.top()
	if st&hiddenText != 0 {
		return
	}
	switch tag {
	case htmltoken.TagBr:
		if s.inBlock {
			s.add(run{kind: runBreak})
		}
	case htmltoken.TagHr:
		s.endBlock()
		if s.beginBlock(n) {
			s.add(run{kind: runRule})
			s.endBlock()
		}
	case htmltoken.TagImg:
		s.image(n)
	}
}

// image records an image.
func (s *scanner) image(n int32) {
	z := s.z
	e := element{state: 0}
	s.style(&e)
	if e.state != 0 || !z.Attrs.Has(htmltoken.AttrSrc) {
		return
	}
	if !s.inBlock && !s.beginBlock(n) {
		return
	}
	if s.add(run{kind: runImage, at: short(z.Attrs.At(htmltoken.AttrSrc))}) {
		s.blocks[len(s.blocks)-1].images++
		if z.Attrs.Has(htmltoken.AttrAlt) {
			s.add(run{kind: runAlt, at: short(z.Attrs.At(htmltoken.AttrAlt))})
		}
	}
}

// value returns the value of an attribute of the tag, as written.
func (s *scanner) value(a htmltoken.Attr) []byte {
	if !s.z.Attrs.Has(a) {
		return nil
	}
	return s.z.Bytes(s.z.Attrs.At(a))
}

// attributeIs reports whether an attribute of the tag has a value, ignoring case.
func (s *scanner) attributeIs(a htmltoken.Attr, value string) bool {
	return bytes.EqualFold(htmltoken.TrimSpace(s.value(a)), []byte(value))
}

// codePrefixes begin classes that name the language of code.
var codePrefixes = [...]string{"language-", "lang-", "highlight-source-", "brush:"}

// codeLanguage records the language of a code block from the class of its elements.
func (s *scanner) codeLanguage(n int32) {
	at := s.z.Attrs.At(htmltoken.AttrClass)
	for word := range fields(s.value(htmltoken.AttrClass)) {
		for _, prefix := range codePrefixes {
			name, ok := bytes.CutPrefix(word, []byte(prefix))
			if !ok || len(name) == 0 || !isCompound(name) {
				continue
			}
			if i := bytes.Index(s.src[at.Start:at.End], word); i >= 0 {
				start := at.Start + i + len(prefix)
				s.nodes[n].lang = span32{int32(start), int32(start + len(name))}
			}
			return
		}
	}
}
