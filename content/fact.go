package content

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"headway/internal/htmltoken"
)

// fact is a statement about the page. Of several the one with the highest rank counts,
// and of those the first.
type fact struct {
	text string
	rank uint8
}

// The ranks of the sources of facts.
const (
	rankTime    = 1 + iota // a time element
	rankVague              // a meta element that is often something else
	rankData               // JSON-LD
	rankMeta               // a meta element
	rankElement            // the element for it
)

func (f *fact) set(rank uint8, raw []byte, limit int) {
	if f.rank >= rank {
		return
	}
	if text := clean(raw, limit); text != "" {
		*f = fact{text, rank}
	}
}

// facts are the statements about the page.
type facts struct {
	name, lang, author, published fact
	address                       []byte // of the base element
	ldJSON                        bool   // the next raw text is JSON-LD
}

// title handles the title element.
func (f *facts) title(raw []byte) { f.name.set(rankElement, raw, maxFact) }

// language handles the language of the html element.
func (f *facts) language(raw []byte) { f.lang.set(rankElement, raw, maxLanguage) }

// base handles a base element.
func (f *facts) base(s *scanner) {
	if f.address == nil && s.z.Attrs.Has(htmltoken.AttrHref) {
		f.address = htmltoken.AppendDecoded([]byte{}, s.value(htmltoken.AttrHref), htmltoken.InAttribute)
	}
}

// time handles a time element.
func (f *facts) time(s *scanner) {
	rank := uint8(rankTime)
	if s.attributeIs(htmltoken.AttrItemprop, "datePublished") {
		rank = rankMeta
	}
	f.published.set(rank, s.value(htmltoken.AttrDatetime), maxDate)
}

// meta handles a meta element.
func (f *facts) meta(s *scanner) {
	content := s.value(htmltoken.AttrContent)
	if len(content) == 0 {
		return
	}
	name := s.value(htmltoken.AttrProperty)
	if name == nil {
		name = s.value(htmltoken.AttrName)
	}
	if name == nil {
		name = s.value(htmltoken.AttrItemprop)
	}
	if name == nil {
		if s.attributeIs(htmltoken.AttrHTTPEquiv, "content-language") {
			f.lang.set(rankMeta, content, maxLanguage)
		}
		return
	}
	var buffer [maxProperty]byte
	switch string(lowered(&buffer, htmltoken.TrimSpace(name))) {
	case "og:title", "twitter:title", "dc.title":
		f.name.set(rankMeta, content, maxFact)
	case "language", "dc.language":
		f.lang.set(rankMeta, content, maxLanguage)
	case "og:locale":
		f.lang.set(rankVague, bytes.ReplaceAll(content, []byte{'_'}, []byte{'-'}), maxLanguage)
	case "author", "dc.creator", "dcterms.creator", "parsely-author", "sailthru.author", "byl":
		f.author.set(rankMeta, content, maxFact)
	case "article:author":
		if !bytes.Contains(content, []byte("//")) { // often the address of a profile
			f.author.set(rankVague, content, maxFact)
		}
	case "article:published_time", "datepublished", "dc.date.issued", "dcterms.created", "parsely-pub-date", "sailthru.date", "pubdate", "publishdate", "publish-date", "article.published", "og:published_time":
		f.published.set(rankMeta, content, maxDate)
	case "date", "dc.date", "dcterms.date", "article:published", "datecreated":
		f.published.set(rankVague, content, maxDate)
	}
}

// clean returns text in one line: references decoded, white space collapsed, without
// control characters, cut to a limit.
func clean(raw []byte, limit int) string {
	raw = raw[:min(len(raw), 8*limit)]
	var out strings.Builder
	space := false
	for _, r := range string(htmltoken.AppendDecoded(nil, raw, htmltoken.InText)) {
		switch {
		case unicode.IsSpace(r):
			space = out.Len() > 0
			continue
		case unicode.IsControl(r):
			continue
		}
		if out.Len()+utf8.RuneLen(r)+1 > limit {
			break
		}
		if space {
			out.WriteByte(' ')
			space = false
		}
		out.WriteRune(r)
	}
	return out.String()
}

// number reads a small number; 1 if there is none.
func number(b []byte) int32 {
	n := int32(0)
	for _, c := range htmltoken.TrimSpace(b) {
		if c < '0' || c > '9' || n > 1e6 {
			return 1
		}
		n = n*10 + int32(c-'0')
	}
	if len(b) == 0 {
		return 1
	}
	return n
}
