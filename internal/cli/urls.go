package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/visit"
)

func urlsCommand() *cobra.Command {
	var q answer.URLQuery
	var outcome, reason, host string
	var most int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "urls",
		Short: "List the URLs of a crawl by how they stand: waiting, skipped, failed, dead …",
		Long: `List the URLs of a crawl, running or ended, one a line: the outcome, the reason or
the status of the answer, and the URL. With --json each line is a JSON object, with
where the URL was found and when. Those that wait are pending.

URLs out of scope are not followed and kept apart: headway why tells of one whether
it was met.`,
		Example: `  headway urls --outcome skipped --reason robots_disallow
  headway urls --outcome dead --json
  headway urls --outcome pending --host example.com --prefix /shop/`,
		Args: cobra.NoArgs,
	}
	dir := dirFlag(cmd.Flags())
	cmd.Flags().StringVar(&outcome, "outcome", "", "only those that ended so: an `outcome`, such as skipped, failed, dead or pending")
	cmd.Flags().StringVar(&reason, "reason", "", "only those that were skipped or failed for this `reason`")
	cmd.Flags().StringVar(&host, "host", "", "only those of this `host`")
	cmd.Flags().StringVar(&q.Prefix, "prefix", "", "only those that begin with this: a URL, or a path with its slash")
	cmd.Flags().IntVar(&most, "max", 0, "how many are listed; 0 is all")
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		q.Outcome, q.Reason = visit.Outcome(outcome), visit.Reason(reason)
		if err := q.Check(); err != nil {
			return usage(err, "headway urls --help has examples")
		}
		if most < 0 {
			return usage(fmt.Errorf("at most %d URLs", most), "--max 0 lists all")
		}
		if host != "" {
			if q.Hosts, err = hostsNamed(host); err != nil {
				return err
			}
		}
		found, err := findCrawl(*dir, "")
		if err != nil {
			return err
		}
		view, j, err := openLast(cmd.Context(), found)
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
				return failed(err, "look at "+found+" with headway runs")
			}
			if more = most > 0 && n == most; more {
				break
			}
			if asJSON {
				err = enc.Encode(row)
			} else {
				_, err = fmt.Fprintf(out, "%-12s  %-18s  %s\n", row.Outcome, whyOf(&row), oneLine(row.URL))
			}
			if err != nil {
				return failed(fmt.Errorf("print the URLs: %w", err), "")
			}
			n++
		}
		if err := out.Flush(); err != nil {
			return failed(fmt.Errorf("print the URLs: %w", err), "")
		}
		switch {
		case asJSON:
		case more:
			fmt.Fprintf(cmd.ErrOrStderr(), "the first %s; there are more, --max 0 lists all\n", plural(n, "URL"))
		default:
			fmt.Fprintln(cmd.ErrOrStderr(), plural(n, "URL"))
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
