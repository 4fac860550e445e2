package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"headway/internal/result"
	"headway/job"
	"headway/output/format"
	"headway/store/sqlite"
)

func exportCommand() *cobra.Command {
	var formats []string
	var out string
	var quiet bool
	var to delivery
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write a crawl in other formats, also while it runs",
		Long: "Read what a crawl recorded and write it as " + exportTitles() + `. Every
URL that ended is in it once; of a crawl that still runs, those that have ended so
far. Files appear whole or not at all, in a bucket of S3 (--to), too.

Links between pages are gathered while a crawl runs (--format parquet of headway
crawl); afterwards there is the link by which each URL was found first.`,
		Example: `  headway export --format csv
  headway export --dir headway-example.com --format csv,sitemap,parquet --out results
  headway export --format parquet --to s3://bucket/crawls/example.com`,
		Args: cobra.NoArgs,
	}
	dir := dirFlag(cmd.Flags())
	cmd.Flags().StringSliceVar(&formats, "format", nil, "`formats` to write: "+strings.Join(format.Exportable(), ", "))
	cmd.Flags().StringVar(&out, "out", "", "`folder` to write to (default: export in the crawl's folder)")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "no progress")
	to.register(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkExport(formats); err != nil {
			return err
		}
		found, err := findCrawl(*dir, "")
		if err != nil {
			return err
		}
		e := &exporting{formats: formats, out: out, progress: progress{w: cmd.ErrOrStderr(), quiet: quiet, say: sayURLs}}
		if e.out == "" {
			e.out = filepath.Join(found, "export")
		} else if isCrawl(e.out) {
			return usage(fmt.Errorf("%s is the folder of a crawl, whose own files would be replaced", e.out), "--out takes another folder; by default it is export in the folder of the crawl")
		}
		to.quiet, to.err = quiet, cmd.ErrOrStderr()
		if to.to != "" {
			warnOfDoor(to.err, nil)
		}
		if err := to.open(cmd.Context()); err != nil {
			return err
		}
		defer to.close()
		if err := e.run(cmd.Context(), found); err != nil {
			return err
		}
		if err := e.print(cmd.OutOrStdout()); err != nil {
			return err
		}
		return to.deliver(cmd.Context(), cmd.OutOrStdout(), e.out, format.Files(e.formats...))
	}
	return cmd
}

// exportTitles are the formats to choose from, in a sentence.
func exportTitles() string {
	var titles []string
	for _, f := range format.All {
		if !f.CrawlOnly {
			titles = append(titles, f.Title)
		}
	}
	last := len(titles) - 1
	return strings.Join(titles[:last], ", ") + " or " + titles[last]
}

func checkExport(formats []string) error {
	if len(formats) == 0 {
		return usage(errors.New("no format is named"), "name some with --format "+strings.Join(format.Exportable(), ","))
	}
	for _, f := range formats {
		if slices.Contains(format.Exportable(), f) {
			continue
		}
		if slices.Contains(format.Names(), f) {
			return usage(fmt.Errorf("%s cannot be exported", f), "it needs what servers sent, which only headway crawl --format "+f+" sees")
		}
		return usage(fmt.Errorf("there is no format %q", f), "formats are "+strings.Join(format.Exportable(), ", "))
	}
	return nil
}

// exporting is one call of `headway export`.
type exporting struct {
	formats  []string
	out      string
	urls     int64
	running  bool
	state    string // how the crawl stands
	waiting  int64  // URLs that did not end
	progress progress
}

// run writes the files.
func (e *exporting) run(ctx context.Context, dir string) (err error) {
	view, j, err := openLast(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	e.running = !j.State.Ended()
	counts, err := view.Counts(ctx, j.ID)
	if err != nil {
		return failed(err, "look at "+dir+" with headway runs")
	}
	row := runRow{State: j.State, Reason: j.Reason}
	if row.Running, err = sqlite.Running(dir); err != nil {
		return failed(err, "look whether the folder can be read")
	}
	e.state, e.waiting = row.standing(), counts.Waiting
	l := &result.Ledger{Reader: view, Job: j.ID, Running: e.running, Seen: e.progress.step}
	if e.urls, err = l.Total(ctx); err != nil {
		return failed(err, "")
	}
	if err := os.MkdirAll(e.out, 0o755); err != nil {
		return usage(err, "--out names a folder that can be written to")
	}
	writers, err := format.Open(e.formats, &format.Options{Dir: e.out, Log: newWarner(e.progress.w), Export: true})
	if err != nil {
		return failed(err, "look whether "+e.out+" can be written")
	}
	e.progress.begin(e.urls * int64(len(writers)))
	defer e.progress.end()
	switch err := result.Finish(ctx, l, writers); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &Failure{Code: ExitInterrupted, Err: errors.New("interrupted"), Hint: "files that are not whole do not appear; the same command begins again"}
	default:
		return failed(err, "look whether "+e.out+" has room")
	}
}

// print says what was written.
func (e *exporting) print(w io.Writer) error {
	so := ""
	if e.running {
		so = " so far"
	}
	fmt.Fprintf(w, "%d URLs ended%s\n", e.urls, so)
	if e.state != string(job.Complete) {
		fmt.Fprintf(w, "the crawl is not complete (%s)%s\n", e.state, unended(e.waiting))
	}
	for _, name := range format.Files(e.formats...) {
		path := filepath.Join(e.out, name)
		size, err := sizeOf(path)
		if err != nil {
			return failed(err, "")
		}
		fmt.Fprintf(w, "%s  %s\n", path, bytesText(size))
	}
	return nil
}

// unended says how many URLs wait, and are in no file.
func unended(n int64) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ": 1 URL that waits is not in it"
	default:
		return fmt.Sprintf(": %d URLs that wait are not in it", n)
	}
}

// sizeOf is the size of a file, or of all files in a folder.
func sizeOf(path string) (size int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	return size, err
}
