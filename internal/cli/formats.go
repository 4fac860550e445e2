package cli

import (
	"path/filepath"
	"slices"

	"headway/internal/export"
	"headway/output"
	"headway/output/jsonl"
	"headway/output/parquet"
)

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
	if slices.Contains(c.set.Format, export.JSONL) {
		open := jsonl.Create
		if begun {
			open = jsonl.Resume
		}
		w, err := open(jsonl.Config{Path: c.output(export.JSONL, 0), Links: c.set.JSONL.Links})
		if err != nil {
			return list, err
		}
		list = append(list, w)
	}
	if drafts := export.Drafts(c.set.Format, c.dir, c.log); len(drafts) > 0 {
		list = append(list, output.NewAtEnd(begun, drafts...))
	}
	if slices.Contains(c.set.Format, export.Parquet) {
		open := parquet.CreateLinks
		if begun {
			open = parquet.ResumeLinks
		}
		w, err := open(c.output(export.Parquet, 1))
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
	return filepath.Join(c.dir, export.Files(format)[n])
}
