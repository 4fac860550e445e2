package parse

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/encoding"

	"headway/weburl"
)

// document reads one HTML body: it first scans the tags and records references, then
// resolves them, because the base element may come later.
type document struct {
	z      tokenizer
	page   *Page
	agent  string // product token, lower case
	all    bool   // including resources
	legacy encoding.Encoding
	hasNUL bool

	text   visibleText
	refs   []reference
	values []byte // decoded attribute values used by references
	line   []byte // buffer for clean
	base   []byte // the first base element's address
	svg    int    // open svg elements, whose titles are not the page's
	inBody bool
	titled bool // the next raw text is the title
}

// reference is a link as written.
type reference struct {
	text []byte // in the body, or in document.values
	lang string // hreflang of an alternate
	rel  Rel
	kind Kind
}

// maxKept limits the memory, in bytes, that a document keeps for the next one in each of
// its buffers.
const maxKept = 1 << 20

// release returns d to the pool, without references to this page.
func (d *document) release() {
	clear(d.refs)
	refs, values, line, text := d.refs[:0], d.values[:0], d.line[:0], d.text
	if cap(refs)*int(unsafe.Sizeof(reference{})) > maxKept {
		refs = nil
	}
	if cap(values) > maxKept {
		values = nil
	}
	*d = document{text: text, refs: refs, values: values, line: line}
	documents.Put(d)
}

// pageTags are the elements with useful attributes if only links to pages are needed.
var (
	pageTags     = tags(tagA, tagArea, tagBase, tagFrame, tagHTML, tagIframe, tagLink, tagMeta)
	resourceTags = pageTags | tags(tagImg, tagSource)
)

// read reads the body of an HTML page.
func (d *document) read(a Answer, o Options, contentType string) {
	page, body := d.page, a.Body
	if len(body) > MaxBytes {
		body = body[:MaxBytes]
		page.Cut |= BoundBytes
	}
	in := decode(body, contentType)
	if in.cut {
		page.Cut |= BoundBytes
	}
	page.Charset = in.charset
	d.legacy, d.agent = in.legacy, strings.ToLower(o.Agent)
	d.hasNUL = bytes.IndexByte(in.text, 0) >= 0
	want := pageTags
	if d.all {
		want = resourceTags
	}
	d.z.reset(in.text, want)
	d.text.reset()
	d.scan()
	page.Digest, page.SimHash, page.Words = d.text.sum()
	d.useBase()
}

// useBase sets the page's base from the base element, if there is a valid one.
func (d *document) useBase() {
	if d.base == nil {
		return
	}
	if u, err := d.page.Base.Resolve(view(d.base)); err == nil {
		d.page.Base = u
	}
}

// scan processes the tags.
func (d *document) scan() {
	z := &d.z
	for {
		token := z.next()
		if token == tokenRaw {
			d.rawText()
			continue
		}
		if text := trimLeft(z.bytes(z.text)); len(text) > 0 { // usually there is only white space between tags
			d.text.write(text, true)
		}
		switch token {
		case tokenEnd:
			return
		case tokenStart:
			if z.tag != tagOther {
				d.start()
			}
		case tokenClose:
			if z.tag == tagSVG && d.svg > 0 {
				d.svg--
			}
		}
	}
}

// rawText handles the content of a raw text element.
func (d *document) rawText() {
	content := d.z.bytes(d.z.text)
	switch {
	case d.z.tag == tagPlaintext:
		d.text.write(content, false)
	case d.z.tag == tagTitle && d.titled:
		d.titled = false
		d.page.Title = d.clean(content, MaxTitle, true)
	}
}

