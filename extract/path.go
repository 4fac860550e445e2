package extract

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// path is a path into JSON-LD: the names of properties, after the type of the object they
// belong to, if that is given.
type path struct {
	kind  string
	names []string
}

func compilePath(text string) (source, error) {
	p := path{names: strings.Split(text, ".")}
	if len(p.names) > maxParts {
		return nil, &exprError{fmt.Sprintf("more than %d parts", maxParts), "start at a type, for example Offer.price"}
	}
	for _, name := range p.names {
		if name == "" || strings.ContainsAny(name, " \t\n[]$/*\"'") {
			return nil, &exprError{"not names separated by points", "write it as offers.price, or Product.offers.price to start at objects of a type; lists need no index"}
		}
	}
	if c := p.names[0][0]; c >= 'A' && c <= 'Z' {
		p.kind, p.names = p.names[0], p.names[1:]
	}
	if len(p.names) == 0 {
		return nil, &exprError{"a type without a property", "add one, for example " + p.kind + ".name"}
	}
	return p, nil
}

// values implements source.
func (x path) values(p *page, f *field, yield func(string) bool) error {
	facts := p.read()
	w := walker{page: p, path: x, yield: yield}
	for _, data := range facts.data {
		w.top(data, 0)
	}
	if w.err == nil && !w.done && (!w.found || f.limit() == MaxValues) {
		w.err = facts.problem
	}
	return w.err
}

// walker finds the values of a path.
type walker struct {
	page  *page
	path  path
	yield func(string) bool
	found bool // a value
	done  bool // no more are wanted
	err   error
}

// enter counts a step; false ends the walk.
func (w *walker) enter(depth int) bool {
	if w.err == nil {
		w.err = w.page.spend(1)
	}
	return w.err == nil && !w.done && depth < maxNesting
}

// top looks for the objects that the path starts at: those of its type anywhere, or, without
// a type, those of the script.
func (w *walker) top(data any, depth int) {
	if !w.enter(depth) {
		return
	}
	switch is := data.(type) {
	case []any:
		for _, one := range is {
			w.top(one, depth+1)
		}
	case object:
		if w.path.kind == "" || is.hasType(w.path.kind) {
			w.follow(is, w.path.names, depth)
		}
		if w.path.kind == "" {
			w.top(is.get("@graph"), depth+1)
			return
		}
		for i := range is {
			w.top(is[i].value, depth+1)
		}
	}
}

// follow finds the values of the rest of the path below an object.
func (w *walker) follow(data any, names []string, depth int) {
	if !w.enter(depth) {
		return
	}
	switch is := data.(type) {
	case []any:
		for _, one := range is {
			w.follow(one, names, depth+1)
		}
		return
	case object:
		if len(names) > 0 {
			w.follow(is.get(names[0]), names[1:], depth+1)
		} else {
			w.follow(is.get("@value"), names, depth+1)
		}
		return
	}
	if len(names) > 0 {
		return
	}
	if text, ok := scalar(data); ok {
		w.found, w.done = true, !w.yield(text)
	}
}

// scalar is a string, number or boolean as text.
func scalar(data any) (string, bool) {
	switch is := data.(type) {
	case string:
		return is, true
	case json.Number:
		return is.String(), true
	case bool:
		return strconv.FormatBool(is), true
	default:
		return "", false
	}
}
