package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"headway/fetch/guard"
	"headway/internal/cli/command"
	"headway/internal/result"
	"headway/job"
	"headway/output/format"
	"headway/store/sqlite"
)

// Command builds `headway export`.
func Command() *cobra.Command {
	var formats []string
	var out string
	var archive archiveFlags
	var quiet, asJSON bool
	var to Delivery
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the results of a crawl in other formats",
		Long: "Write the results of a crawl as " + exportTitles() + `. Each
finished URL appears once; a running crawl exports those finished so far. Files
are written atomically, to a folder or to S3 (--to).

All links between pages are exported if the crawl kept them (--links);
otherwise the export has the first link to each URL.

With --from-archive it reads the WARC files of a crawl instead of its database,
and with --content it makes the main text of pages from them.`,
		Example: `  headway export --format csv
  headway export --dir headway-example.com --format csv,sitemap --out results
  headway export --format parquet --to s3://bucket/crawls/example.com
  headway export --from-archive archived --content text --format jsonl`,
		Args: func(_ *cobra.Command, more []string) error { return archive.checkArgs(more) },
	}
	dir := command.DirFlag(cmd.Flags())
	cmd.Flags().StringSliceVar(&formats, "format", nil, "output `formats`, separated by commas: "+strings.Join(format.Exportable(), ", "))
	cmd.Flags().StringVar(&out, "out", "", "output `folder` (default: export in the crawl's folder)")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "print no progress")
	archive.register(cmd.Flags())
	to.Register(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, more []string) error {
		if err := checkExport(formats); err != nil {
			return err
		}
		if err := archive.check(cmd.Flags().Changed("dir")); err != nil {
			return err
		}
		e := &exporting{formats: formats, out: out, progress: progress{w: cmd.ErrOrStderr(), quiet: quiet, say: sayURLs}}
		var found string
		var err error
		if archive.given() {
			e.archive, found, err = archive.find(more)
		} else {
			found, err = command.FindCrawl(*dir, "")
		}
		if err != nil {
			return err
		}
		if e.out == "" {
			e.out = filepath.Join(found, "export")
		} else if command.IsCrawl(e.out) {
			return command.Usage(fmt.Errorf("--out %s is the folder of a crawl; exporting would overwrite its files", e.out), "choose another folder; the default is export/ inside the crawl folder")
		}
		if to.Named() {
			command.WarnAddresses(cmd.ErrOrStderr(), nil)
		}
		if err := to.Open(cmd.Context(), guard.Config{}, quiet, cmd.ErrOrStderr()); err != nil {
			return err
		}
		defer to.Close()
		if err := e.run(cmd.Context(), found); err != nil {
			return err
		}
		if asJSON {
			if err := e.printJSON(cmd.OutOrStdout()); err != nil {
				return err
			}
			return to.Deliver(cmd.Context(), cmd.ErrOrStderr(), e.out, format.Files(e.formats...))
		}
		if err := e.print(cmd.OutOrStdout()); err != nil {
			return err
		}
		return to.Deliver(cmd.Context(), cmd.OutOrStdout(), e.out, format.Files(e.formats...))
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
		return command.Usage(errors.New("--format is required"), "choose one or more: --format "+strings.Join(format.Exportable(), ","))
	}
	for _, f := range formats {
		if slices.Contains(format.Exportable(), f) {
			continue
		}
		if slices.Contains(format.Names(), f) {
			return command.Usage(fmt.Errorf("cannot export format %s afterwards", f), "it contains raw server responses; write it during the crawl with headway crawl --format "+f)
		}
		return command.Usage(fmt.Errorf("invalid format %q", f), "choose from "+strings.Join(format.Exportable(), ", "))
	}
	return nil
}

// exporting is one call of `headway export`.
type exporting struct {
	formats  []string
	out      string
	urls     int64
	running  bool
	state    string         // how the crawl stands
	waiting  int64          // URLs that did not end
	links    bool           // the crawl kept links
	archive  *archiveExport // nil for the database of a crawl
	progress progress
}

