package parse

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"time"

	"headway/internal/htmltoken"
)

// sitemapElements names the elements of one form of sitemap.
type sitemapElements struct {
	form  SitemapForm
	root  string
	item  string // the element around one entry
	depth int    // depth of items; the root is at 1
}

var sitemapForms = []sitemapElements{
	{FormURLSet, "urlset", "url", 2},
	{FormIndex, "sitemapindex", "sitemap", 2},
	{FormRSS, "rss", "item", 3}, // RSS 2.0: rss, channel, item
	{FormRSS, "RDF", "item", 2}, // RSS 1.0
	{FormAtom, "feed", "entry", 2},
}

// itemPart is a kind of element inside an item.
type itemPart uint8

const (
	partNone itemPart = iota
	partLoc
	partDate
	partPriority
)

// partOf returns the kind of an element inside an item.
func (e *sitemapElements) partOf(name []byte) itemPart {
	switch string(name) {
	case "loc":
		if e.form == FormURLSet || e.form == FormIndex {
			return partLoc
		}
	case "link":
		if e.form == FormRSS {
			return partLoc
		}
	case "lastmod", "pubDate", "updated", "published":
		return partDate
	case "priority":
		return partPriority
	}
	return partNone
}

// sitemapItem is the entry being read.
type sitemapItem struct {
	open     bool
	prefix   []byte // namespace prefix of the item's element; its parts must have the same
	part     itemPart
	loc      []byte
	date     time.Time
	priority float64
}

// nextItem reads to the end of an item in XML.
func (s *Sitemap) nextItem() (Entry, bool, error) {
	for {
		token, err := s.xml.next()
		if isEnd(err) { // without the end of the root
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return Entry{}, false, err
		}
		if token != xmlEnd {
			s.depth++
			if err := s.startElement(); err != nil {
				return Entry{}, false, err
			}
		}
		if token != xmlStart {
			ended := s.endElement()
			if s.depth--; s.depth <= 0 {
				return Entry{}, false, io.EOF
			}
			if ended && len(s.item.loc) > 0 {
				e, ok, err := s.entry(s.at.Resolve(view(s.item.loc)))
				e.LastMod, e.Priority = s.item.date, s.item.priority
				return e, ok, err
			}
		}
	}
}

// startElement handles the start of the element at s.depth.
func (s *Sitemap) startElement() error {
	x, item := &s.xml, &s.item
	switch {
	case s.depth == 1:
		i := slices.IndexFunc(sitemapForms, func(e sitemapElements) bool { return string(x.name) == e.root })
		if i < 0 {
			return ErrNotSitemap
		}
		s.form = &sitemapForms[i]
		s.report.Form = s.form.form
	case s.depth == s.form.depth && string(x.name) == s.form.item:
		*item = sitemapItem{
			open:     true,
			prefix:   append(item.prefix[:0], x.prefix...),
			loc:      item.loc[:0],
			priority: defaultPriority,
		}
	case item.open && s.depth == s.form.depth+1 && bytes.Equal(x.prefix, item.prefix):
		item.part = s.form.partOf(x.name)
		x.capture, x.text = item.part != partNone, x.text[:0]
		if s.form.form == FormAtom && string(x.name) == "link" && len(item.loc) == 0 {
			item.loc = append(item.loc, x.atomLink()...)
		}
	}
	return nil
}

// atomLink returns the target of the last tag, an Atom link element, or "" if it is not
// the page of an entry.
func (x *xmlScanner) atomLink() string {
	if rel, ok := x.attribute(htmltoken.AttrRel); ok && rel != "alternate" {
		return ""
	}
	href, _ := x.attribute(htmltoken.AttrHref)
	return href
}

// endElement handles the end of the element at s.depth and reports whether it was an
// item.
func (s *Sitemap) endElement() bool {
	x, item := &s.xml, &s.item
	if !item.open {
		return false
	}
	if s.depth == s.form.depth {
		item.open = false
		return true
	}
	if s.depth != s.form.depth+1 || item.part == partNone {
		return false
	}
	text := htmltoken.TrimSpace(x.text)
	switch item.part {
	case partLoc:
		item.loc = append(item.loc[:0], text...)
	case partDate:
		if t, ok := parseDate(text); ok {
			item.date = t
		}
	case partPriority:
		if f, err := strconv.ParseFloat(string(text), 64); err == nil && f >= 0 && f <= 1 {
			item.priority = f
		}
	}
	item.part, x.capture = partNone, false
	return false
}

// dateLayouts are the W3C profile of ISO 8601, for sitemaps and Atom, and RFC 822 with
// four-digit years, for RSS.
var dateLayouts = []string{
	time.DateOnly, time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01", "2006", time.DateTime,
	"Mon, _2 Jan 2006 15:04:05 -0700", "Mon, _2 Jan 2006 15:04:05 MST", "_2 Jan 2006 15:04:05 -0700", "Mon, _2 Jan 2006 15:04 -0700",
}

// maxDate is longer than any date.
const maxDate = 40

// parseDate reads a date in any of these forms. A date without a zone is UTC.
func parseDate(text []byte) (time.Time, bool) {
	if len(text) == 0 || len(text) > maxDate {
		return time.Time{}, false
	}
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, string(text)); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
