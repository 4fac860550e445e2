package parse

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/encoding"

	"headway/internal/htmltoken"
	"headway/weburl"
)

// document reads one HTML body: it first scans the tags and records references, then
// resolves them, because the base element may come later.
type document struct {
	z      htmltoken.Tokenizer
	page   *Page
	agent  string // product token, lower case
	all    bool   // including resources
	legacy encoding.Encoding
	hasNUL bool
	beside htmltoken.Reader // of the same tokens, or nil

	text   visibleText
	refs   []reference
	values []byte // decoded attribute values used by references
	line   []byte // buffer for clean
	base   []byte // the first base element's address
	svg    int    // open svg elements, whose titles are not the page's
	inBody bool
	titled bool // the next raw text is the title

	labelled bool // labels are wanted
	labels   labels
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
	*d = document{text: text, refs: refs, values: values, line: line, labels: d.labels.reset()}
	documents.Put(d)
}

// pageTags are the elements with useful attributes if only links to pages are needed.
var (
	pageTags     = htmltoken.Tags(htmltoken.TagA, htmltoken.TagArea, htmltoken.TagBase, htmltoken.TagFrame, htmltoken.TagHTML, htmltoken.TagIframe, htmltoken.TagLink, htmltoken.TagMeta)
	resourceTags = pageTags.With(htmltoken.TagImg, htmltoken.TagSource)
	labelTags    = pageTags.With(htmltoken.TagImg)
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
	if o.KeepBody {
		page.Body = in.text
	}
	d.legacy, d.agent = in.legacy, strings.ToLower(o.Agent)
	d.hasNUL = bytes.IndexByte(in.text, 0) >= 0
	want := pageTags
	switch {
	case o.Beside != nil:
		want = htmltoken.AllTags
	case d.all:
		want = resourceTags
	case d.labelled:
		want = labelTags
	}
	d.z.Reset(in.text, want)
	if d.beside = o.Beside; d.beside != nil {
		d.beside.Begin(&d.z, in.text)
	}
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
		token := z.Next()
		if d.beside != nil {
			d.beside.Read(token)
		}
		if token == htmltoken.Raw {
			d.rawText()
			continue
		}
		if text := htmltoken.TrimLeft(z.Bytes(z.Text)); len(text) > 0 { // usually there is only white space between tags
			d.text.write(text, true)
		}
		if d.labels.open != 0 {
			d.labels.read(z, token)
		}
		switch token {
		case htmltoken.End:
			return
		case htmltoken.Start:
			if z.Tag != htmltoken.TagOther {
				d.start()
			}
		case htmltoken.Close:
			if z.Tag == htmltoken.TagSVG && d.svg > 0 {
				d.svg--
			}
		}
	}
}

// rawText handles the content of a raw text element.
func (d *document) rawText() {
	content := d.z.Bytes(d.z.Text)
	switch {
	case d.z.Tag == htmltoken.TagPlaintext:
		d.text.write(content, false)
	case d.z.Tag == htmltoken.TagTitle && d.titled:
		d.titled = false
		d.page.Title = d.clean(content, MaxTitle, true)
	}
}

// start handles a start tag with a known name.
func (d *document) start() {
	switch d.z.Tag {
	case htmltoken.TagA:
		d.hyperlink(Anchor)
	case htmltoken.TagArea:
		d.hyperlink(Area)
	case htmltoken.TagIframe, htmltoken.TagFrame:
		d.reference(htmltoken.AttrSrc, reference{kind: Frame})
	case htmltoken.TagLink:
		d.linkElement()
	case htmltoken.TagMeta:
		d.meta()
	case htmltoken.TagImg:
		if d.labels.open != 0 && d.z.Attrs.Has(htmltoken.AttrAlt) {
			d.labels.write(d.z.Bytes(d.z.Attrs.At(htmltoken.AttrAlt)))
		}
		if d.all {
			d.reference(htmltoken.AttrSrc, reference{kind: Image})
			d.imageSet()
		}
	case htmltoken.TagSource:
		if d.all {
			d.imageSet()
		}
	case htmltoken.TagBase:
		if d.base == nil && d.z.Attrs.Has(htmltoken.AttrHref) {
			d.base = d.value(htmltoken.AttrHref)
		}
	case htmltoken.TagHTML:
		if d.page.Lang == "" {
			d.page.Lang = d.clean(d.value(htmltoken.AttrLang), maxLanguage, false)
		}
	case htmltoken.TagBody:
		d.inBody = true
	case htmltoken.TagSVG:
		d.svg++
	case htmltoken.TagTitle:
		d.titled = d.svg == 0 && d.page.Title == ""
	}
}

