package markdown

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"headway/internal/atomicfile"
	"headway/output"
	"headway/visit"
)

// Draft is the folder of pages. It is used by one goroutine.
type Draft struct {
	folder  *atomicfile.Folder
	sync    func(dir string) error
	crawl   string
	made    string // the last folder below, which exists
	text    []byte
	pages   int64
	leftOut int64
}

var _ output.Draft = (*Draft)(nil)

// New returns the draft of a folder. crawl names the crawl in each file.
func New(dir, crawl string) *Draft {
	return &Draft{folder: atomicfile.NewFolder(dir), sync: atomicfile.SyncTree, crawl: crawl}
}

// Pages is the number of files.
func (d *Draft) Pages() int64 { return d.pages }

// LeftOut is the number of fetched URLs without a file, because they have no main text or it
// was not recorded.
func (d *Draft) LeftOut() int64 { return d.leftOut }

// Belongs reports whether a URL has a file: it was fetched, or is unchanged since an earlier
// crawl, and its main text was recorded as Markdown.
func Belongs(v *visit.Visit) bool {
	return fetched(v) && v.Page.Content != nil && v.Page.Content.Markdown != ""
}

func fetched(v *visit.Visit) bool {
	return v.Outcome == visit.Fetched || v.Outcome == visit.NotModified
}

// Begin starts with an empty folder.
func (d *Draft) Begin() error {
	d.made, d.pages, d.leftOut = "", 0, 0
	return d.folder.Begin()
}

// Add writes the file of a page.
func (d *Draft) Add(v *visit.Visit) error {
	if !Belongs(v) {
		if fetched(v) {
			d.leftOut++
		}
		return nil
	}
	d.text = append(appendHeader(d.text[:0], v, d.crawl), '\n')
	d.text = append(d.text, strings.TrimRight(v.Page.Content.Markdown, "\n")...)
	d.text = append(d.text, '\n')
	path := filepath.Join(d.folder.Part(), filepath.FromSlash(Path(v.Item.URL)))
	if dir := filepath.Dir(path); dir != d.made {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		d.made = dir
	}
	err := create(path, d.text)
	if errors.Is(err, fs.ErrExist) { // two hashes are the same
		err = create(filepath.Join(filepath.Dir(path), fullHash(v.Item.URL)+extension), d.text)
	}
	if err == nil {
		d.pages++
	}
	return err
}

// create writes a file that must not exist.
func create(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Publish makes the files durable and renames the folder to its final name.
func (d *Draft) Publish() error {
	if err := d.sync(d.folder.Part()); err != nil {
		return err
	}
	return d.folder.Publish()
}

// Drop removes an unpublished folder.
func (d *Draft) Drop() error { return d.folder.Drop() }

// Withdraw removes the finished folder.
func (d *Draft) Withdraw() error { return d.folder.Withdraw() }
