package content

import (
	"bytes"
	"strconv"
	"strings"

	"headway/internal/htmltoken"
	"headway/weburl"
)

// markdown writes the main text as Markdown. The blocks are written one after the other,
// each with a prefix for the quotes and list items around it.
type markdown struct {
	inline
	result      []byte
	path        []int32 // quotes and list items around the block, the outermost first
	last        []int32 // those around the block before
	first, rest []byte  // what precedes the first line of the block and the others
	begun       map[int32]int32
	rule        bool // a horizontal line waits for the next block
	cells       table
}

// appendMarkdown appends the main text as Markdown.
func (s *scanner) appendMarkdown(out []byte, base weburl.URL) []byte {
	w := &s.markdown
	w.scanner, w.base, w.result = s, base, out
	w.path, w.last, w.rule = w.path[:0], w.last[:0], false
	if w.begun == nil {
		w.begun = map[int32]int32{}
	}
	clear(w.begun)
	for i := int32(0); i < int32(len(s.blocks)); i++ {
		b := &s.blocks[i]
		if !b.keep && !b.extra {
			continue
		}
		if b.end > b.run && s.runs[b.run].kind == runRule {
			w.rule = len(w.result) > 0
			continue
		}
		if table := s.dataTable(b.node); table > 0 {
			w.write(table, w.table(table))
			i = s.nodes[table].end - 1
			continue
		}
		w.write(b.node, w.content(b))
	}
	return w.result
}

// content returns a block without its prefix.
func (w *markdown) content(b *block) []byte {
	n := &w.nodes[b.node]
	if w.isVerbatim(b) {
		return w.fenced(b)
	}
	if !headingTags.Has(n.tag) {
		return w.block(b, false, false)
	}
	text := w.block(b, true, false)
	if len(text) == 0 {
		return nil
	}
	level := int(n.tag-htmltoken.TagH1) + 1
	return append(append(bytes.Repeat([]byte{'#'}, level), ' '), text...)
}

// fenced returns a code block.
func (w *markdown) fenced(b *block) []byte {
	code := bytes.Trim(w.appendBlock(nil, b), "\n")
	if len(code) == 0 {
		return nil
	}
	fence := strings.Repeat("`", max(3, longestRun(code, '`')+1))
	pre := &w.nodes[max(0, w.around(b.node, &verbatimTags))]
	out := append([]byte(fence), w.src[pre.lang.start:pre.lang.end]...)
	out = append(append(append(out, '\n'), code...), '\n')
	return append(out, fence...)
}

// write writes the content of a node with the prefix of its place.
func (w *markdown) write(n int32, content []byte) {
	if len(content) == 0 {
		return
	}
	w.last, w.path = w.path, w.last[:0]
	for at := n; at > w.main && len(w.path) < maxQuotes; at = w.nodes[at].parent {
		if tag := w.nodes[at].tag; tag == htmltoken.TagLi || tag == htmltoken.TagBlockquote {
			w.path = append(w.path, at)
		}
	}
	for i, j := 0, len(w.path)-1; i < j; i, j = i+1, j-1 {
		w.path[i], w.path[j] = w.path[j], w.path[i]
	}
	if len(w.result) > 0 {
		w.separate()
	}
	w.prefix()
	w.result = append(w.result, w.first...)
	if len(w.rest) == 0 {
		w.result = append(w.result, content...)
		return
	}
	isFirst := true
	for line := range bytes.Lines(content) {
		switch {
		case isFirst:
			isFirst = false
		case len(line) > 1:
			w.result = append(w.result, w.rest...)
		default:
			w.result = append(w.result, bytes.TrimRight(w.rest, " ")...)
		}
		w.result = append(w.result, line...)
	}
}

// separate ends the block before. Items of one list follow each other without an empty
// line.
func (w *markdown) separate() {
	same := 0
	for same < len(w.path) && same < len(w.last) && w.path[same] == w.last[same] {
		same++
	}
	w.result = append(w.result, '\n')
	if same < len(w.path) && w.nodes[w.path[same]].tag == htmltoken.TagLi && !w.rule {
		if same < len(w.last) && w.nodes[w.path[same]].parent == w.nodes[w.last[same]].parent || same > 0 && w.nodes[w.path[same-1]].tag == htmltoken.TagLi {
			return
		}
	}
	var quote []byte
	for _, n := range w.path[:same] {
		quote = w.appendIndent(quote, n)
	}
	quote = bytes.TrimRight(quote, " ")
	w.result = append(append(w.result, quote...), '\n')
	if w.rule {
		w.rule = false
		w.result = append(append(w.result, quote...), "---\n"...)
		w.result = append(append(w.result, quote...), '\n')
	}
}

// prefix sets what precedes the first line of a block and the others.
func (w *markdown) prefix() {
	w.first, w.rest = w.first[:0], w.rest[:0]
	for _, n := range w.path {
		begins := false
		if w.nodes[n].tag == htmltoken.TagLi {
			if _, ok := w.begun[n]; !ok {
				begins = true
				w.begun[n] = w.number(n)
			}
		}
		at := len(w.rest)
		w.rest = w.appendIndent(w.rest, n)
		if begins {
			w.first = w.appendMarker(w.first, n)
		} else {
			w.first = append(w.first, w.rest[at:]...)
		}
	}
}

// number returns the number of a list item that begins.
func (w *markdown) number(n int32) int32 {
	list := w.nodes[n].parent
	if w.nodes[list].tag != htmltoken.TagOl {
		return -1
	}
	next, ok := w.begun[list]
	if !ok {
		next = w.nodes[list].start
	}
	w.begun[list] = next + 1
	return next
}

// appendMarker appends the begin of a list item.
func (w *markdown) appendMarker(out []byte, n int32) []byte {
	if number := w.begun[n]; number >= 0 {
		return append(strconv.AppendInt(out, int64(number), 10), ". "...)
	}
	return append(out, "- "...)
}

// appendIndent appends the prefix of the lines in a quote or a list item: as much space as
// the marker takes.
func (w *markdown) appendIndent(out []byte, n int32) []byte {
	if w.nodes[n].tag == htmltoken.TagBlockquote {
		return append(out, "> "...)
	}
	start := len(out)
	out = w.appendMarker(out, n)
	for i := range out[start:] {
		out[start+i] = ' '
	}
	return out
}
