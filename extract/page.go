package extract

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"golang.org/x/net/html"

	"headway/weburl"
)

// Page is an HTML page in UTF-8.
type Page struct {
	URL  weburl.URL
	Base weburl.URL // of relative references
	HTML []byte
}

// Field is what a rule found.
type Field struct {
	Name   string
	Values []Value // at most one, unless List is set
	List   bool
	// Problem says what is cut, invalid or missing for a reason; empty if there is
	// nothing to say.
	Problem string
}

// Extract applies the rules to a page. Fields are in the order of the rules; a field is
// left out if its rule does not apply to the URL.
func (r *Rules) Extract(in Page) []Field {
	p := newPage(in, r)
	defer p.close()
	var fields []Field
	for i := range r.fields {
		if f := &r.fields[i]; f.applies(in.URL) {
			fields = append(fields, p.extract(f))
		}
	}
	return fields
}

// page is a page while rules are applied. What several rules need is made once.
type page struct {
	Page
	rules *Rules
	steps int // left
	room  int // bytes of JSON left for values

	tree    *tree
	treeErr error
	placed  bool // it has a place of trees
	orders  map[*html.Node]int32
	facts   *facts
}

func newPage(in Page, r *Rules) page {
	return page{Page: in, rules: r, steps: MaxSteps, room: MaxFields - len(r.fields)*reserved}
}

// What stops a rule.
var (
	errMore  = errors.New("more values than are kept")
	errSteps = fmt.Errorf("not all of the page was searched: the rules need more than %d steps on it", MaxSteps)
)

// spend takes steps from those of the page.
func (p *page) spend(steps int) error {
	if p.steps < steps {
		p.steps = 0
		return errSteps
	}
	p.steps -= steps
	return nil
}

// document is the tree of the page. It waits while too many others have theirs.
func (p *page) document() (*tree, error) {
	if p.tree == nil && p.treeErr == nil {
		if len(p.HTML) > MaxPage {
			p.treeErr = fmt.Errorf("the page has more than %d bytes, too many for css and xpath", MaxPage)
			return nil, p.treeErr
		}
		trees <- struct{}{}
		p.placed = true
		p.tree, p.treeErr = buildTree(p.HTML)
	}
	return p.tree, p.treeErr
}

// order numbers the nodes of the tree in document order.
func (p *page) order() map[*html.Node]int32 {
	if p.orders == nil {
		p.orders = map[*html.Node]int32{}
		for n := range p.tree.root.Descendants() {
			p.orders[n] = int32(len(p.orders)) + 1 // the root is 0
		}
	}
	return p.orders
}

func (p *page) close() {
	if p.placed {
		<-trees
	}
}

// extract applies one rule.
func (p *page) extract(f *field) Field {
	is := Field{Name: f.name, List: f.all}
	texts := 0
	err := f.from.values(p, f, func(text string) bool {
		if texts++; texts > f.limit() {
			is.cut(f)
			return false
		}
		if f.regex == nil {
			return p.add(&is, f, text)
		}
		for _, match := range p.matches(&is, f, text) {
			if !p.add(&is, f, match) {
				return false
			}
		}
		return true
	})
	switch {
	case errors.Is(err, errMore):
		is.cut(f)
	case err != nil:
		is.problem(err.Error())
	}
	return is
}

// matches is what the regular expression of a field finds in a text.
func (p *page) matches(is *Field, f *field, text string) []string {
	if err := p.spend(1 + len(text)*f.cost/64); err != nil {
		is.problem(err.Error())
		return nil
	}
	limit := 1
	if f.all {
		limit = MaxValues + 1
	}
	var found []string
	for _, m := range f.regex.FindAllStringSubmatch(text, limit) {
		found = append(found, m[len(m)-1])
	}
	return found
}

// add adds a value, and reports whether there is room for more.
func (p *page) add(is *Field, f *field, text string) bool {
	if len(is.Values) == MaxValues {
		is.cut(f)
		return false
	}
	text = clean(text)
	if text == "" {
		return true
	}
	if len(text) > MaxValue {
		end := MaxValue
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
		is.problem(fmt.Sprintf("cut after %d bytes", MaxValue))
	}
	value, err := f.kind.convert(text, p.Base)
	if err != nil {
		is.problem(err.Error())
		return f.all
	}
	if len(value.JSON) >= p.room {
		is.problem(fmt.Sprintf("left out: the fields of the page have more than %d bytes", MaxFields))
		return false
	}
	p.room -= len(value.JSON) + 1
	is.Values = append(is.Values, value)
	return f.all
}

// cut says that a list has more values.
func (f *Field) cut(rule *field) {
	if rule.all {
		f.problem(fmt.Sprintf("cut after %d values", MaxValues))
	}
}

// problem adds what is wrong; only the first is kept.
func (f *Field) problem(text string) {
	if f.Problem != "" {
		return
	}
	text = clean(text) // at most twice as long in JSON
	if len(text) > maxProblem {
		end := maxProblem
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	f.Problem = text
}
