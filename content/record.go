package content

import "headway/internal/htmltoken"

// node is a block element. Nodes are numbered in document order, so that a node comes
// before its descendants.
type node struct {
	parent int32 // 0 for the root, whose parent is itself
	first  int32 // first block
	end    int32 // first block after it
	last   int32 // last node in it
	tag    htmltoken.Tag
	hints  hint
	lang   span32 // language of a code block
	start  int32  // number of the first item of an ordered list

	chars            int32 // characters of the text in it
	linked           int32 // of these, in links
	commas           int32 // in the text in it
	own              int32 // blocks directly in it
	children         int32 // nodes directly in it
	score            float32
	good             int32 // characters of paragraphs in it
	free, freeLinked int32 // as chars and linked, without what is beside the main text
	out              bool  // beside the main text
	drop             bool  // in the main text, but not part of it
	caption          bool  // in a caption
	table            tableKind
}

// tableKind says what a table is for.
type tableKind uint8

const (
	tableUnknown tableKind = iota
	tableData
	tableLayout
)

// block is text without a block boundary in it: a paragraph, a heading, a cell.
type block struct {
	node     int32
	run, end int32 // its runs
	chars    int32 // characters without white space
	linked   int32 // of these, in links
	commas   int32
	images   int32
	last     int32 // where its text ends
	good     bool  // a paragraph
	keep     bool  // part of the main text
	extra    bool  // kept in Markdown only: the title, captions
}

// span32 is a part of the page.
type span32 struct{ start, end int32 }

func short(s htmltoken.Span) span32 { return span32{int32(s.Start), int32(s.End)} }

// run is a piece of a block.
type run struct {
	at   span32
	kind runKind
	mark mark
	some byte // classes that a byte of the text has
	all  byte // classes that all have, 0 with two spaces in a row
}

type runKind uint8

const (
	runText  runKind = iota // text as written
	runOpen                 // begin of a mark; at is the address of a link
	runClose                // end of a mark
	runBreak                // br
	runImage                // at is the address
	runAlt                  // the text of the image before
	runRule                 // hr
	runPlain                // text without character references
)
