package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"headway/internal/whole"
	"headway/output/report"
)

func reportCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Make one HTML file of a crawl: plots, and tables of what needs attention",
		Long: `Read what a crawl recorded, running or ended, and write one HTML file that needs
no network: throughput, waits, learned intervals, latency, and searchable tables of
dead, redirected, throttled, blocked, skipped, slow and duplicate pages.`,
		Example: `  headway report
  headway report --dir headway-example.com --out audit.html`,
		Args: cobra.NoArgs,
	}
	dir := dirFlag(cmd.Flags())
	cmd.Flags().StringVar(&out, "out", "", "file to write (default: report.html in the crawl's folder)")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		found, err := findCrawl(*dir, "")
		if err != nil {
			return err
		}
		path := out
		if path == "" {
			path = filepath.Join(found, "report.html")
		}
		size, err := makeReport(cmd.Context(), found, path, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s (%.1f MB)\n", path, float64(size)/(1<<20))
		return nil
	}
	return cmd
}

// makeReport writes the report of a crawl. The file appears whole or not at all.
func makeReport(ctx context.Context, dir, path string, progress io.Writer) (size int64, err error) {
	view, j, err := openLast(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	row := readRun(ctx, dir)
	title := filepath.Base(dir)
	if len(row.Seeds) > 0 {
		title = row.Seeds[0]
	}
	if len(row.Seeds) > 1 || row.MoreSeeds {
		title += " and others"
	}
	said := time.Now()
	r, err := report.Collect(ctx, view, j.ID, report.Options{Title: title, Version: version, Now: time.Now(), Progress: func(read, of int64) {
		if time.Since(said) > time.Second {
			said = time.Now()
			fmt.Fprintf(progress, "headway: read %d of %d URLs\n", read, of)
		}
	}})
	if err != nil {
		return 0, err
	}
	if err := whole.Write(path, r.Write); err != nil {
		return 0, usage(fmt.Errorf("write the report: %w", err), "--out names a file in a folder that can be written to")
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
