package inspect

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/cli/command"
	"headway/visit"
)

// SlowCommand builds `headway slow`.
func SlowCommand() *cobra.Command {
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
	dir := command.DirFlag(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		found, err := command.FindCrawl(*dir, "")
		if err != nil {
			return err
		}
		past, err := command.OpenStored(cmd.Context(), found)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, past.View.Close()) }()
		slow, err := past.Crawl(cmd.ErrOrStderr()).Slow(cmd.Context())
		if err != nil {
			return command.Failed(err, "inspect "+found+" with headway runs")
		}
		return PrintSlow(cmd, &slow, asJSON)
	}
	return cmd
}

// PrintSlow says where the time went.
func PrintSlow(cmd *cobra.Command, slow *answer.Slow, asJSON bool) error {
	if asJSON {
		return command.PrintJSON(cmd.OutOrStdout(), slow)
	}
	for _, n := range slow.Notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "headway: note: "+n)
	}
	return printSlowText(cmd.OutOrStdout(), slow)
}

// slowBar is how long the bar of a hundred per cent is.
const slowBar = 30

// printSlowText shows where the time went to a person.
func printSlowText(w io.Writer, s *answer.Slow) error {
	fmt.Fprintln(w, command.OneLine(s.Sentence))
	if s.Change != "" {
		fmt.Fprintf(w, "what would help: %s\n", command.OneLine(s.Change))
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
			hosts = command.Plural(p.Hosts, "host") + " now"
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
			fmt.Fprintf(tab, "  %s\t%s\t%s\t%d waiting\t%s in total\n", l.Name, l.Setting, limit, l.Waiting, command.RoundTime(l.Waited.Duration()))
		}
		return tab.Flush()
	}
	return nil
}