// start handles a start tag with a known name.
func (d *document) start() {
	switch d.z.tag {
	case tagA:
		d.hyperlink(Anchor)
	case tagArea:
		d.hyperlink(Area)
	case tagIframe, tagFrame:
		d.reference(attrSrc, reference{kind: Frame})
	case tagLink:
		d.linkElement()
	case tagMeta:
		d.meta()
	case tagImg:
		d.reference(attrSrc, reference{kind: Image})
		d.imageSet()
	case tagSource:
		d.imageSet()
	case tagBase:
		if d.base == nil && d.z.attrs.has(attrHref) {
			d.base = d.value(attrHref)
		}
	case tagHTML:
		if d.page.Lang == "" {
			d.page.Lang = d.clean(d.value(attrLang), maxLanguage, false)
		}
	case tagBody:
		d.inBody = true
	case tagSVG:
		d.svg++
	case tagTitle:
		d.titled = d.svg == 0 && d.page.Title == ""
	}
}

// hyperlink handles an a or area element.
func (d *document) hyperlink(kind Kind) {
	var rel Rel
	if d.z.attrs.has(attrRel) {
		rel = relOf(d.value(attrRel))
	}
	d.reference(attrHref, reference{kind: kind, rel: rel})
}

// linkElement handles a link element.
func (d *document) linkElement() {
	ref := reference{kind: Element, rel: relOf(d.value(attrRel))}
	if d.inBody {
		ref.rel &^= RelCanonical // only valid in the head; elsewhere it may be user content
	}
	mime := string(trimSpace(d.value(attrType)))
	if d.wants(&ref, mime) {
		if ref.rel.Has(RelAlternate) && d.z.attrs.has(attrHreflang) {
			ref.lang = d.clean(d.value(attrHreflang), maxLanguage, false)
		}
		d.reference(attrHref, ref)
	}
}

// wants reports whether a link element or header field is one we look for, and marks
// feeds.
func (d *document) wants(ref *reference, mime string) bool {
	if ref.rel.Has(RelAlternate) && isFeed(mime) {
		ref.rel |= RelFeed
	}
	if ref.rel&RelHint != 0 {
		return false
	}
	// An alternate style sheet is a style sheet.
	return d.all || ref.rel&pageRels != 0 && ref.rel&RelStylesheet == 0
}

func isFeed(mime string) bool {
	return strings.EqualFold(mime, "application/rss+xml") || strings.EqualFold(mime, "application/atom+xml")
}

// imageSet handles the candidates of a srcset attribute.
func (d *document) imageSet() {
	if !d.z.attrs.has(attrSrcset) {
		return
	}
	srcset(d.value(attrSrcset), func(ref []byte) bool {
		return d.note(reference{text: ref, kind: Image})
	})
}

// meta handles a meta element.
func (d *document) meta() {
	z := &d.z
	if z.attrs.has(attrHTTPEquiv) && equalFold(d.value(attrHTTPEquiv), "refresh") {
		if ref := refresh(d.value(attrContent)); ref != nil {
			d.note(reference{text: ref, kind: Refresh})
		}
	}
	if !z.attrs.has(attrName) {
		return
	}
	switch name := trimSpace(d.value(attrName)); {
	case equalFold(name, "description"):
		if d.page.Description == "" {
			d.page.Description = d.clean(d.value(attrContent), MaxDescription, false)
		}
	case equalFold(name, "robots"):
		d.directive("robots")
	case d.agent != "" && equalFold(name, d.agent):
		d.directive(d.agent)
	}
}

// directive stores a robots directive.
func (d *document) directive(agent string) {
	if len(d.page.Robots) == MaxDirectives {
		d.page.Cut |= BoundFacts
		return
	}
	content := d.clean(d.value(attrContent), maxDirective, false)
	d.page.Robots = append(d.page.Robots, Directive{Agent: agent, Content: content})
}

// header handles the references in header fields.
func (d *document) header(a Answer) {
	for _, field := range a.Header["Link"] {
		linkHeader(field, func(l headerLink) bool {
			if l.anchored { // about another page
				return true
			}
			ref := reference{text: []byte(l.target), kind: Field, rel: relOf([]byte(l.rel))}
			if !d.wants(&ref, l.mime) {
				return true
			}
			if ref.rel.Has(RelAlternate) && l.hreflang != "" {
				ref.lang = d.clean([]byte(l.hreflang), maxLanguage, false)
			}
			return d.note(ref)
		})
	}
	if ref := refresh([]byte(a.Header.Get("Refresh"))); ref != nil {
		d.note(reference{text: ref, kind: Refresh})
	}
}

