package extract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/andybalholm/cascadia"
)

// selector is a CSS selector. Its parts are matched by cascadia; how they combine is
// decided here, in one pass over the elements, because trying every combination of
// ancestors takes exponential time on deeply nested pages.
type selector []chain

// chain is a selector without commas: parts, each with the combinator before it.
type chain []part

type part struct {
	match      cascadia.Sel
	combinator byte // ' ', '>', '+' or '~'; 0 for the first part
	count      int  // of conditions
	reads      reads
}

// reads is what a part looks at beside the element.
type reads struct{ near, below, above bool }

// readsOf: near are siblings and the number of descendants.
func readsOf(text string) reads {
	text = strings.ToLower(text)
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(text, name) })
	}
	return reads{near: has(":"), below: has(":has", ":contains", ":empty"), above: has(":lang", ":enabled", ":disabled")}
}

// cost is the number of steps to match the part at an element.
func (c *part) cost(e *element) int {
	cost := e.own / byteShare
	if c.reads.near {
		cost += int(e.siblings + e.size)
	}
	if c.reads.below {
		cost += e.below / byteShare
	}
	if c.reads.above {
		cost += e.above
	}
	return 1 + c.count*cost
}

func compileCSS(text string) (source, error) {
	if before, name, ok := strings.Cut(text, "::"); ok {
		return nil, pseudoElement(before, name)
	}
	if _, err := cascadia.ParseGroup(text); err != nil {
		return nil, &exprError{err.Error(), "see https://developer.mozilla.org/docs/Web/CSS/CSS_selectors for the syntax"}
	}
	switch plain := unquoted(text); {
	case strings.Contains(plain, "/*"):
		return nil, &exprError{"comments are not supported", "remove it"}
	case strings.Contains(plain, "#="):
		return nil, &exprError{"#= is not supported", "select the elements, and add regex"}
	}
	var s selector
	for _, list := range split(text) {
		if len(s) == maxParts {
			return nil, &exprError{fmt.Sprintf("more than %d selectors", maxParts), "name fewer, or use several fields"}
		}
		if len(list) > maxParts {
			return nil, &exprError{fmt.Sprintf("more than %d parts", maxParts), "name fewer ancestors"}
		}
		var c chain
		for _, piece := range list {
			plain := brackets.ReplaceAllString(unquoted(piece.text), "")
			if strings.Contains(plain, ":") && strings.Contains(plain, `\`) {
				return nil, &exprError{"an escape beside a pseudo-class is not supported", "use xpath instead"}
			}
			if err := checkArguments(plain, true); err != nil {
				return nil, err
			}
			sel, err := cascadia.Parse(piece.text)
			if err != nil {
				return nil, &exprError{err.Error(), "write it without comments and escapes, or use xpath"}
			}
			count := strings.Count(piece.text, "[")
			for _, mark := range []string{".", "#", ":", ","} {
				count += strings.Count(plain, mark)
			}
			c = append(c, part{sel, piece.combinator, count, readsOf(plain)})
		}
		s = append(s, c)
	}
	return s, nil
}

// brackets are conditions on attributes, of a selector without quoted texts.
var brackets = regexp.MustCompile(`\[[^\]]*\]`)

// unquoted removes quoted texts from a selector, and the character after each backslash.
func unquoted(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"', '\'':
			i = closingQuote(text, i)
		case '\\':
			b.WriteByte(text[i])
			i++
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// pseudoElement explains what to write instead of ::text and ::attr(name), which Scrapy
// has.
func pseudoElement(before, name string) error {
	hint := "pseudo-elements are not part of a page"
	if name == "text" {
		hint = "write " + before + "; the value is the text of the element"
	}
	if attribute, ok := strings.CutPrefix(name, "attr("); ok {
		hint = "write " + before + ", and attribute: " + strings.TrimSuffix(attribute, ")")
	}
	return &exprError{"::" + name + " is not supported", hint}
}

// piece is a part of a selector as it was written.
type piece struct {
	text       string
	combinator byte
}

// split splits a valid selector into chains and these into parts.
func split(text string) [][]piece {
	var chains [][]piece
	var list []piece
	combinator, start, depth := byte(0), -1, 0
	end := func(i int) {
		if start >= 0 {
			list = append(list, piece{text[start:i], combinator})
			start, combinator = -1, ' '
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			if start < 0 {
				start = i
			}
			i++
		case c == '"' || c == '\'':
			i = closingQuote(text, i)
		case c == '(' || c == '[':
			if start < 0 {
				start = i
			}
			depth++
		case c == ')' || c == ']':
			depth--
		case depth > 0:
		case c == ',':
			end(i)
			chains, list, combinator = append(chains, list), nil, 0
		case strings.IndexByte(" \t\r\n\f", c) >= 0:
			end(i)
		case c == '>' || c == '+' || c == '~':
			end(i)
			combinator = c
		case start < 0:
			start = i
		}
	}
	end(len(text))
	return append(chains, list)
}

// closingQuote is where a quoted text that starts at i ends.
func closingQuote(text string, i int) int {
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case text[i]:
			return j
		}
	}
	return len(text)
}

// checkArguments refuses pseudo-classes that would take more than linear time for each
// element. The text has no quotes and no brackets of attributes.
func checkArguments(text string, outer bool) error {
	for {
		open := strings.IndexByte(text, '(')
		if open < 0 {
			return nil
		}
		name := text[strings.LastIndexByte(text[:open], ':')+1 : open]
		closing := closingBracket(text, open)
		argument := text[open+1 : closing]
		text = text[closing:]
		switch strings.ToLower(name) {
		case "matches", "matchesown":
			return &exprError{":" + name + "(…) is not supported", "select the elements, and add regex"}
		case "not", "is", "where", "has", "haschild":
		default:
			continue // a number or a text
		}
		for _, list := range split(argument) {
			if len(list) > 1 {
				return &exprError{":" + name + "(…) with several parts is not supported", "use xpath instead"}
			}
		}
		if name := strings.ToLower(name); name == "has" || name == "haschild" {
			if !outer || strings.ContainsRune(argument, ':') {
				return &exprError{":" + name + "(…) inside or around another pseudo-class is not supported", "use xpath instead"}
			}
		}
		if err := checkArguments(argument, false); err != nil {
			return err
		}
	}
}

// closingBracket is where the bracket at i is closed.
func closingBracket(text string, i int) int {
	depth := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// state is what has matched so far: bit n stands for the first n+1 parts of a chain.
type state uint32

// stateShare: so many elements are prepared in a step.
const stateShare = 8

// values implements source.
func (s selector) values(p *page, f *field, yield func(string) bool) error {
	t, err := p.document()
	if err != nil {
		return err
	}
	elements := t.elements
	if err := p.spend(len(s) * len(elements) / stateShare); err != nil {
		return err
	}
	// For each chain and element: what matched at it, and at siblings before it.
	here, before := make([]state, len(s)*len(elements)), make([]state, len(s)*len(elements))
	above := make([]state, len(s)*len(elements)) // at its ancestors
	for i := range elements {
		e := &elements[i]
		matched := false
		for c := range s {
			at := func(list []state, i int32) state {
				if i < 0 {
					return 0
				}
				return list[c*len(elements)+int(i)]
			}
			k := c*len(elements) + i
			before[k] = at(before, e.prev) | at(here, e.prev)
			above[k] = at(above, e.parent) | at(here, e.parent)
			if here[k], err = s[c].match(p, e, above[k], at(here, e.parent), at(here, e.prev), before[k]); err != nil {
				return err
			}
			matched = matched || here[k]&(1<<(len(s[c])-1)) != 0
		}
		if !matched {
			continue
		}
		value, ok, err := p.value(e.node, f.attribute)
		if err != nil {
			return err
		}
		if ok && !yield(value) {
			return nil
		}
	}
	return nil
}

// match says how much of the chain matches at an element.
func (c chain) match(p *page, e *element, above, parent, prev, before state) (is state, err error) {
	for n := range c {
		ok := n == 0
		switch c[n].combinator {
		case ' ':
			ok = above>>(n-1)&1 != 0
		case '>':
			ok = parent>>(n-1)&1 != 0
		case '+':
			ok = prev>>(n-1)&1 != 0
		case '~':
			ok = before>>(n-1)&1 != 0
		}
		if !ok {
			continue
		}
		if err := p.spend(c[n].cost(e)); err != nil {
			return 0, err
		}
		if c[n].match.Match(e.node) {
			is |= 1 << n
		}
	}
	return is, nil
}
