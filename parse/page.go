package parse

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"

	"headway/internal/htmltoken"
	"headway/weburl"
)

// Limits of one page. Time is limited by them and not by a clock, so that the same body
// always gives the same page: reading is linear in MaxBytes, and resolving a URL, which is
// expensive, happens at most MaxReferences times. Nesting needs no limit, as no tree is
// built. The slowest known body of 10 MiB, 40,000 links to almost valid host names, takes
// a second; an ordinary page of 30 KiB 0.1 ms.
const (
	MaxBytes       = 32 << 20     // bytes of a body, as sent and as UTF-8
	MaxLinks       = 20_000       // links of one page
	MaxReferences  = 2 * MaxLinks // references, valid or not
	MaxTitle       = 1 << 10      // bytes of a title
	MaxDescription = 2 << 10      // bytes of a description
	MaxDirectives  = 16           // robots directives
	MaxAlternates  = 500          // versions in other languages
	MaxAnchor      = 256          // bytes of the text of a link
	MaxRel         = 64           // bytes of a rel attribute
)

const (
	maxDirective = 1 << 10 // bytes of one robots directive
	maxLanguage  = 64      // bytes of a language tag
)

// Answer is the part of a response needed to read its body.
type Answer struct {
	URL    weburl.URL // the URL of the body
	Status int
	Header http.Header
	Body   []byte // content codings removed
}

// Options say what to look for beyond links to pages and facts.
type Options struct {
	// Agent is the crawler's product token. Robots directives for this name are kept
	// in addition to those for "robots".
	Agent string
	// Resources also lists links that do not lead to pages: images, style sheets,
	// icons and the like.
	Resources bool
	// KeepBody sets Page.Body.
	KeepBody bool
	// Labels sets Page.Labels.
	Labels bool
	// Beside reads the tokens of an HTML page too, such as a Reader of package content.
	Beside htmltoken.Reader
}

// Page is the content of one body. It keeps no reference to the body, unless
// Options.KeepBody is set.
type Page struct {
	Type    Type
	Charset Charset
	// Body is an HTML page in UTF-8, as it was read. It may share memory with Answer.Body.
	// Only set if Options.KeepBody is.
	Body []byte

	// Links are resolved against Base, in document order; those of the header come
	// last, and are the only ones of a body that is not HTML. URLs may occur more
	// than once.
	Links []Link
	// Labels are the words of the links, in the same order. Only set if Options.Labels is.
	Labels []Label
	// Bad counts invalid references, by reason.
	Bad map[weburl.Code]int
	// Base is the base of relative references: the URL of the page, or that of its
	// first base element.
	Base weburl.URL

	Title       string
	Description string
	Lang        string      // of the html element
	Canonical   weburl.URL  // zero if there is none
	Alternates  []Alternate // versions in other languages (hreflang)
	Robots      []Directive // meta robots, as written
	TDM         string      // the first meta tdm-reservation, as written

	Digest  Digest  // of the visible text
	SimHash SimHash // of the visible text
	Words   int     // in the visible text

	// Challenge is set if this is a firewall's response instead of a page.
	Challenge Challenge
	// Cut lists the limits that were reached; what exceeds them is missing.
	Cut Bounds
}

// Alternate is a version of a page in another language.
type Alternate struct {
	Lang string // such as "de-AT", or "x-default"
	URL  weburl.URL
}

// Directive is a meta element for robots. Package robots interprets it.
type Directive struct {
	Agent   string // "robots", or the product token it is for, in lower case
	Content string // such as "noindex, nofollow"
}

// Bounds is a set of limits that were reached.
type Bounds uint8

// The limits a page can reach.
const (
	BoundBytes      Bounds = 1 << iota // MaxBytes
	BoundLinks                         // MaxLinks or MaxReferences
	BoundFacts                         // MaxTitle, MaxDescription, MaxDirectives or a part of them
	BoundAlternates                    // MaxAlternates
)

var boundNames = [...]string{"bytes", "links", "facts", "alternates"}

// String names the limits, separated by spaces.
func (b Bounds) String() string {
	var names []string
	for i, name := range boundNames {
		if b>>i&1 != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// PanicError reports a body that made this package panic. It is a bug of the package,
// limited to the page; the URL ends as "failed: parse".
type PanicError struct {
	URL   weburl.URL
	Value any    // what was panicked with
	Stack []byte // where
}

// Error names the page.
func (e *PanicError) Error() string { return fmt.Sprintf("parse %s: panic: %v", e.URL, e.Value) }

// Read reads one response. It returns a Page for any input; the error is always a
// [*PanicError]. Read is safe for concurrent use.
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
	d.page, d.all, d.labelled = &page, o.Resources, o.Labels
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

// documents is a pool of documents. One that panicked is not returned to it.
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

// addAlternate stores a version in another language.
func (p *Page) addAlternate(a Alternate) {
	if len(p.Alternates) == MaxAlternates {
		p.Cut |= BoundAlternates
		return
	}
	p.Alternates = append(p.Alternates, a)
}

// equalFold reports whether b is the lower-case name, ignoring case and white space
// around it.
func equalFold(b []byte, name string) bool { return htmltoken.EqualName(htmltoken.TrimSpace(b), name) }
