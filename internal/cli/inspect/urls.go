package inspect

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/cli/command"
	"headway/visit"
)

// URLsCommand builds `headway urls`.
func URLsCommand() *cobra.Command {
	var q answer.URLQuery
	var outcome, reason, host string
	var most int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "urls",
		Short: "List URLs by outcome: fetched, pending, skipped, failed, dead …",
		Long: `List the URLs of a crawl, running or finished, one per line: outcome, reason or
HTTP status, and URL. With --json each line is a JSON object that also has
where and when the URL was found. Waiting URLs are pending.

Out-of-scope URLs are not listed; headway why shows whether one was found.`,
		Example: `  headway urls --outcome skipped --reason robots_disallow
  headway urls --outcome dead --json
  headway urls --outcome pending --host example.com --prefix /shop/`,
		Args: cobra.NoArgs,
	}
	dir := command.DirFlag(cmd.Flags())
	cmd.Flags().StringVar(&outcome, "outcome", "", "list only URLs with this `outcome`, such as skipped, failed, dead or pending")
	cmd.Flags().StringVar(&reason, "reason", "", "list only URLs that were skipped or failed for this `reason`")
	cmd.Flags().StringVar(&host, "host", "", "list only URLs of this `host`")
	cmd.Flags().StringVar(&q.Prefix, "prefix", "", "list only URLs that start with this `prefix`: a URL, or a path with its leading slash")
	cmd.Flags().IntVar(&most, "max", 0, "maximum URLs to list; 0 means all")
	command.JSONFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		q.Outcome, q.Reason = visit.Outcome(outcome), visit.Reason(reason)
		if err := q.Check(); err != nil {
			return command.Usage(err, "see headway urls --help for examples")
		}
		if most < 0 {
			return command.Usage(fmt.Errorf("invalid value %d for --max", most), "give a number of URLs; 0 lists all")
		}
		if host != "" {
			if q.Hosts, err = command.HostsNamed(host); err != nil {
				return err
			}
		}
		found, err := command.FindCrawl(*dir, "")
		if err != nil {
			return err
		}
		view, j, err := command.OpenView(cmd.Context(), found)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, view.Close()) }()
		out := bufio.NewWriter(cmd.OutOrStdout())
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		n, more := 0, false
		for row, err := range answer.ListURLs(cmd.Context(), view, j.ID, q) {
			if err != nil {
				return command.Failed(err, "inspect "+found+" with headway runs")
			}
			if more = most > 0 && n == most; more {
				break
			}
			if asJSON {
				err = enc.Encode(row)
			} else {
				_, err = fmt.Fprintf(out, "%-12s  %-18s  %s\n", row.Outcome, whyOf(&row), command.OneLine(row.URL))
			}
			if err != nil {
				return command.Failed(fmt.Errorf("print the URLs: %w", err), "")
			}
			n++
		}
		if err := out.Flush(); err != nil {
			return command.Failed(fmt.Errorf("print the URLs: %w", err), "")
		}
		switch {
		case asJSON:
		case more:
			fmt.Fprintf(cmd.ErrOrStderr(), "only the first %s shown; --max 0 lists all\n", command.Plural(n, "URL"))
		default:
			fmt.Fprintln(cmd.ErrOrStderr(), command.Plural(n, "URL"))
		}
		return nil
	}
	return cmd
}

// whyOf is the reason of a URL, or the status that its server answered.
func whyOf(row *answer.URLRow) string {
	switch {
	case row.Reason != "":
		return string(row.Reason)
	case row.Status != 0:
		return strconv.Itoa(row.Status)
	default:
		return "-"
	}
}
