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

	"headway/internal/config"
	"headway/job"
	"headway/output"
	"headway/output/jsonl"
	"headway/output/parquet"
	"headway/store"
	"headway/visit"
)

func exportCommand() *cobra.Command {
	var formats []string
	var out string
	var quiet bool
	var to delivery
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write a crawl in other formats, also while it runs",
		Long: `Read what a crawl recorded and write it as JSONL, CSV, sitemaps or Parquet. Every
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
	cmd.Flags().StringSliceVar(&formats, "format", nil, "`formats` to write: "+strings.Join(exportable(), ", "))
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
		e := &export{formats: formats, out: out, progress: progress{w: cmd.ErrOrStderr(), quiet: quiet, say: sayURLs}}
		if e.out == "" {
			e.out = filepath.Join(found, "export")
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
		return to.deliver(cmd.Context(), cmd.OutOrStdout(), e.out, filesOf(e.formats))
	}
	return cmd
}

// exportable are the formats that need nothing but the store.
func exportable() []string {
	return slices.DeleteFunc(slices.Clone(config.Formats), func(f string) bool { return formatFiles[f] == nil })
}

func checkExport(formats []string) error {
	if len(formats) == 0 {
		return usage(errors.New("no format is named"), "name some with --format "+strings.Join(exportable(), ","))
	}
	for _, f := range formats {
		if slices.Contains(exportable(), f) {
			continue
		}
		if slices.Contains(config.Formats, f) {
			return usage(fmt.Errorf("%s cannot be exported", f), "it needs what servers sent, which only headway crawl --format "+f+" sees")
		}
		return usage(fmt.Errorf("there is no format %q", f), "formats are "+strings.Join(exportable(), ", "))
	}
	return nil
}

// export is one call of `headway export`.
type export struct {
	formats  []string
	out      string
	urls     int64
	running  bool
	progress progress
}

// run writes the files.
func (e *export) run(ctx context.Context, dir string) (err error) {
	view, j, err := openLast(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	e.running = !j.State.Ended()
	l := &exported{reader: view, job: j.ID, running: e.running, seen: e.progress.step}
	ended, err := l.Ended(ctx)
	if err != nil {
		return failed(err, "")
	}
	for _, n := range ended {
		e.urls += n
	}
	if err := os.MkdirAll(e.out, 0o755); err != nil {
		return usage(err, "--out names a folder that can be written to")
	}
	writers, err := e.open()
	if err != nil {
		return failed(err, "look whether "+e.out+" can be written")
	}
	e.progress.begin(e.urls * int64(len(writers)))
	defer e.progress.end()
	for _, w := range writers {
		if err == nil {
			err = w.Finish(ctx, l)
		}
		err = errors.Join(err, w.Close())
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &Failure{Code: ExitInterrupted, Err: errors.New("interrupted"), Hint: "files that are not whole do not appear; the same command begins again"}
	default:
		return failed(err, "look whether "+e.out+" has room")
	}
}

// finisher is a writer whose file is made at the end.
type finisher interface {
	output.Writer
	output.Finisher
}

// open opens what is to be written.
func (e *export) open() ([]finisher, error) {
	var list []finisher
	if slices.Contains(e.formats, formatJSONL) {
		w, err := jsonl.Create(jsonl.Config{Path: filepath.Join(e.out, formatFiles[formatJSONL][0])})
		if err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	drafts := openDrafts(e.formats, e.out, newWarner(e.progress.w))
	if slices.Contains(e.formats, formatParquet) {
		drafts = append(drafts, parquet.NewFirstLinks(filepath.Join(e.out, formatFiles[formatParquet][1])))
	}
	if len(drafts) > 0 {
		list = append(list, output.NewAtEnd(false, drafts...))
	}
	return list, nil
}

// print says what was written.
func (e *export) print(w io.Writer) error {
	so := ""
	if e.running {
		so = " so far"
	}
	fmt.Fprintf(w, "%d URLs ended%s\n", e.urls, so)
	for _, name := range filesOf(e.formats) {
		path := filepath.Join(e.out, name)
		size, err := sizeOf(path)
		if err != nil {
			return failed(err, "")
		}
		fmt.Fprintf(w, "%s  %.1f MB\n", path, float64(size)/(1<<20))
	}
	return nil
}

// filesOf are the files of formats in their folder.
func filesOf(formats []string) (names []string) {
	for _, format := range formats {
		names = append(names, formatFiles[format]...)
	}
	return names
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

// exported is a crawl as outputs see it: [output.Ledger]. Of one that still runs
// it holds as many URLs as had ended when they were counted.
type exported struct {
	reader  store.Reader
	job     job.ID
	running bool
	seen    func() // is told of each URL
	ended   map[output.Ending]int64
}

// Ended counts once, so that it says the same each time.
func (l *exported) Ended(ctx context.Context) (map[output.Ending]int64, error) {
	if l.ended != nil {
		return l.ended, nil
	}
	counts, err := l.reader.Counts(ctx, l.job)
	if err != nil {
		return nil, err
	}
	l.ended = map[output.Ending]int64{}
	for e, n := range counts.Ended {
		// What is not settled may wait again before it is read.
		if e.Reason != visit.OutOfScope && (!l.running || output.Ending(e).Settled()) {
			l.ended[output.Ending(e)] = n
		}
	}
	return l.ended, nil
}

// exportPage is how many URLs are in memory at a time.
const exportPage = 2000

// Each implements [output.Ledger]. What was settled stays in the list, so that as
// many as were counted are always found, among others that ended since.
func (l *exported) Each(ctx context.Context, e output.Ending, yield func(*visit.Visit) error) error {
	left := l.ended[e]
	q := store.Query{Job: l.job, Outcome: e.Outcome, Reason: e.Reason, Max: exportPage}
	for left > 0 {
		page, err := l.reader.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Entries[:min(int64(len(page.Entries)), left)] {
			x := &page.Entries[i]
			v := x.Visit
			if v == nil {
				v = &visit.Visit{Item: x.Item, Outcome: x.Outcome, Reason: x.Reason}
			}
			if err := yield(v); err != nil {
				return err
			}
			left--
			l.seen()
		}
		if page.Next == "" {
			return nil
		}
		q.After = page.Next
	}
	return nil
}
