package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/store"
	"headway/store/sqlite"
)

func compareCommand() *cobra.Command {
	var asJSON bool
	var most int
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Tell what is new, gone, changed, newly dead or slower between two crawls",
		Long: `Compare what two crawls recorded, the earlier folder first: pages that are new,
gone, newly dead, lost for another reason, back again, with another text, or much
slower. A page counts as gone only when the later crawl is complete and its settings
do not leave it out, and as new only when the earlier one would have met it. Settings
that differ are named.`,
		Example: `  headway compare monday tuesday
  headway compare monday tuesday --json --max 100000`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if most < 0 {
				return usage(fmt.Errorf("--max %d", most), "--max is how many URLs of each kind are named; 0 names none")
			}
			c, err := compareDirs(cmd.Context(), args[0], args[1], most, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), c)
			}
			printComparison(cmd.OutOrStdout(), c)
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().IntVar(&most, "max", 20, "URLs of each kind to name")
	return cmd
}

// compareDirs compares the crawls of two folders.
func compareDirs(ctx context.Context, before, after string, most int, progress io.Writer) (c *answer.Comparison, err error) {
	var sides [2]answer.Side
	defer func() {
		for _, side := range sides {
			if side.Reader != nil {
				err = errors.Join(err, side.Reader.Close())
			}
		}
	}()
	for i, dir := range []string{before, after} {
		if sides[i], err = openSide(ctx, dir); err != nil {
			return nil, err
		}
	}
	return answer.Compare(ctx, sides[0], sides[1], most, sayRead(progress))
}

// sayRead says now and then how much of a crawl was read.
func sayRead(w io.Writer) func(read, of int64) {
	said := time.Now()
	return func(read, of int64) {
		if time.Since(said) > time.Second {
			said = time.Now()
			fmt.Fprintf(w, "headway: read %d of %d URLs\n", read, of)
		}
	}
}

// openSide opens the crawl of a folder.
func openSide(ctx context.Context, dir string) (answer.Side, error) {
	found, err := findCrawl(dir, "")
	if err != nil {
		return answer.Side{}, err
	}
	view, j, err := openLast(ctx, found)
	if err != nil {
		return answer.Side{}, err
	}
	side := answer.Side{Reader: view, Job: j.ID}
	if err := completeSide(&side, found, j); err != nil {
		return answer.Side{}, failed(errors.Join(err, view.Close()), "look at "+found+" with headway runs")
	}
	return side, nil
}

// completeSide says of the crawl in a folder what it was last asked for, and whether
// it was killed.
func completeSide(side *answer.Side, dir string, j store.Job) error {
	running, err := sqlite.Running(dir)
	if err != nil {
		return err
	}
	asked, err := lastAsked(dir, j)
	side.Asked, side.Interrupted = &asked, !running && !j.State.Ended()
	return err
}

func printComparison(w io.Writer, c *answer.Comparison) {
	fmt.Fprintf(w, "before: %s, %d pages\nafter:  %s, %d pages\n", c.Before.State, c.Before.Pages, c.After.State, c.After.Pages)
	for _, s := range c.Settings {
		fmt.Fprintf(w, "settings differ: %s\n", oneLine(s))
	}
	parts := []string{fmt.Sprintf("%d the same", c.Same)}
	if c.Unread > 0 {
		parts = append(parts, fmt.Sprintf("%d the earlier crawl knew only to be unchanged (compare with the one before it)", c.Unread))
	}
	for _, ch := range c.Changes {
		if ch.Total > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", ch.Total, c.Words(ch.Kind)))
		}
	}
	fmt.Fprintln(w, strings.Join(parts, ", "))
	for _, ch := range c.Changes {
		if ch.Total == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s: %d\n", c.Words(ch.Kind), ch.Total)
		for _, u := range ch.URLs {
			fmt.Fprintf(w, "  %s%s\n", oneLine(u.URL), changeDetail(ch.Kind, &u))
		}
		if more := ch.Total - int64(len(ch.URLs)); more > 0 {
			fmt.Fprintf(w, "  and %d more; --max names them\n", more)
		}
	}
}

func changeDetail(k answer.ChangeKind, u *answer.ChangedURL) string {
	switch k {
	case answer.PageDead:
		return fmt.Sprintf("  %d, linked from %s", u.Status, oneLine(u.FoundOn))
	case answer.PageLost:
		words := string(u.After)
		if u.Reason != "" {
			words += ": " + string(u.Reason)
		}
		return "  " + words
	case answer.PageExcluded, answer.PageIncluded:
		return ""
	case answer.PageRecovered:
		return "  was " + string(u.Before)
	case answer.PageSlower:
		return fmt.Sprintf("  %v, was %v", u.AfterMS.Duration().Round(time.Millisecond), u.BeforeMS.Duration().Round(time.Millisecond))
	}
	return ""
}
