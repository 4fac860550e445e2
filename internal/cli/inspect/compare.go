package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/cli/command"
)

// CompareCommand builds `headway compare`.
func CompareCommand() *cobra.Command {
	var asJSON, wide bool
	var most int
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Compare two crawls: pages new, gone, changed, dead or slower",
		Long: `Compare two crawls, the earlier folder first: pages that are new, gone, newly
dead, lost for another reason, back, changed, or much slower. A page counts as
gone only if the later crawl is complete and its settings include the page, and
as new only if the earlier crawl would have found it. Different settings are
listed.`,
		Example: `  headway compare monday tuesday
  headway compare monday tuesday --json --max 100000`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if most < 0 {
				return command.Usage(fmt.Errorf("invalid value %d for --max", most), "give the number of URLs to list per change type; 0 lists none")
			}
			c, err := compareDirs(cmd.Context(), args[0], args[1], most, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if asJSON {
				return command.PrintJSON(cmd.OutOrStdout(), c)
			}
			return printComparison(cmd.OutOrStdout(), c, wide)
		},
	}
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	cmd.Flags().IntVar(&most, "max", 20, "maximum URLs to list of each kind")
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
		if sides[i], err = command.OpenSide(ctx, dir); err != nil {
			return nil, err
		}
	}
	return answer.Compare(ctx, sides[0], sides[1], most, command.ReadProgress(progress))
}

func printComparison(w io.Writer, c *answer.Comparison, wide bool) error {
	fmt.Fprintf(w, "before: %s, %d pages\nafter:  %s, %d pages\n", c.Before.State, c.Before.Pages, c.After.State, c.After.Pages)
	for _, s := range c.Settings {
		command.PrintText(w, "settings differ: ", command.OneLine(s), wide)
	}
	parts := []string{fmt.Sprintf("%d unchanged", c.Same)}
	if c.Unread > 0 {
		parts = append(parts, fmt.Sprintf("%d not modified in the earlier crawl, so their text was not stored (compare with the crawl before it)", c.Unread))
	}
	for _, ch := range c.Changes {
		if ch.Total > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", ch.Total, c.Words(ch.Kind)))
		}
	}
	command.PrintText(w, "", strings.Join(parts, ", "), wide)
	for _, ch := range c.Changes {
		if ch.Total == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s: %d\n", c.Words(ch.Kind), ch.Total)
		tab := command.NewTable("~", "~")
		for _, u := range ch.URLs {
			url, detail := "  "+command.OneLine(u.URL), changeDetail(ch.Kind, &u)
			if detail == "" { // a URL alone is never cut
				fmt.Fprintln(w, url)
			} else {
				tab.Add(url, detail)
			}
		}
		if err := tab.Print(w, wide); err != nil {
			return err
		}
		if more := ch.Total - int64(len(ch.URLs)); more > 0 {
			fmt.Fprintf(w, "  and %d more; raise --max to list them\n", more)
		}
	}
	return nil
}

// changeDetail says more about a change, empty if there is no more to say.
func changeDetail(k answer.ChangeKind, u *answer.ChangedURL) string {
	switch k {
	case answer.PageDead:
		return fmt.Sprintf("%d, linked from %s", u.Status, command.OneLine(u.FoundOn))
	case answer.PageLost:
		words := string(u.After)
		if u.Reason != "" {
			words += ": " + string(u.Reason)
		}
		return words
	case answer.PageExcluded, answer.PageIncluded:
		return ""
	case answer.PageRecovered:
		return "was " + string(u.Before)
	case answer.PageSlower:
		return fmt.Sprintf("%v, was %v", u.AfterTook.Duration().Round(time.Millisecond), u.BeforeTook.Duration().Round(time.Millisecond))
	}
	return ""
}
