package content

import (
	"bytes"
	"unicode/utf8"

	"headway/internal/htmltoken"
)

// The constants of the rating, chosen on one half of a public benchmark (ADR 0070).
// Lengths are in characters.
const (
	minParagraph      = 25   // a paragraph that counts
	minArticle        = 500  // a main text that needs no second look
	looseFactor       = 4    // how much more text must be found without hints to ignore them
	scoredLevels      = 5    // elements around a paragraph that get points for it
	minNeighbour      = 10   // points of a neighbour that belongs to the main text
	neighbourShare    = 0.2  // the same, as a share of the best
	longParagraph     = 80   // a neighbour that is a paragraph
	maxNeighbourLinks = 0.25 // share of links in it
	minBesideLinks    = 40   // text in a block of mostly links
	maxCaption        = 200  // text beside an image
	minClutterCommas  = 10   // a part with more is text, whatever its links
	maxLinks          = 0.33 // share of links in a part that is kept
	longLead          = 100  // a first paragraph that need not end like a sentence
)

// choose marks the blocks of the main text.
func (s *scanner) choose() {
	if len(s.blocks) == 0 {
		return
	}
	s.sum()
	s.rate(true)
	total := s.pick(true)
	if total < minArticle { // the hints may be wrong
		s.rate(false)
		if loose := s.pick(false); loose > looseFactor*total {
			total = loose
		} else {
			s.rate(true)
			s.pick(true)
		}
	}
	s.trim(total)
	s.trimEnd()
}

// sum adds up the text of all blocks in their nodes.
func (s *scanner) sum() {
	for i := range s.blocks {
		b := &s.blocks[i]
		n := &s.nodes[b.node]
		n.chars += b.chars
		n.linked += b.linked
		n.own++
		n.commas += b.commas
	}
	for i := len(s.nodes) - 1; i > 0; i-- {
		n := &s.nodes[i]
		p := &s.nodes[n.parent]
		p.chars += n.chars
		p.linked += n.linked
		p.commas += n.commas
		p.children++
	}
}

// rate gives each node a score for the paragraphs in it.
func (s *scanner) rate(strict bool) {
	all := s.nodes[0].chars
	for i := range s.nodes {
		n := &s.nodes[i]
		n.score, n.out, n.good, n.free, n.freeLinked = 0, false, 0, 0, 0
		if i == 0 {
			continue
		}
		p := &s.nodes[n.parent]
		n.out = p.out || strict && n.isAside(all)
		n.caption = p.caption || n.hints&hintCaption != 0 && n.chars*4 < all
	}
	for i := range s.blocks {
		b := &s.blocks[i]
		n := &s.nodes[b.node]
		if !n.out && !n.caption {
			n.free += b.chars
			n.freeLinked += b.linked
		}
		b.good = !n.out && !n.caption && b.chars >= minParagraph && b.linked*2 <= b.chars && !headingTags.Has(n.tag)
		if !b.good {
			continue
		}
		n.good += b.chars
		s.spread(b)
	}
	for i := len(s.nodes) - 1; i > 0; i-- {
		n := &s.nodes[i]
		p := &s.nodes[n.parent]
		p.good += n.good
		p.free += n.free
		p.freeLinked += n.freeLinked
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.score > 0 {
			n.score = (n.score + n.weight()) * (1 - n.density())
		}
	}
}

// spread adds the score of a paragraph to the elements around it.
func (s *scanner) spread(b *block) {
	n := &s.nodes[b.node]
	score := 1 + float32(b.commas) + min(float32(b.chars)/100, 3)
	at := b.node
	if n.own == 1 && n.children == 0 { // the paragraph itself
		at = n.parent
	}
	for level := range scoredLevels {
		share := float32(1)
		switch level {
		case 0:
		case 1:
			share = 2
		default:
			share = float32(3 * level)
		}
		s.nodes[at].score += score / share
		if at == 0 {
			return
		}
		at = s.nodes[at].parent
	}
}

// isAside reports whether an element is beside the main text. Words in a class can be
// wrong, so they count less the more text there is.
func (n *node) isAside(all int32) bool {
	switch {
	case n.hints&(hintAside|hintComment) == 0 || n.hints&hintArticle != 0:
		return false
	case n.hints&hintMain != 0 && !asideTags.Has(n.tag):
		return n.chars*10 < all
	case n.hints&hintComment != 0:
		return n.chars*5 < all*4
	}
	return n.chars*2 < all
}

// density returns the share of the text that is in links.
func (n *node) density() float32 {
	if n.chars == 0 {
		return 0
	}
	return float32(n.linked) / float32(n.chars)
}

// weight is what the name and the class of an element add to its score.
func (n *node) weight() float32 {
	w := float32(0)
	switch n.tag {
	case htmltoken.TagDiv:
		w += 5
	case htmltoken.TagArticle, htmltoken.TagMain, htmltoken.TagSection:
		w += 8
	case htmltoken.TagPre, htmltoken.TagTd, htmltoken.TagBlockquote:
		w += 3
	case htmltoken.TagAddress, htmltoken.TagOl, htmltoken.TagUl, htmltoken.TagDl, htmltoken.TagDd, htmltoken.TagDt, htmltoken.TagLi, htmltoken.TagForm:
		w -= 3
	case htmltoken.TagH1, htmltoken.TagH2, htmltoken.TagH3, htmltoken.TagH4, htmltoken.TagH5, htmltoken.TagH6, htmltoken.TagTh:
		w -= 5
	}
	if n.hints&(hintMain|hintArticle) != 0 {
		w += 25
	}
	if n.hints&(hintAside|hintComment) != 0 {
		w -= 25
	}
	return w
}

