package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/visit"
)

func slowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "slow",
		Short: "Show where the time went, and what would speed a crawl up",
		Long: `Show which layer took the time of a crawl, running or finished, in shares of
host time that add up to 100 %: at every instant each host with work is
fetching or waiting for exactly one thing. Then say whether more workers would
help, and the one change that would. A running crawl is observed for a second,
to distinguish what it is waiting for now from what it waited for so far.`,
		Example: `  headway slow
  headway slow --dir headway-example.com --json`,
		Args: cobra.NoArgs,
	}
	dir := dirFlag(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		found, err := findCrawl(*dir, "")
		if err != nil {
			return err
		}
		past, err := openPast(cmd.Context(), found)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, past.view.Close()) }()
		slow, err := past.crawl(cmd.ErrOrStderr()).Slow(cmd.Context())
		if err != nil {
			return failed(err, "inspect "+found+" with headway runs")
		}
		return tellSlow(cmd, &slow, asJSON)
	}
	return cmd
}

// tellSlow says where the time went.
func tellSlow(cmd *cobra.Command, slow *answer.Slow, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), slow)
	}
	for _, n := range slow.Notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "headway: note: "+n)
	}
	return printSlow(cmd.OutOrStdout(), slow)
}

// slowBar is how long the bar of a hundred per cent is.
const slowBar = 30

// printSlow shows where the time went to a person.
func printSlow(w io.Writer, s *answer.Slow) error {
	fmt.Fprintln(w, oneLine(s.Sentence))
	if s.Change != "" {
		fmt.Fprintf(w, "what would help: %s\n", oneLine(s.Change))
	}
	word := s.State
	if s.Running {
		word += " for"
	} else {
		word += " after"
	}
	fmt.Fprintf(w, "\n%s %s; host time by state:\n", word, s.Elapsed.Duration().Round(100*time.Millisecond))
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, p := range s.Parts {
		hosts := ""
		if s.Running {
			hosts = plural(p.Hosts, "host") + " now"
		}
		if n := s.Paused; n > 0 && p.State == string(visit.WaitHold) {
			hosts = strings.TrimPrefix(fmt.Sprintf("%s, %d paused by an operator", hosts, n), ", ")
		}
		fmt.Fprintf(tab, "  %s\t%5.1f %%\t%s\t%s\n", p.State, 100*p.Part, hosts, strings.Repeat("▇", int(p.Part*slowBar+0.5)))
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	if len(s.Slowest) > 0 {
		fmt.Fprintln(w, "\nslowest hosts:")
		for i := range s.Slowest {
			h := &s.Slowest[i]
			waiting := ""
			if h.Paused {
				waiting = "paused by an operator"
			}
			if h.Waiting > 0 {
				waiting = strings.TrimPrefix(fmt.Sprintf("%s, %d waiting", waiting, h.Waiting), ", ")
				if h.ETA > 0 && (s.Left == nil || s.Left.Limit == "") { // a limit stops it before
					waiting += ", " + guessText(h.ETA)
				}
			}
			fmt.Fprintf(tab, "  %s\t%s\t%s\t%s\n", h.Host.Host, paceText(h.Pace), h.Source, waiting)
		}
		if err := tab.Flush(); err != nil {
			return err
		}
	}
	if len(s.Layers) > 0 {
		fmt.Fprintln(w, "\nlimits that delayed work:")
		for _, l := range s.Layers {
			limit := "no limit"
			if l.Limit > 0 {
				limit = fmt.Sprintf("%d of %d in use", l.Use, l.Limit)
			}
			fmt.Fprintf(tab, "  %s\t%s\t%s\t%d waiting\t%s in total\n", l.Name, l.Setting, limit, l.Waiting, roundTime(l.Waited.Duration()))
		}
		return tab.Flush()
	}
	return nil
}
