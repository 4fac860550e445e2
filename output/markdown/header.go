package markdown

import (
	"strconv"
	"time"
	"unicode/utf8"

	"headway/visit"
)

// appendHeader appends the header of a file: YAML between two lines of hyphens, one line
// per fact. Facts without a value are omitted.
func appendHeader(b []byte, v *visit.Visit, crawl string) []byte {
	p, c := &v.Page, v.Page.Content
	h := header{append(b, "---\n"...)}
	h.text("url", v.Item.URL.String())
	h.text("title", p.Title)
	if !v.Timing.Sent.IsZero() {
		h.key("fetched")
		h.b = append(v.Timing.Sent.UTC().AppendFormat(h.b, time.RFC3339), '\n')
	}
	h.number("status", v.Answer.Status)
	h.text("language", p.Language)
	h.text("author", c.Author)
	h.text("published", c.Published)
	h.number("words", c.Words)
	h.text("digest", c.Digest)
	h.text("canonical", p.Canonical.String())
	h.object("fields", c.Fields)
	h.texts("directives", p.Robots)
	h.text("ai_train", string(p.Training()))
	h.texts("ai_signals", signals(p.Signals))
	if e := v.RobotsEvidence(); e != nil {
		h.text("robots_rule", e.Rule)
		h.number("robots_line", e.Line)
	}
	h.text("via", v.Item.Via.String())
	h.text("crawl", crawl)
	if c.Cut {
		h.b = append(h.b, "cut: true\n"...)
	}
	return append(h.b, "---\n"...)
}

// signals are AI-use signals as text.
func signals(list []visit.Signal) (texts []string) {
	for _, s := range list {
		texts = append(texts, s.String())
	}
	return texts
}

// header appends lines of YAML.
type header struct{ b []byte }

func (h *header) key(name string) {
	h.b = append(h.b, name...)
	h.b = append(h.b, ": "...)
}

func (h *header) text(name, value string) {
	if value != "" {
		h.key(name)
		h.b = append(appendQuoted(h.b, value), '\n')
	}
}

// object writes a JSON object, which is also YAML.
func (h *header) object(name string, value visit.Object) {
	if value != "" {
		h.key(name)
		for _, r := range string(value) { // JSON is YAML, except for some characters in strings
			h.b = appendRune(h.b, r)
		}
		h.b = append(h.b, '\n')
	}
}

func (h *header) texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	h.key(name)
	h.b = append(h.b, '[')
	for i, s := range list {
		if i > 0 {
			h.b = append(h.b, ", "...)
		}
		h.b = appendQuoted(h.b, s)
	}
	h.b = append(h.b, "]\n"...)
}

func (h *header) number(name string, n int) {
	if n != 0 {
		h.key(name)
		h.b = append(strconv.AppendInt(h.b, int64(n), 10), '\n')
	}
}

// appendQuoted appends a string in double quotes, on one line. What YAML does not allow in a
// document, and what some readers take for the end of a line, is escaped.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		if r == '"' || r == '\\' {
			b = append(b, '\\')
		}
		b = appendRune(b, r)
	}
	return append(b, '"')
}

// appendRune appends a character of a string, escaped if YAML or a reader of lines needs it.
func appendRune(b []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	if r < ' ' || r >= 0x7f && r <= 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff {
		return append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
	}
	return utf8.AppendRune(b, r)
}
