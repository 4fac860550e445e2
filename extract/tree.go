package extract

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// tree is the document tree of a page.
type tree struct {
	root     *html.Node
	elements []element // in document order
}

// trees has a place for each tree of the process.
var trees = make(chan struct{}, MaxTrees)

// element is an element with what the selectors need to know about it.
type element struct {
	node         *html.Node
	parent, prev int32 // elements; -1 for none
	siblings     int32 // children of its parent
	size         int32 // nodes below it
	own          int   // bytes of its attributes
	below        int   // bytes of text and attributes below it
	above        int   // steps to read the attributes of its ancestors
}

// formatting are the elements that the parser opens again in each paragraph, if they are
// not closed, so that a short page could have a huge tree.
var formatting = []string{"a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"}

// buildTree builds the tree of a page, unless it is too large.
func buildTree(src []byte) (*tree, error) {
	if n := nodesAtMost(src); n > MaxNodes {
		return nil, fmt.Errorf("the page has too many elements for css and xpath: about %d nodes, at most %d", n, MaxNodes)
	}
	root, err := html.Parse(bytes.NewReader(src))
	if err != nil {
		return nil, errors.New("the page is nested too deeply for css and xpath")
	}
	t := &tree{root: root}
	t.add(root, -1)
	return t, nil
}

// nodesAtMost estimates the nodes of a tree, up to openShare times too low and otherwise
// too high.
func nodesAtMost(src []byte) int {
	z := html.NewTokenizer(bytes.NewReader(src))
	nodes, open := 0, 0
	unclosed := make([]int, len(formatting))
	for nodes <= MaxNodes {
		token := z.Next()
		switch token {
		case html.ErrorToken:
			return nodes
		case html.TextToken, html.CommentToken:
			nodes += 1 + open/openShare
			continue
		case html.StartTagToken, html.SelfClosingTagToken:
			nodes += 1 + open/openShare
		}
		name, _ := z.TagName()
		i, ok := slices.BinarySearch(formatting, string(name))
		switch {
		case !ok:
		case token == html.EndTagToken:
			if unclosed[i] > 0 {
				unclosed[i]--
				open--
			}
		case i == 0 && unclosed[i] > 0: // a link ends the one before it
		default:
			unclosed[i]++
			open++
		}
	}
	return nodes
}

// openShare: so many open formatting elements are usual.
const openShare = 4

// add adds the elements below a node, without doctypes, and returns the number of nodes and
// the bytes of their texts and attributes.
func (t *tree) add(n *html.Node, parent int32) (size int32, bytes int) {
	prev, children := int32(-1), int32(0)
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		if c.Type == html.DoctypeNode {
			n.RemoveChild(c)
			c = next
			continue
		}
		children++
		size++
		if c.Type == html.ElementNode {
			i := int32(len(t.elements))
			e := element{node: c, parent: parent, prev: prev}
			for _, a := range c.Attr {
				e.own += 1 + len(a.Key) + len(a.Val)
			}
			if parent >= 0 {
				e.above = t.elements[parent].above + 1 + t.elements[parent].own/byteShare
			}
			t.elements = append(t.elements, e)
			nodes, below := t.add(c, i)
			t.elements[i].size, t.elements[i].below, prev = nodes, below, i
			size += nodes
			bytes += e.own + below
		} else {
			bytes += len(c.Data)
		}
		c = next
	}
	for i := prev; i >= 0; i = t.elements[i].prev {
		t.elements[i].siblings = children
	}
	return size, bytes
}

// value is the text of an element, or an attribute, which it may not have.
func (p *page) value(n *html.Node, attribute string) (string, bool, error) {
	if attribute == "" {
		text, err := p.text(n, byteShare)
		return text, true, err
	}
	value, ok := attributeOf(n, attribute)
	return value, ok, p.spend(1 + len(value)/byteShare)
}

func attributeOf(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// byteShare: so many bytes are read in a step.
const byteShare = 16

// text is the text of a node and everything below it, as XPath's string() has it. It takes
// a step for each node and for each share of bytes, before they are copied.
func (p *page) text(n *html.Node, share int) (string, error) {
	if n.Type == html.TextNode || n.Type == html.CommentNode {
		return n.Data, p.spend(1 + len(n.Data)/share)
	}
	var b strings.Builder
	err := p.appendText(&b, n, share)
	return b.String(), err
}

func (p *page) appendText(b *strings.Builder, n *html.Node, share int) error {
	if err := p.spend(1); err != nil {
		return err
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.Type {
		case html.TextNode:
			if err := p.spend(1 + len(c.Data)/share); err != nil {
				return err
			}
			b.WriteString(c.Data)
		case html.ElementNode:
			if err := p.appendText(b, c, share); err != nil {
				return err
			}
		}
	}
	return nil
}