// run writes the files.
func (e *exporting) run(ctx context.Context, dir string) error {
	if e.archive != nil {
		return e.runArchive(ctx, dir)
	}
	return e.runCrawl(ctx, dir)
}

// runCrawl writes the files from the database of a crawl.
func (e *exporting) runCrawl(ctx context.Context, dir string) (err error) {
	view, j, err := command.OpenView(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	e.running = !j.State.Ended()
	counts, err := view.Counts(ctx, j.ID)
	if err != nil {
		return command.Failed(err, "inspect "+dir+" with headway runs")
	}
	row := command.CrawlInfo{State: j.State, Reason: j.Reason}
	if row.Running, err = sqlite.Running(dir); err != nil {
		return command.Failed(err, "check that the folder is readable")
	}
	e.state, e.waiting = row.StateAndReason(), counts.Waiting
	if e.links, err = view.KeepsLinks(ctx, j.ID); err != nil {
		return command.Failed(err, "")
	}
	return e.write(ctx, &result.Ledger{Reader: view, Job: j.ID, Running: e.running, Seen: e.progress.step}, dir)
}

// write writes the files.
func (e *exporting) write(ctx context.Context, l *result.Ledger, dir string) (err error) {
	if e.urls, err = l.Total(ctx); err != nil {
		return command.Failed(err, "")
	}
	if err := os.MkdirAll(e.out, 0o755); err != nil {
		return command.Usage(err, "choose a writable folder with --out")
	}
	if err := checkFolders(e.out, e.formats); err != nil {
		return err
	}
	writers, err := format.Open(e.formats, &format.Options{Dir: e.out, Crawl: command.FolderName(dir), Log: command.NewWarner(e.progress.w), Export: true, KeptLinks: e.links})
	if err != nil {
		return command.Failed(err, "check that "+e.out+" is writable")
	}
	e.progress.begin(e.urls * int64(len(writers)))
	defer e.progress.end()
	switch err := result.Finish(ctx, l, writers); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return interrupted()
	default:
		return command.Failed(err, "check that "+e.out+" has free disk space")
	}
}

func interrupted() error {
	return &command.Failure{Code: command.ExitInterrupted, Err: errors.New("interrupted"), Hint: "incomplete files are removed; run the same command to start again"}
}

// print says what was written.
func (e *exporting) print(w io.Writer) error {
	so := ""
	if e.running {
		so = " so far"
	}
	fmt.Fprintf(w, "%d URLs exported%s\n", e.urls, so)
	if e.archive != nil {
		e.archive.print(w)
	} else if e.state != string(job.Complete) {
		fmt.Fprintf(w, "warning: the crawl is not complete (%s)%s\n", e.state, unended(e.waiting))
	}
	for _, name := range format.Files(e.formats...) {
		path := filepath.Join(e.out, name)
		size, err := command.SizeOf(path)
		if err != nil {
			return command.Failed(err, "")
		}
		fmt.Fprintf(w, "%s  %s\n", path, command.Bytes(size))
	}
	return nil
}

// writtenFile is a file that a command wrote, for programs.
type writtenFile struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// printJSON is print for programs.
func (e *exporting) printJSON(w io.Writer) error {
	files := []writtenFile{}
	for _, name := range format.Files(e.formats...) {
		path := filepath.Join(e.out, name)
		size, err := command.SizeOf(path)
		if err != nil {
			return command.Failed(err, "")
		}
		files = append(files, writtenFile{path, size})
	}
	if e.archive != nil {
		return command.PrintJSON(w, map[string]any{"urls": e.urls, "archive": e.archive.sum(), "files": files})
	}
	return command.PrintJSON(w, map[string]any{"urls": e.urls, "running": e.running, "state": e.state, "waiting": e.waiting, "files": files})
}

// unended says how many URLs wait, and are in no file.
func unended(n int64) string {
	switch n {
	case 0:
		return ""
	case 1:
		return ": 1 waiting URL is not included"
	default:
		return fmt.Sprintf(": %d waiting URLs are not included", n)
	}
}
