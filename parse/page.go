package parse

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"

	"headway/weburl"
)

// Bounds of one page. Time is bounded through them and not by a clock, so that
// the same body always gives the same page: reading is linear in MaxBytes, and
// what is dear, resolving an address, happens at most MaxReferences times.
// Nesting needs no bound, as no tree is built. The slowest body of 10 MiB that
// was found, 40,000 links to host names that are almost valid, takes a second;
// an ordinary page of 30 KiB a ten-thousandth of one.
const (
	MaxBytes       = 32 << 20     // bytes of a body that are read, as sent and as UTF-8
	MaxLinks       = 20_000       // links of one page
	MaxReferences  = 2 * MaxLinks // references looked at for them, good or bad
	MaxTitle       = 1 << 10      // bytes of a title
	MaxDescription = 2 << 10      // bytes of a description
	MaxDirectives  = 16           // robots directives
	MaxAlternates  = 500          // versions in other languages
)

const (
	maxDirective = 1 << 10 // bytes of one robots directive
	maxLanguage  = 64      // bytes of a language tag
)

// Answer is what a server sent, as far as it is needed to understand the body.
type Answer struct {
	URL    weburl.URL // the address the body came from
	Status int
	Header http.Header
	Body   []byte // content codings removed
}

// Options say what to look for beyond links to pages and facts.
type Options struct {
	// Agent is the crawler's product token. Robots directives under this name
	// are kept beside those under "robots".
	Agent string
	// Resources also lists what a page is made of and does not lead to a page:
	// images, style sheets, icons and the like.
	Resources bool
}

// Page is what one body says. Its strings and slices are its own: nothing in
// it keeps the body alive.
type Page struct {
	Type    Type
	Charset Charset

	// Links are resolved against Base, in the order of the document; those of
	// the header come last, and are the only ones of a body that is no HTML.
	// The same address may be in it more than once.
	Links []Link
	// Bad counts the references that are no crawlable URL, by reason.
	Bad map[weburl.Code]int
	// Base is the address relative references start from: that of the page, or
	// what its first base element says.
	Base weburl.URL

	Title       string
	Description string
	Lang        string      // of the html element
	Canonical   weburl.URL  // zero if the page names none
	Alternates  []Alternate // versions in other languages (hreflang)
	Robots      []Directive // meta robots, as written

	Digest  Digest  // of the visible text
	SimHash SimHash // of the visible text
	Words   int     // in the visible text

	// Challenge is not zero if this is no page but a firewall's answer.
	Challenge Challenge
	// Cut names the bounds that were reached; what lay beyond is missing.
	Cut Bounds
}

// Alternate is a version of a page in another language.
type Alternate struct {
	Lang string // such as "de-AT", or "x-default"
	URL  weburl.URL
}

// Directive is a meta element for robots. What it asks for is for package
// robots to say.
type Directive struct {
	Agent   string // "robots", or the product token it is for, in lower case
	Content string // such as "noindex, nofollow"
}

// Bounds is a set of bounds that were reached.
type Bounds uint8

// The bounds a page can reach.
const (
	BoundBytes      Bounds = 1 << iota // MaxBytes
	BoundLinks                         // MaxLinks or MaxReferences
	BoundFacts                         // MaxTitle, MaxDescription, MaxDirectives or a part of them
	BoundAlternates                    // MaxAlternates
)

var boundNames = [...]string{"bytes", "links", "facts", "alternates"}

// String names the bounds, separated by spaces.
func (b Bounds) String() string {
	var names []string
	for i, name := range boundNames {
		if b>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// PanicError reports a body that made this package fail. It is a defect of the
// package, contained to the page; the URL ends "failed: parse".
type PanicError struct {
	URL   weburl.URL
	Value any    // what was panicked with
	Stack []byte // where
}

// Error names the page.
func (e *PanicError) Error() string { return fmt.Sprintf("parse %s: panic: %v", e.URL, e.Value) }

// Read understands one answer. Everything the web may send has a Page; the
// error is always a [*PanicError]. Read keeps no reference to the body and may
// be called from many goroutines.
func Read(a Answer, o Options) (page Page, err error) {
	defer func() {
		if err != nil {
			page = Page{}
		}
	}()
	defer contain(a.URL, &err)
	contentType := a.Header.Get("Content-Type")
	page.Type = sniff(contentType, a.Body)
	page.Base = a.URL
	d := documents.Get().(*document)
	d.page, d.all = &page, o.Resources
	if page.Type == TypeHTML {
		d.read(a, o, contentType)
	}
	d.header(a)
	d.resolve()
	d.release()
	page.Challenge = challengeOf(a, &page)
	return page, nil
}

// contain turns a panic into an error about one page. It must be deferred.
func contain(u weburl.URL, err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{URL: u, Value: v, Stack: debug.Stack()}
	}
}

// documents keeps the memory a document is read with. One that panicked is
// not returned to it.
var documents = sync.Pool{New: func() any { return new(document) }}

// countBad counts a reference that weburl refused.
func countBad(counts *map[weburl.Code]int, err error) {
	var code weburl.Code
	if e, ok := errors.AsType[*weburl.Error](err); ok {
		code = e.Code
	}
	if *counts == nil {
		*counts = map[weburl.Code]int{}
	}
	(*counts)[code]++
}

// addAlternate keeps a version in another language.
func (p *Page) addAlternate(a Alternate) {
	if len(p.Alternates) == MaxAlternates {
		p.Cut |= BoundAlternates
		return
	}
	p.Alternates = append(p.Alternates, a)
}

// equalFold reports whether b is the lower-case name, in any case of letters
// and with white space around it.
func equalFold(b []byte, name string) bool { return isName(trimSpace(b), name) }
