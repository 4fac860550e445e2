package cli

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"

	"headway/output"
	"headway/output/csv"
	"headway/output/jsonl"
	"headway/output/parquet"
	"headway/output/sitemapxml"
)

// The formats, and the files of each in its folder.
const (
	formatJSONL   = "jsonl"
	formatCSV     = "csv"
	formatSitemap = "sitemap"
	formatParquet = "parquet"
)

var formatFiles = map[string][]string{
	formatJSONL:   {"pages.jsonl"},
	formatCSV:     {"pages.csv"},
	formatSitemap: {"sitemaps"},
	formatParquet: {"pages.parquet", "links.parquet"},
}

// openOutputs opens the files that the crawl writes.
func (c *crawlRun) openOutputs(begun bool) (list []output.Writer, err error) {
	defer func() {
		if err != nil {
			for _, w := range list {
				w.Close()
			}
			list, err = nil, failed(err, "look whether "+c.dir+" can be written")
		}
	}()
	if slices.Contains(c.set.Format, formatJSONL) {
		open := jsonl.Create
		if begun {
			open = jsonl.Resume
		}
		w, err := open(jsonl.Config{Path: c.output(formatJSONL, 0), Links: c.set.JSONL.Links})
		if err != nil {
			return list, err
		}
		list = append(list, w)
	}
	if drafts := openDrafts(c.set.Format, c.dir, c.log); len(drafts) > 0 {
		list = append(list, output.NewAtEnd(begun, drafts...))
	}
	if slices.Contains(c.set.Format, formatParquet) {
		open := parquet.CreateLinks
		if begun {
			open = parquet.ResumeLinks
		}
		w, err := open(c.output(formatParquet, 1))
		if err != nil {
			return list, err
		}
		list = append(list, w)
	}
	if slices.Contains(c.set.Format, formatWARC) {
		w, err := c.openWARC(begun)
		if err != nil {
			return list, err
		}
		list = append(list, w)
	}
	return list, nil
}

// output is the path of a file of the crawl.
func (c *crawlRun) output(format string, n int) string {
	return filepath.Join(c.dir, formatFiles[format][n])
}

// openDrafts returns what is made of the store in one go.
func openDrafts(formats []string, dir string, log *slog.Logger) []output.Draft {
	var list []output.Draft
	for _, format := range formats {
		files := formatFiles[format]
		switch format {
		case formatCSV:
			list = append(list, csv.New(filepath.Join(dir, files[0])))
		case formatSitemap:
			list = append(list, sitemaps{sitemapxml.New(filepath.Join(dir, files[0])), log})
		case formatParquet:
			list = append(list, parquet.NewPages(filepath.Join(dir, files[0])))
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
