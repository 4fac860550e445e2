package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/atomicfile"
	"headway/internal/cli/command"
	"headway/output/report"
)

// ReportCommand builds `headway report`.
func ReportCommand() *cobra.Command {
	var out, since string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Write an HTML report of a crawl, with plots and tables",
		Long: `Write a report of a crawl, running or finished, as one HTML file that works
offline: throughput, waits, learned intervals, latency, and searchable tables
of dead, redirected, throttled, blocked, skipped, slow and duplicate pages.

With --since it also shows what is new, gone, changed, newly dead or slower
than in an earlier crawl, as headway compare does.`,
		Example: `  headway report
  headway report --dir headway-example.com --out audit.html
  headway report --dir tuesday --since monday`,
		Args: cobra.NoArgs,
	}
	dir := command.DirFlag(cmd.Flags())
	cmd.Flags().StringVar(&out, "out", "", "output `file` (default: report.html in the crawl's folder)")
	cmd.Flags().StringVar(&since, "since", "", "`folder` of an earlier crawl to compare with")
	command.JSONFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		found, err := command.FindCrawl(*dir, "")
		if err != nil {
			return err
		}
		path := out
		if path == "" {
			path = filepath.Join(found, "report.html")
		}
		size, err := makeReport(cmd.Context(), found, since, path, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		if asJSON {
			return command.PrintJSON(cmd.OutOrStdout(), writtenFile{path, size})
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s (%s)\n", path, command.Bytes(size))
		return nil
	}
	return cmd
}

// makeReport writes the report of a crawl, compared with an earlier one if that
// has a name. The file appears whole or not at all.
func makeReport(ctx context.Context, dir, since, path string, progress io.Writer) (size int64, err error) {
	view, j, err := command.OpenView(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	opt := report.Options{Title: reportTitle(ctx, dir), Version: command.Version(), Now: time.Now(), Progress: command.ReadProgress(progress)}
	side := answer.Side{Reader: view, Job: j.ID}
	if err := command.CompleteSide(&side, dir, j); err != nil {
		return 0, command.Failed(err, "inspect "+dir+" with headway runs")
	}
	opt.Interrupted = side.Interrupted
	if since != "" {
		if opt.Since, err = compareSince(ctx, since, side, dir, progress); err != nil {
			return 0, err
		}
	}
	r, err := report.Collect(ctx, view, j.ID, opt)
	if err != nil {
		return 0, command.Failed(err, "inspect "+dir+" with headway runs")
	}
	if err := atomicfile.Write(path, r.Write); err != nil {
		return 0, command.Usage(fmt.Errorf("write the report: %w", err), "choose a file in a writable folder with --out")
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// compareSince compares a crawl with an earlier one, as far as a report shows it.
func compareSince(ctx context.Context, since string, after answer.Side, dir string, progress io.Writer) (c *answer.Comparison, err error) {
	same, err := command.SameFolder(since, dir)
	if err != nil {
		return nil, err
	}
	if same {
		return nil, command.Usage(fmt.Errorf("--since %s is the folder of this crawl", since), "give the folder of an earlier crawl")
	}
	before, err := command.OpenSide(ctx, since)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, before.Reader.Close()) }()
	return answer.Compare(ctx, before, after, report.MostChanges, command.ReadProgress(progress))
}

// reportTitle names a crawl by its seeds.
func reportTitle(ctx context.Context, dir string) string {
	row := command.ReadCrawlInfo(ctx, dir)
	switch n := len(row.Seeds); {
	case n == 0:
		return filepath.Base(dir)
	case row.MoreSeeds:
		return row.Seeds[0] + " and others"
	case n > 1:
		return row.Seeds[0] + " and " + command.Plural(n-1, "other")
	default:
		return row.Seeds[0]
	}
}
