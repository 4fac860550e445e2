package extract

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/antchfx/xpath"
	"golang.org/x/net/html"
)

// expression is an XPath expression. A compiled expression keeps state while it runs, so
// that each page uses one of its own.
type expression struct {
	compiled *sync.Pool
	sort     bool // the library may find nodes in another order than that of the document
}

// patterns are functions of XPath 2.0 with regular expressions, whose size and time the
// library does not limit.
var patterns = regexp.MustCompile(`(matches|replace)[\s\p{Z}]*\(`)

func compileXPath(text string) (_ source, err error) {
	const hint = "use XPath 1.0, for example //h1 or //a/@href"
	defer func() {
		if v := recover(); v != nil { // some invalid expressions end like this
			err = &exprError{fmt.Sprint(v), hint}
		}
	}()
	if m := patterns.FindStringSubmatch(text); m != nil {
		return nil, &exprError{m[1] + "() is not supported", "select the elements, and add regex"}
	}
	if _, err := xpath.Compile(text); err != nil {
		return nil, &exprError{err.Error(), hint}
	}
	return expression{
		compiled: &sync.Pool{New: func() any { return xpath.MustCompile(text) }},
		sort:     strings.Contains(text, "|") || strings.Contains(text, "ancestor") || strings.Contains(text, "preceding"),
	}, nil
}

// values implements source.
func (x expression) values(p *page, f *field, yield func(string) bool) error {
	t, err := p.document()
	if err != nil {
		return err
	}
	text, places, err := x.evaluate(p, t.root, f.limit())
	if text != nil {
		yield(*text)
		return err
	}
	for _, at := range places {
		value, ok, err := at.value(p, f.attribute)
		if err != nil {
			return err
		}
		if ok && !yield(value) {
			return nil
		}
	}
	return err
}

// evaluate returns a text, or the places found.
func (x expression) evaluate(p *page, root *html.Node, limit int) (text *string, places []place, err error) {
	compiled := x.compiled.Get().(*xpath.Expr)
	defer func() {
		switch v := recover(); v := v.(type) {
		case nil:
			x.compiled.Put(compiled)
		case stepsError:
			err = errSteps
		default: // the library found the expression invalid for what it met
			err = fmt.Errorf("xpath: %v", v)
		}
	}()
	at := &navigator{page: p, root: root, node: root, attribute: -1}
	switch is := compiled.Evaluate(at).(type) {
	case string:
		return &is, nil, nil
	case float64:
		return new(strconv.FormatFloat(is, 'f', -1, 64)), nil, nil
	case bool:
		return new(strconv.FormatBool(is)), nil, nil
	case *xpath.NodeIterator:
		places, err = x.places(is, p, limit)
		return nil, places, err
	default:
		return nil, nil, errors.New("xpath: the expression has no value")
	}
}

// place is a node or an attribute.
type place struct {
	node      *html.Node
	attribute int
}

// value is the text of the place, or an attribute of the node, which it may not have.
func (at place) value(p *page, attribute string) (string, bool, error) {
	switch {
	case at.attribute < 0:
		return p.value(at.node, attribute)
	case attribute != "":
		return "", false, nil
	default:
		value := at.node.Attr[at.attribute].Val
		return value, true, p.spend(1 + len(value)/byteShare)
	}
}

// places are the nodes found, each once, in document order.
func (x expression) places(is *xpath.NodeIterator, p *page, limit int) (places []place, err error) {
	seen := map[place]bool{}
	keep := limit
	if x.sort {
		keep = MaxValues
	}
	for is.MoveNext() {
		n := is.Current().(*navigator)
		at := place{n.node, n.attribute}
		if seen[at] {
			continue
		}
		if len(places) == keep {
			err = errMore
			break
		}
		seen[at] = true
		places = append(places, at)
	}
	if x.sort {
		order := p.order()
		slices.SortFunc(places, func(a, b place) int {
			return cmp.Or(cmp.Compare(order[a.node], order[b.node]), cmp.Compare(a.attribute, b.attribute))
		})
		if len(places) > limit {
			places, err = places[:limit], errMore
		}
	}
	return places, err
}

// keptShare: so many bytes are read in a step while an expression is evaluated. It is less
// than [byteShare], because functions such as concat keep them.
const keptShare = 4

// stepsError ends an evaluation that takes too many steps: the library has no other way.
type stepsError struct{}

// navigator moves through a tree for package xpath, and counts the steps.
type navigator struct {
	page       *page
	root, node *html.Node
	attribute  int // of the node; -1 for the node itself
}

var _ xpath.NodeNavigator = (*navigator)(nil)

func (n *navigator) step(cost int) {
	if n.page.spend(cost) != nil {
		panic(stepsError{})
	}
}

func (n *navigator) NodeType() xpath.NodeType {
	switch {
	case n.attribute >= 0:
		return xpath.AttributeNode
	case n.node.Type == html.ElementNode:
		return xpath.ElementNode
	case n.node.Type == html.TextNode:
		return xpath.TextNode
	case n.node.Type == html.CommentNode:
		return xpath.CommentNode
	default:
		return xpath.RootNode
	}
}

func (n *navigator) LocalName() string {
	switch {
	case n.attribute >= 0:
		return n.node.Attr[n.attribute].Key
	case n.node.Type == html.ElementNode:
		return n.node.Data
	default:
		return ""
	}
}

func (n *navigator) Prefix() string { return "" }

func (n *navigator) Value() string {
	if n.attribute >= 0 {
		value := n.node.Attr[n.attribute].Val
		n.step(1 + len(value)/keptShare)
		return value
	}
	text, err := n.page.text(n.node, keptShare)
	if err != nil {
		panic(stepsError{})
	}
	return text
}

func (n *navigator) Copy() xpath.NodeNavigator {
	n.step(1)
	c := *n
	return &c
}

func (n *navigator) MoveToRoot() { n.node, n.attribute = n.root, -1 }

func (n *navigator) MoveToParent() bool {
	if n.attribute >= 0 {
		n.attribute = -1
		return true
	}
	return n.moveTo(n.node.Parent)
}

func (n *navigator) MoveToNextAttribute() bool {
	n.step(1)
	if n.attribute+1 >= len(n.node.Attr) {
		return false
	}
	n.attribute++
	return true
}

func (n *navigator) MoveToChild() bool {
	return n.attribute < 0 && n.moveTo(n.node.FirstChild)
}

func (n *navigator) MoveToFirst() bool {
	if n.attribute >= 0 || n.node.PrevSibling == nil {
		return false
	}
	return n.moveTo(n.node.Parent.FirstChild)
}

func (n *navigator) MoveToNext() bool {
	return n.attribute < 0 && n.moveTo(n.node.NextSibling)
}

func (n *navigator) MoveToPrevious() bool {
	return n.attribute < 0 && n.moveTo(n.node.PrevSibling)
}

func (n *navigator) MoveTo(to xpath.NodeNavigator) bool {
	other, ok := to.(*navigator)
	if !ok || other.root != n.root {
		return false
	}
	n.node, n.attribute = other.node, other.attribute
	return true
}

func (n *navigator) moveTo(node *html.Node) bool {
	n.step(1)
	if node == nil {
		return false
	}
	n.node = node
	return true
}
