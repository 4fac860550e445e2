package sitemapxml

import (
	"errors"
	"os"
	"path/filepath"

	"headway/internal/atomicfile"
	"headway/output"
	"headway/visit"
)

// MaxSites limits the hosts with a sitemap. Pages of further hosts are left out, see
// [Draft.LeftOut].
const MaxSites = 1000

// maxOpen limits the open files.
const maxOpen = 16

// oldSuffix is the suffix of the previous folder while the new one replaces it.
const oldSuffix = ".old"

// Draft is the folder of sitemaps. It is used by one goroutine.
type Draft struct {
	dir     string
	begun   bool
	sites   map[string]*site // by host
	open    []*site
	added   int64
	leftOut int64
}

var _ output.Draft = (*Draft)(nil)

// New returns the draft of a folder.
func New(dir string) *Draft { return &Draft{dir: dir} }

// LeftOut is the number of pages in no sitemap because there are more than MaxSites hosts.
func (d *Draft) LeftOut() int64 { return d.leftOut }

func (d *Draft) part() string { return d.dir + atomicfile.PartSuffix }

// Begin starts with an empty folder.
func (d *Draft) Begin() error {
	if err := d.Drop(); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(d.part()), os.RemoveAll(d.dir+oldSuffix)); err != nil {
		return err
	}
	d.sites, d.leftOut, d.begun = map[string]*site{}, 0, true
	return os.Mkdir(d.part(), 0o755)
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
		if s, err = newSite(d.part(), host); err != nil {
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
	if err := atomicfile.SyncDir(d.part()); err != nil {
		return err
	}
	there, err := atomicfile.Exists(d.dir)
	if err != nil {
		return err
	}
	if there { // a non-empty folder cannot be replaced atomically
		if err := os.Rename(d.dir, d.dir+oldSuffix); err != nil {
			return err
		}
	}
	if err := os.Rename(d.part(), d.dir); err != nil {
		return err
	}
	d.begun = false
	if err := atomicfile.SyncDir(filepath.Dir(d.dir)); err != nil {
		return err
	}
	return os.RemoveAll(d.dir + oldSuffix)
}

// Drop removes an unpublished folder.
func (d *Draft) Drop() error {
	var errs []error
	for _, s := range d.open {
		errs = append(errs, s.close())
	}
	d.sites, d.open = nil, nil
	if d.begun {
		errs = append(errs, os.RemoveAll(d.part()))
		d.begun = false
	}
	return errors.Join(errs...)
}

// Withdraw removes the finished folder.
func (d *Draft) Withdraw() error { return os.RemoveAll(d.dir) }
