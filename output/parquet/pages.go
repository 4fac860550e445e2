package parquet

import (
	"errors"
	"strconv"

	"headway/internal/atomicfile"
	"headway/output"
	"headway/visit"
)

// Draft is a file written from the ledger. It is used by one goroutine.
type Draft[T any] struct {
	path  string
	table *table[T]
	meta  [2]string
	add   func(*table[T], *visit.Visit) error
	links *keptPages // nil if it needs no links
}

var (
	_ output.Draft = (*Draft[Page])(nil)
	_ output.Draft = (*Draft[Link])(nil)

	_ output.LinkReader = (*Draft[Link])(nil)
)

// NewPages returns the draft of a file of [Page] at path.
func NewPages(path string) *Draft[Page] {
	return &Draft[Page]{path: path, add: func(t *table[Page], v *visit.Visit) error {
		p := pageOf(v)
		return t.add(p, p.size())
	}}
}

// NewFirstLinks returns the draft of a file of [Link] at path that contains, for each URL
// that ended, the link by which it was found first. The kind of a link is how the URL was
// found: link, sitemap or redirect.
func NewFirstLinks(path string) *Draft[Link] {
	return &Draft[Link]{path: path, meta: [2]string{LinksKey, FirstLinks}, add: func(t *table[Link], v *visit.Visit) error {
		if v.Item.Via.IsZero() {
			return nil
		}
		l := Link{From: v.Item.Via.String(), To: v.Item.URL.String(), Kind: string(v.Item.Found)}
		return t.add(l, l.size())
	}}
}

// keptPages counts fetched pages by whether their links were kept.
type keptPages struct{ with, without int64 }

// NewLinks returns the draft of a file of [Link] at path that contains each link of each page,
// for a crawl that keeps them.
func NewLinks(path string) *Draft[Link] {
	d := &Draft[Link]{path: path, meta: [2]string{LinksKey, AllLinks}, links: new(keptPages)}
	d.add = func(t *table[Link], v *visit.Visit) error {
		if v.Outcome != visit.Fetched && v.Outcome != visit.NotModified {
			return nil
		}
		if v.Page.Links == nil {
			d.links.without++
			return nil
		}
		d.links.with++
		from := v.Item.URL.String()
		for i, l := range v.Kept() {
			row := Link{From: from, To: l.URL.String(), Kind: text(l.Kind), Nofollow: l.Nofollow, Anchor: text(l.Anchor), Rel: text(l.Rel), Position: int32(i + 1)}
			if err := t.add(row, row.size()); err != nil {
				return err
			}
		}
		return nil
	}
	return d
}

// ReadsLinks implements [output.LinkReader].
func (d *Draft[T]) ReadsLinks() bool { return d.links != nil }

// Begin starts the file.
func (d *Draft[T]) Begin() error {
	if err := d.Drop(); err != nil {
		return err
	}
	if d.links != nil {
		*d.links = keptPages{}
	}
	var err error
	if d.table, err = newTable[T](d.path); err == nil && d.meta[0] != "" {
		d.table.w.SetKeyValueMetadata(d.meta[0], d.meta[1])
	}
	return err
}

// Add writes the row of a URL.
func (d *Draft[T]) Add(v *visit.Visit) error { return d.add(d.table, v) }

// Publish renames the file to its final name.
func (d *Draft[T]) Publish() error {
	if d.links == nil {
		return d.table.publish()
	}
	d.table.w.SetKeyValueMetadata(PagesKey, strconv.FormatInt(d.links.with, 10))
	d.table.w.SetKeyValueMetadata(MissingKey, strconv.FormatInt(d.links.without, 10))
	// What an earlier run of the crawl collected, before it kept links, is not needed.
	return errors.Join(d.table.publish(), atomicfile.Remove(d.path+spoolSuffix), atomicfile.Remove(d.path+beforeSuffix))
}

// Drop removes an unpublished file.
func (d *Draft[T]) Drop() error {
	err := d.table.drop()
	d.table = nil
	return err
}

// Withdraw removes the finished file.
func (d *Draft[T]) Withdraw() error { return atomicfile.Remove(d.path) }
