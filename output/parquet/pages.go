package parquet

import (
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
}

var (
	_ output.Draft = (*Draft[Page])(nil)
	_ output.Draft = (*Draft[Link])(nil)
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

// Begin starts the file.
func (d *Draft[T]) Begin() error {
	if err := d.Drop(); err != nil {
		return err
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
func (d *Draft[T]) Publish() error { return d.table.publish() }

// Drop removes an unpublished file.
func (d *Draft[T]) Drop() error {
	err := d.table.drop()
	d.table = nil
	return err
}

// Withdraw removes the finished file.
func (d *Draft[T]) Withdraw() error { return atomicfile.Remove(d.path) }
