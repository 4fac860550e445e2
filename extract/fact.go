package extract

import (
	"fmt"
	"strings"

	"headway/internal/htmltoken"
)

// facts are what a page says in meta elements and JSON-LD.
type facts struct {
	metas   []meta
	data    []any // the JSON-LD scripts
	problem error // of a script that could not be read
	cut     error // what is left out
}

type meta struct{ name, content string }

// read returns the facts of a page. It reads the tags once, without a tree.
func (p *page) read() *facts {
	if p.facts == nil {
		p.facts = new(facts)
		p.facts.read(p.HTML, p.rules.linked)
	}
	return p.facts
}

// read reads the meta elements, and JSON-LD if it is wanted.
func (f *facts) read(src []byte, linkedData bool) {
	var z htmltoken.Tokenizer
	z.Reset(src, htmltoken.Tags(htmltoken.TagMeta, htmltoken.TagScript)) // scripts, so that what they contain is no tag
	value := func(a htmltoken.Attr) string {
		return string(htmltoken.AppendDecoded(nil, z.Bytes(z.Attrs.At(a)), htmltoken.InAttribute))
	}
	linked := false // the next script is JSON-LD
	blocks := 0
	for {
		switch z.Next() {
		case htmltoken.End:
			return
		case htmltoken.Raw:
			if linkedData && linked && z.Tag == htmltoken.TagScript {
				blocks++
				f.script(z.Bytes(z.Text), blocks)
			}
			linked = false
		case htmltoken.Start:
			switch z.Tag {
			case htmltoken.TagScript:
				kind, _, _ := strings.Cut(value(htmltoken.AttrType), ";")
				linked = z.Attrs.Has(htmltoken.AttrType) && strings.EqualFold(strings.TrimSpace(kind), "application/ld+json")
			case htmltoken.TagMeta:
				f.meta(&z, value)
			}
		}
	}
}

// meta keeps a meta element, once for each of its names.
func (f *facts) meta(z *htmltoken.Tokenizer, value func(htmltoken.Attr) string) {
	content := z.Attrs.At(htmltoken.AttrContent)
	if !z.Attrs.Has(htmltoken.AttrContent) || content.End-content.Start > maxMeta {
		return
	}
	names := map[string]bool{}
	decoded := value(htmltoken.AttrContent)
	for _, a := range []htmltoken.Attr{htmltoken.AttrName, htmltoken.AttrProperty, htmltoken.AttrItemprop, htmltoken.AttrHTTPEquiv} {
		if !z.Attrs.Has(a) {
			continue
		}
		for _, name := range strings.Fields(strings.ToLower(value(a))) { // property and itemprop may have several
			if names[name] {
				continue
			}
			names[name] = true
			if len(f.metas) == maxMetas {
				f.cut = fmt.Errorf("only the first %d meta elements were read", maxMetas)
				return
			}
			f.metas = append(f.metas, meta{name, decoded})
		}
	}
}

// script reads a script with JSON-LD.
func (f *facts) script(src []byte, number int) {
	switch {
	case number > maxBlocks:
		f.problem = fmt.Errorf("only the first %d JSON-LD scripts were read", maxBlocks)
		return
	case len(src) > maxBlock:
		f.problem = fmt.Errorf("JSON-LD script %d has more than %d bytes", number, maxBlock)
		return
	}
	data, err := readJSON(src)
	if err != nil {
		f.problem = fmt.Errorf("JSON-LD script %d is not valid JSON: %w", number, err)
		return
	}
	f.data = append(f.data, data)
}

// metaName finds meta elements by name, property, itemprop or http-equiv.
type metaName string

func compileMeta(text string) (source, error) {
	if strings.ContainsAny(text, " \t\n\"'<>=[]") {
		return nil, &exprError{"not the name of a meta element", "give the name alone, for example description or og:title"}
	}
	return metaName(strings.ToLower(text)), nil
}

// values implements source.
func (m metaName) values(p *page, _ *field, yield func(string) bool) error {
	facts := p.read()
	for i := range facts.metas {
		if facts.metas[i].name == string(m) && !yield(facts.metas[i].content) {
			return nil
		}
	}
	return facts.cut
}

// wholePage is the HTML of the page, for a regular expression.
type wholePage struct{}

// values implements source.
func (wholePage) values(p *page, _ *field, yield func(string) bool) error {
	if yield(string(p.HTML[:min(len(p.HTML), MaxPage)])) && len(p.HTML) > MaxPage {
		return fmt.Errorf("only the first %d bytes of the page were searched", MaxPage)
	}
	return nil
}
