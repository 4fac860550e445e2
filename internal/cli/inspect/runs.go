package inspect

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
)

// Bounds of the search for crawls.
const (
	runsDepth   = 4       // folders below the one that is searched
	runsFolders = 100_000 // folders looked at
)

// RunsCommand builds `headway runs`.
func RunsCommand() *cobra.Command {
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "runs [DIR…]",
		Short: "List crawls and their state",
		Long: `List the crawls below the current folder, or the given ones: seed, state and
reason, pages, start time and size. A crawl that was killed is shown as
interrupted; run the same crawl command to resume it.`,
		Example: `  headway runs
  headway runs /srv/crawls --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"."}
			}
			answer := runsAnswer{Runs: []command.CrawlInfo{}}
			for _, root := range args {
				if err := answer.search(cmd.Context(), root); err != nil {
					return err
				}
			}
			if asJSON {
				return command.PrintJSON(cmd.OutOrStdout(), answer)
			}
			return answer.print(cmd.OutOrStdout(), args, wide)
		},
	}
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	return cmd
}

// runsAnswer is what `headway runs` says.
type runsAnswer struct {
	Runs []command.CrawlInfo `json:"runs"`
	// Truncated says that there were more folders than are looked at.
	Truncated bool `json:"truncated,omitempty"`
}

// search adds the crawls below a folder, in the order of their names. Links are
// not followed and hidden folders not entered.
func (a *runsAnswer) search(ctx context.Context, root string) error {
	folders := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return command.Usage(fmt.Errorf("search for crawls: %w", err), "give a readable folder")
		case err != nil:
			return nil //nolint:nilerr // what cannot be read is not ours
		case !d.IsDir() && path == root:
			return command.Usage(fmt.Errorf("%s is not a folder", root), "give the folder of a crawl, or a folder that contains crawls")
		case !d.IsDir():
			return nil
		case path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		}
		if folders++; folders > runsFolders {
			a.Truncated = true
			return fs.SkipAll
		}
		if command.IsCrawl(path) {
			a.Runs = append(a.Runs, command.ReadCrawlInfo(ctx, path))
			return fs.SkipDir
		}
		if below, err := filepath.Rel(root, path); err == nil && below != "." && strings.Count(below, string(filepath.Separator)) >= runsDepth-1 {
			return fs.SkipDir
		}
		return ctx.Err()
	})
	return err
}

func (a *runsAnswer) print(w io.Writer, roots []string, wide bool) error {
	if len(a.Runs) == 0 {
		_, err := fmt.Fprintf(w, "no crawls found in %s\n", command.OneLine(strings.Join(roots, " ")))
		return err
	}
	tab := command.NewTable("~FOLDER", "~STATE", "PAGES", "STARTED", "+ENDED", "+SIZE", "~SEEDS")
	var unreadable []string
	for i := range a.Runs {
		r := &a.Runs[i]
		state := r.StateWord()
		if r.Reason != "" && r.State.Ended() {
			state += ": " + command.OneLine(r.Reason)
		}
		seeds := strings.Join(r.Seeds[:min(len(r.Seeds), 2)], " ")
		if len(r.Seeds) > 2 {
			seeds += " …"
		}
		if r.Error != "" {
			seeds = r.Error
			unreadable = append(unreadable, command.OneLine(r.Dir)+": "+command.OneLine(r.Error))
		}
		tab.Add(command.OneLine(r.Dir), state, r.Pages, command.ShortTime(r.Started), command.ShortTime(r.Ended), command.Bytes(r.Bytes), command.Shorten(command.OneLine(seeds), 120))
	}
	if err := tab.Print(w, wide); err != nil {
		return err
	}
	if !wide && len(unreadable) > 0 { // which the table may have cut
		fmt.Fprintf(w, "\n%s\n", strings.Join(unreadable, "\n"))
	}
	if a.Truncated {
		fmt.Fprintf(w, "\nonly the first %d folders were searched\n", runsFolders)
	}
	return nil
}