// reference records the URL in an attribute, if the tag has it.
func (d *document) reference(attr attrKey, ref reference) {
	if d.z.attrs.has(attr) {
		ref.text = d.value(attr)
		d.note(ref)
	}
}

// note records a reference to be resolved. It reports whether there is room for another.
func (d *document) note(ref reference) bool {
	if len(d.refs) == MaxReferences {
		d.page.Cut |= BoundLinks
		return false
	}
	d.refs = append(d.refs, ref)
	return true
}

// value returns the value of an attribute, decoded; nil if there is none.
func (d *document) value(attr attrKey) []byte {
	if !d.z.attrs.has(attr) {
		return nil
	}
	raw := d.z.bytes(d.z.attrs.at[attr])
	if bytes.IndexByte(raw, '&') < 0 && !d.hasNUL {
		return raw
	}
	if d.hasNUL {
		raw = bytes.ReplaceAll(raw, []byte{0}, []byte("\ufffd"))
	}
	start := len(d.values)
	d.values = appendDecoded(d.values, raw, inAttribute)
	return d.values[start:len(d.values):len(d.values)]
}

// resolve turns the references into links.
func (d *document) resolve() {
	page := d.page
	if len(d.refs) == 0 {
		return
	}
	page.Links = make([]Link, 0, min(len(d.refs), MaxLinks))
	for i := range d.refs {
		ref := &d.refs[i]
		if d.legacy != nil {
			ref.text = d.inCharset(ref.text)
		}
		u, err := page.Base.Resolve(view(ref.text))
		if err != nil {
			countBad(&page.Bad, err)
			continue
		}
		if len(page.Links) == MaxLinks {
			page.Cut |= BoundLinks
			return
		}
		page.Links = append(page.Links, Link{URL: u, Rel: ref.rel, Kind: ref.kind})
		if ref.rel&RelCanonical != 0 && (ref.kind == Element || ref.kind == Field) && page.Canonical.IsZero() {
			page.Canonical = u
		}
		if ref.lang != "" {
			page.addAlternate(Alternate{Lang: ref.lang, URL: u})
		}
	}
}

// inCharset escapes the query of a reference in the encoding of the document. One that is
// too long for a URL is left alone.
func (d *document) inCharset(ref []byte) []byte {
	if len(ref) > weburl.MaxLength || isASCII(ref) {
		return ref
	}
	return encodeQuery(nil, ref, d.legacy)
}

// view returns b as a string without a copy, for functions that do not keep it, such as
// [weburl.URL.Resolve].
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// clean returns text for display in one line: white space collapsed, without control
// characters and invalid UTF-8, cut to a limit.
func (d *document) clean(raw []byte, bound int, references bool) string {
	// White space and references make the raw form longer, within limits.
	if most := 8 * bound; len(raw) > most {
		raw = raw[:most]
		d.page.Cut |= BoundFacts
	}
	d.line = appendWords(d.line[:0], raw, references)
	words := bytes.TrimSuffix(d.line, []byte{' '})
	if len(words) > bound {
		words = words[:bound]
		for n := 1; n < utf8.UTFMax && n < len(words); n++ { // not in the middle of a character
			if utf8.RuneStart(words[len(words)-n]) {
				if !utf8.FullRune(words[len(words)-n:]) {
					words = words[:len(words)-n]
				}
				break
			}
		}
		d.page.Cut |= BoundFacts
	}
	s := strings.ToValidUTF8(string(words), "\ufffd")
	if strings.ContainsFunc(s, unicode.IsControl) {
		s = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, s)
	}
	return s
}