// pick marks the blocks around the best node, and returns how many characters they have.
func (s *scanner) pick(strict bool) int32 {
	best := int32(0)
	for i := range s.nodes {
		if !s.nodes[i].out && s.nodes[i].score > s.nodes[best].score {
			best = int32(i)
		}
	}
	for i := range s.blocks {
		s.blocks[i].keep, s.blocks[i].extra = false, false
	}
	s.main = s.nodes[best].parent
	if wide := s.widen(best); wide != best {
		s.main = s.nodes[wide].parent
		return s.take(wide, strict)
	}
	total := s.take(best, strict)
	if best == 0 {
		return total
	}
	// Its neighbours may belong to it.
	top := &s.nodes[best]
	bar := max(minNeighbour, top.score*neighbourShare)
	for i := top.parent + 1; i <= s.nodes[top.parent].last; i = s.nodes[i].last + 1 {
		n := &s.nodes[i]
		if i == best || n.out {
			continue
		}
		if n.score >= bar || n.tag == htmltoken.TagP && n.chars > longParagraph && n.density() < maxNeighbourLinks {
			total += s.take(i, strict)
		}
	}
	return total
}

// widen returns the outermost element around the best one that adds text of the same
// kind: more paragraphs, and little else.
func (s *scanner) widen(best int32) int32 {
	at := best
	for n := best; n != 0; {
		n = s.nodes[n].parent
		outer, inner := &s.nodes[n], &s.nodes[at]
		if outer.tag == htmltoken.TagBody || outer.tag == htmltoken.TagHTML {
			break
		}
		more := outer.good - inner.good
		chars := outer.free - inner.free
		linked := outer.freeLinked - inner.freeLinked
		if more*20 > inner.good && more*10 > chars*6 && linked*10 < chars*2 {
			at = n
		}
	}
	return at
}

// take marks the blocks of a node that are worth it.
func (s *scanner) take(root int32, strict bool) (total int32) {
	for i := root; i <= s.nodes[root].last; i++ {
		n := &s.nodes[i]
		n.drop = i > root && (s.nodes[n.parent].drop || n.out || strict && s.clutter(n))
	}
	for i := s.nodes[root].first; i < s.nodes[root].end; i++ {
		b := &s.blocks[i]
		n := &s.nodes[b.node]
		if n.drop || b.linked*2 > b.chars && b.chars-b.linked < minBesideLinks && !cellTags.Has(n.tag) {
			continue
		}
		if n.caption || b.images > 0 && n.tag != htmltoken.TagP && n.tag != htmltoken.TagLi && !cellTags.Has(n.tag) && b.chars < maxCaption && !s.isSentence(b) {
			b.extra = true
			continue
		}
		b.keep = true
		total += b.chars
	}
	return total
}

// clutter reports whether a part of the main text does not belong to it.
func (s *scanner) clutter(n *node) bool {
	switch n.tag {
	case htmltoken.TagDiv, htmltoken.TagSection, htmltoken.TagUl, htmltoken.TagOl, htmltoken.TagTable, htmltoken.TagForm, htmltoken.TagFieldset, htmltoken.TagDl:
	default:
		return false
	}
	return n.commas < minClutterCommas && n.density() > maxLinks && n.good*2 < n.chars
}

// trim drops what comes before the first paragraph: the title, who wrote it and when.
func (s *scanner) trim(total int32) {
	dropped := int32(0)
	for i := range s.blocks {
		b := &s.blocks[i]
		if !b.keep {
			continue
		}
		n := &s.nodes[b.node]
		if b.good && n.hints&hintByline == 0 && (b.chars > longLead || s.isSentence(b)) {
			return
		}
		if n.tag == htmltoken.TagH1 {
			b.keep, b.extra = false, true
			continue
		}
		if n.tag == htmltoken.TagLi || headingTags.Has(n.tag) || cellTags.Has(n.tag) {
			continue
		}
		if dropped += b.chars; dropped*5 > total {
			return
		}
		b.keep, b.extra = false, b.images > 0 && b.chars == 0
	}
}

// trimEnd drops headings without text after them, and what follows the last paragraph.
func (s *scanner) trimEnd() {
	ended, level := false, htmltoken.TagOther
	for i := len(s.blocks) - 1; i >= 0; i-- {
		b := &s.blocks[i]
		if !b.keep || b.chars == 0 {
			continue
		}
		n := &s.nodes[b.node]
		if headingTags.Has(n.tag) {
			if !ended || level != htmltoken.TagOther && n.tag >= level {
				b.keep = false
				continue
			}
			level = n.tag
			continue
		}
		isText := b.good || n.tag == htmltoken.TagLi || labelTags.Has(n.tag) || cellTags.Has(n.tag) || n.tag == htmltoken.TagP || s.isVerbatim(b) || s.isSentence(b)
		if !isText && (!ended || b.chars < minParagraph && n.own == 1 && n.children == 0) {
			b.keep = false
			continue
		}
		ended, level = true, htmltoken.TagOther
	}
}

// isSentence reports whether a block ends like a sentence.
func (s *scanner) isSentence(b *block) bool {
	text := bytes.TrimRight(s.src[:b.last], " \t\n\f\r\u00a0\"')")
	text = bytes.TrimSuffix(text, []byte("&nbsp;"))
	r, _ := utf8.DecodeLastRune(text)
	switch r {
	case '.', '!', '?', ':', '…', '”', '’', '»', '。', '！', '？', '」', '؟', '।':
		return true
	}
	return false
}
