package format

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"headway/output"
	"headway/output/jsonl"
	"headway/output/markdown"
	"headway/output/parquet"
	"headway/output/sitemapxml"
	"headway/output/warc"
)

// Options say where and from what files are written.
type Options struct {
	Dir string // target folder
	Log *slog.Logger
	// Export is set if the files are written from the store only.
	Export bool
	// Resumed is set for a crawl that continues an earlier run.
	Resumed bool
	// Links says that links are also written to JSONL.
	Links bool
	// KeptLinks says that the store has the links of pages.
	KeptLinks bool
	// Crawl names the crawl in files that may be read far from others: its folder, or the
	// job of a fleet.
	Crawl string
	// Archive identifies the crawler in archives. Its folder is Dir.
	Archive warc.Config
}

// opened is an opened format: drafts that are written at the end, and optionally a writer
// that writes during the crawl.
type opened struct {
	drafts []output.Draft
	writer output.Writer
}

// opener opens a format. paths are those of its files.
type opener func(o *Options, paths []string) (opened, error)

// Open opens formats by name. Drafts share one writer, so that the store is read once for
// all of them. After an error nothing is open.
func Open(formats []string, o *Options) (list []output.Writer, err error) {
	var drafts []output.Draft
	at := 0 // index of their writer
	for i := range All {
		f := &All[i]
		if !slices.Contains(formats, f.Name) {
			continue
		}
		got, err := f.openIn(o)
		if err != nil {
			for _, w := range list {
				err = errors.Join(err, w.Close())
			}
			return nil, err
		}
		if len(drafts) == 0 {
			at = len(list)
		}
		drafts = append(drafts, got.drafts...)
		if got.writer != nil {
			list = append(list, got.writer)
		}
	}
	if len(drafts) > 0 {
		list = slices.Insert(list, at, output.Writer(output.NewAtEnd(o.Resumed, drafts...)))
	}
	return list, nil
}

func (f *Format) openIn(o *Options) (opened, error) {
	if f.CrawlOnly && o.Export {
		return opened{}, fmt.Errorf("%s cannot be created from a stored crawl", f.Name)
	}
	paths := make([]string, len(f.Files))
	for i, name := range f.Files {
		paths[i] = filepath.Join(o.Dir, name)
	}
	return f.open(o, paths)
}

// draft opens a format of one file that is written at the end.
func draft[D output.Draft](open func(path string) D) opener {
	return func(_ *Options, paths []string) (opened, error) {
		return opened{drafts: []output.Draft{open(paths[0])}}, nil
	}
}

// grow opens a writer, from scratch or continuing an earlier run.
func grow[W output.Writer, C any](o *Options, create, resume func(C) (W, error), with C) (opened, error) {
	open := create
	if o.Resumed {
		open = resume
	}
	w, err := open(with)
	if err != nil {
		return opened{}, err
	}
	return opened{writer: w}, nil
}

func openJSONL(o *Options, paths []string) (opened, error) {
	return grow(o, jsonl.Create, jsonl.Resume, jsonl.Config{Path: paths[0], Links: o.Links})
}

// openParquet collects links during the crawl, unless the crawl keeps them: otherwise a store
// only has the links by which URLs were found first.
func openParquet(o *Options, paths []string) (opened, error) {
	pages, links := parquet.NewPages(paths[0]), paths[1]
	if o.KeptLinks {
		return opened{drafts: []output.Draft{pages, parquet.NewLinks(links)}}, nil
	}
	if o.Export {
		return opened{drafts: []output.Draft{pages, parquet.NewFirstLinks(links)}}, nil
	}
	got, err := grow(o, parquet.CreateLinks, parquet.ResumeLinks, links)
	got.drafts = []output.Draft{pages}
	return got, err
}

func openWARC(o *Options, _ []string) (opened, error) {
	cfg := o.Archive
	cfg.Dir = o.Dir
	return grow(o, warc.Create, warc.Resume, cfg)
}

func openSitemaps(o *Options, paths []string) (opened, error) {
	return opened{drafts: []output.Draft{sitemaps{sitemapxml.New(paths[0]), o.Log}}}, nil
}

// sitemaps logs what it leaves out.
type sitemaps struct {
	*sitemapxml.Draft
	log *slog.Logger
}

func (s sitemaps) Publish() error {
	err := s.Draft.Publish()
	if n := s.LeftOut(); err == nil && n > 0 {
		s.log.Warn("too many hosts for sitemaps, some pages left out", "max_hosts", sitemapxml.MaxSites, "pages", n)
	}
	return err
}

func openMarkdown(o *Options, paths []string) (opened, error) {
	return opened{drafts: []output.Draft{pages{markdown.New(paths[0], o.Crawl), o.Log}}}, nil
}

// pages logs what it leaves out.
type pages struct {
	*markdown.Draft
	log *slog.Logger
}

func (p pages) Publish() error {
	err := p.Draft.Publish()
	switch n := p.LeftOut(); {
	case err != nil || n == 0:
	case p.Pages() == 0:
		p.log.Warn("no page has Markdown; crawl with --content markdown to record it", "pages", n)
	default:
		p.log.Warn("pages without a main text have no Markdown file", "pages", n)
	}
	return err
}
