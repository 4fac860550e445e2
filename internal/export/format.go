// Package export writes what a crawl recorded as files, from nothing but its store:
// after it, while it runs, on the command line and in a service.
//
// It joins the store to the formats of package output: [Open] opens those that were
// asked for, [Finish] makes their files from a [result.Ledger].
// Every URL that ended is in each file once; of a crawl that still runs, those that
// had ended when they were counted. Files appear whole or not at all, and memory
// does not grow with the crawl. What only a running crawl sees, such as archives, is
// refused.
package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"headway/internal/result"
	"headway/output"
	"headway/output/csv"
	"headway/output/jsonl"
	"headway/output/parquet"
	"headway/output/sitemapxml"
)

// The formats that need nothing but the store.
const (
	JSONL   = "jsonl"
	CSV     = "csv"
	Sitemap = "sitemap"
	Parquet = "parquet"
)

// Formats lists them.
var Formats = []string{JSONL, CSV, Sitemap, Parquet}

// files are those of each format in its folder.
var files = map[string][]string{
	JSONL:   {"pages.jsonl"},
	CSV:     {"pages.csv"},
	Sitemap: {"sitemaps"},
	Parquet: {"pages.parquet", "links.parquet"},
}

// Files are the files and folders of formats in their folder. Other formats have
// none.
func Files(formats ...string) (names []string) {
	for _, format := range formats {
		names = append(names, files[format]...)
	}
	return names
}

// Writer is a writer whose file is made at the end.
type Writer interface {
	output.Writer
	output.Finisher
}

// Open opens what is to be written to a folder. Log is told what a format leaves
// out.
func Open(formats []string, dir string, log *slog.Logger) ([]Writer, error) {
	var list []Writer
	if slices.Contains(formats, JSONL) {
		w, err := jsonl.Create(jsonl.Config{Path: filepath.Join(dir, files[JSONL][0])})
		if err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	drafts := Drafts(formats, dir, log)
	if slices.Contains(formats, Parquet) {
		drafts = append(drafts, parquet.NewFirstLinks(filepath.Join(dir, files[Parquet][1])))
	}
	if len(drafts) > 0 {
		list = append(list, output.NewAtEnd(false, drafts...))
	}
	return list, nil
}

// Drafts returns what is made of the store in one go, of a crawl that runs, too.
func Drafts(formats []string, dir string, log *slog.Logger) []output.Draft {
	var list []output.Draft
	for _, format := range formats {
		switch format {
		case CSV:
			list = append(list, csv.New(filepath.Join(dir, files[CSV][0])))
		case Sitemap:
			list = append(list, sitemaps{sitemapxml.New(filepath.Join(dir, files[Sitemap][0])), log})
		case Parquet:
			list = append(list, parquet.NewPages(filepath.Join(dir, files[Parquet][0])))
		}
	}
	return list
}

// sitemaps says what it leaves out.
type sitemaps struct {
	*sitemapxml.Draft
	log *slog.Logger
}

func (s sitemaps) Publish() error {
	err := s.Draft.Publish()
	if n := s.LeftOut(); err == nil && n > 0 {
		s.log.Warn(fmt.Sprintf("pages of hosts beyond the first %d are in no sitemap", sitemapxml.MaxSites), "pages", n)
	}
	return err
}

// Finish makes the files of writers and closes them all. After an error those that
// are not whole do not appear.
func Finish(ctx context.Context, l *result.Ledger, writers []Writer) (err error) {
	for _, w := range writers {
		if err == nil {
			err = w.Finish(ctx, l)
		}
		err = errors.Join(err, w.Close())
	}
	return err
}
