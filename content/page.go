package content

import (
	"strings"
	"sync"
	"unicode/utf8"

	"headway/parse"
	"headway/weburl"
)

// Limits of one page. Time is linear in the length of the page, which package parse
// limits.
const (
	maxDepth      = 512       // open elements
	maxNodes      = 1 << 16   // block elements
	maxBlocks     = 1 << 16   // pieces of text
	maxRuns       = 1 << 19   // parts of these pieces
	maxRules      = 4096      // rules of the page's style elements
	maxMatches    = 32        // rules that match one element
	maxSelector   = 128       // bytes of a selector
	maxProperty   = 32        // bytes of the name of a property or of a meta element
	maxValue      = 256       // bytes of the value of a property
	maxClasses    = 32        // classes of one element
	maxQuotes     = 32        // nested quotes and lists in Markdown
	maxHintWord   = 16        // bytes of a word in a class
	maxHintValue  = 512       // bytes of a class or id
	maxFact       = 1 << 10   // bytes of a title or an author
	maxLanguage   = 64        // bytes of a language
	maxDate       = 64        // bytes of a date
	maxLinkedData = 256 << 10 // bytes of a script with JSON-LD
)

// Options say what to make of a page. The facts and the digest are always there.
type Options struct {
	Text     bool // the main text
	Markdown bool // the main text as Markdown
}

// Page is what a page says.
type Page struct {
	Title     string
	Language  string // as the page declares it, such as "en-GB"
	Author    string
	Published string // as written, mostly ISO 8601

	Words  int          // in the main text
	Digest parse.Digest // of the main text: words with single spaces

	Text     string // paragraphs, separated by an empty line
	Markdown string

	// Cut is set if the page exceeds a limit; what is beyond it is missing.
	Cut bool
}

// Extract reads an HTML page in UTF-8. base is the URL of the page. It is safe for
// concurrent use.
func Extract(html []byte, base weburl.URL, o Options) Page {
	r := NewReader()
	r.Begin(&r.own, html[:min(len(html), parse.MaxBytes)])
	r.scan()
	page, _ := r.Page(base, o)
	page.Cut = page.Cut || len(html) > parse.MaxBytes
	return page
}

// Reader extracts a page from the tokens that package parse reads, as parse.Options.Beside.
// This saves a second pass over the page.
type Reader struct{ *scanner }

// NewReader returns a reader for one page.
func NewReader() Reader { return Reader{scanners.Get().(*scanner)} }

// Page returns what the page says; false if it was not HTML. base is the URL of the page.
// Its body must not have changed. The reader must not be used afterwards.
func (r Reader) Page(base weburl.URL, o Options) (page Page, ok bool) {
	s := r.scanner
	if s.z == nil {
		scanners.Put(s)
		return Page{}, false
	}
	if s.late {
		s.reset()
		s.scan()
	}
	s.choose()
	page = Page{
		Title: s.facts.name.text, Language: s.facts.lang.text, Author: s.facts.author.text, Published: s.facts.published.text,
		Cut: s.cut || s.sheet.cut,
	}
	s.out = s.appendText(s.out[:0])
	page.Digest, page.Words = parse.DigestOf(s.out)
	if o.Text {
		page.Text = valid(s.out)
	}
	if o.Markdown {
		if s.facts.address != nil {
			if u, err := base.Resolve(string(s.facts.address)); err == nil {
				base = u
			}
		}
		s.md = s.appendMarkdown(s.md[:0], base)
		page.Markdown = valid(s.md)
	}
	s.src, s.z = nil, nil
	scanners.Put(s) // not after a panic
	return page, true
}

var scanners = sync.Pool{New: func() any { return new(scanner) }}

// valid returns text as a string of valid UTF-8.
func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}
