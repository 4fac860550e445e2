package sitemapxml

import (
	"errors"

	"headway/internal/atomicfile"
	"headway/output"
	"headway/visit"
)

// MaxSites limits the hosts with a sitemap. Pages of further hosts are left out, see
// [Draft.LeftOut].
const MaxSites = 1000

// maxOpen limits the open files.
const maxOpen = 16

// Draft is the folder of sitemaps. It is used by one goroutine.
type Draft struct {
	folder  *atomicfile.Folder
	sites   map[string]*site // by host
	open    []*site
	added   int64
	leftOut int64
}

var _ output.Draft = (*Draft)(nil)

// New returns the draft of a folder.
func New(dir string) *Draft { return &Draft{folder: atomicfile.NewFolder(dir)} }

// LeftOut is the number of pages in no sitemap because there are more than MaxSites hosts.
func (d *Draft) LeftOut() int64 { return d.leftOut }

// Begin starts with an empty folder.
func (d *Draft) Begin() error {
	if err := d.Drop(); err != nil {
		return err
	}
	d.sites, d.leftOut = map[string]*site{}, 0
	return d.folder.Begin()
}

// Add adds a page if it belongs in a sitemap.
func (d *Draft) Add(v *visit.Visit) error {
	if !Belongs(v) {
		return nil
	}
	host := v.Item.URL.Host()
	s := d.sites[host]
	if s == nil {
		if len(d.sites) == MaxSites {
			d.leftOut++
			return nil
		}
		var err error
		if s, err = newSite(d.folder.Part(), host); err != nil {
			return err
		}
		d.sites[host] = s
	}
	if s.file == nil {
		if err := d.makeRoom(); err != nil {
			return err
		}
		d.open = append(d.open, s)
	}
	d.added++
	s.used = d.added
	changed, known := lastMod(v)
	return s.add(v.Item.URL.String(), changed, known)
}

// makeRoom closes the least recently used file if too many are open.
func (d *Draft) makeRoom() error {
	if len(d.open) < maxOpen {
		return nil
	}
	oldest := 0
	for i, s := range d.open {
		if s.used < d.open[oldest].used {
			oldest = i
		}
	}
	err := d.open[oldest].close()
	d.open = append(d.open[:oldest], d.open[oldest+1:]...)
	return err
}

// Publish writes the indexes and renames the folder to its final name.
func (d *Draft) Publish() error {
	for _, s := range d.sites {
		if err := s.finish(); err != nil {
			return err
		}
	}
	return d.folder.Publish()
}

// Drop removes an unpublished folder.
func (d *Draft) Drop() error {
	var errs []error
	for _, s := range d.open {
		errs = append(errs, s.close())
	}
	d.sites, d.open = nil, nil
	return errors.Join(append(errs, d.folder.Drop())...)
}

// Withdraw removes the finished folder.
func (d *Draft) Withdraw() error { return d.folder.Withdraw() }