// hyperlink handles an a or area element.
func (d *document) hyperlink(kind Kind) {
	var rel Rel
	if d.z.Attrs.Has(htmltoken.AttrRel) {
		rel = relOf(d.value(htmltoken.AttrRel))
	}
	before := len(d.refs)
	d.reference(htmltoken.AttrHref, reference{kind: kind, rel: rel})
	if !d.labelled {
		return
	}
	d.labels.close()
	if len(d.refs) == before {
		return
	}
	if kind == Area {
		d.labels.at(before).anchor = d.labels.add(d.value(htmltoken.AttrAlt), MaxAnchor, false)
		return
	}
	d.labels.begin(before)
}

// linkElement handles a link element.
func (d *document) linkElement() {
	ref := reference{kind: Element, rel: relOf(d.value(htmltoken.AttrRel))}
	if d.inBody {
		ref.rel &^= RelCanonical // only valid in the head; elsewhere it may be user content
	}
	mime := string(htmltoken.TrimSpace(d.value(htmltoken.AttrType)))
	if d.wants(&ref, mime) {
		if ref.rel.Has(RelAlternate) && d.z.Attrs.Has(htmltoken.AttrHreflang) {
			ref.lang = d.clean(d.value(htmltoken.AttrHreflang), maxLanguage, false)
		}
		d.reference(htmltoken.AttrHref, ref)
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
	if !d.z.Attrs.Has(htmltoken.AttrSrcset) {
		return
	}
	srcset(d.value(htmltoken.AttrSrcset), func(ref []byte) bool {
		return d.note(reference{text: ref, kind: Image})
	})
}

// meta handles a meta element.
func (d *document) meta() {
	z := &d.z
	if z.Attrs.Has(htmltoken.AttrHTTPEquiv) && equalFold(d.value(htmltoken.AttrHTTPEquiv), "refresh") {
		if ref := refresh(d.value(htmltoken.AttrContent)); ref != nil {
			d.note(reference{text: ref, kind: Refresh})
		}
	}
	if !z.Attrs.Has(htmltoken.AttrName) {
		return
	}
	switch name := htmltoken.TrimSpace(d.value(htmltoken.AttrName)); {
	case equalFold(name, "description"):
		if d.page.Description == "" {
			d.page.Description = d.clean(d.value(htmltoken.AttrContent), MaxDescription, false)
		}
	case equalFold(name, "robots"):
		d.directive("robots")
	case d.agent != "" && equalFold(name, d.agent):
		d.directive(d.agent)
	case d.page.TDM == "" && equalFold(name, "tdm-reservation"):
		d.page.TDM = d.clean(d.value(htmltoken.AttrContent), maxDirective, false)
	}
}

// directive stores a robots directive.
func (d *document) directive(agent string) {
	if len(d.page.Robots) == MaxDirectives {
		d.page.Cut |= BoundFacts
		return
	}
	content := d.clean(d.value(htmltoken.AttrContent), maxDirective, false)
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
			if d.labelled {
				d.labels.at(len(d.refs)).rel = d.labels.add([]byte(l.rel), MaxRel, false)
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
func (d *document) reference(attr htmltoken.Attr, ref reference) {
	if d.z.Attrs.Has(attr) {
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
	if d.labelled && ref.kind != Field && ref.kind != Refresh && ref.kind != Image && d.z.Attrs.Has(htmltoken.AttrRel) {
		d.labels.at(len(d.refs) - 1).rel = d.labels.add(d.value(htmltoken.AttrRel), MaxRel, false)
	}
	return true
}

// value returns the value of an attribute, decoded; nil if there is none.
func (d *document) value(attr htmltoken.Attr) []byte {
	if !d.z.Attrs.Has(attr) {
		return nil
	}
	raw := d.z.Bytes(d.z.Attrs.At(attr))
	if bytes.IndexByte(raw, '&') < 0 && !d.hasNUL {
		return raw
	}
	if d.hasNUL {
		raw = bytes.ReplaceAll(raw, []byte{0}, []byte("\ufffd"))
	}
	start := len(d.values)
	d.values = htmltoken.AppendDecoded(d.values, raw, htmltoken.InAttribute)
	return d.values[start:len(d.values):len(d.values)]
}

// resolve turns the references into links.
func (d *document) resolve() {
	page := d.page
	if len(d.refs) == 0 {
		return
	}
	page.Links = make([]Link, 0, min(len(d.refs), MaxLinks))
	var words string
	if d.labelled {
		d.labels.close()
		page.Labels, words = make([]Label, 0, cap(page.Links)), string(d.labels.words)
	}
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
		if d.labelled {
			page.Labels = append(page.Labels, d.labels.at(i).in(words))
		}
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
