package inspect

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/cli/command"
	"headway/visit"
)

// SlowCommand builds `headway slow`.
func SlowCommand() *cobra.Command {
	var asJSON, wide bool
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
	command.WideFlag(cmd, &wide)
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
		return PrintSlow(cmd, &slow, asJSON, wide)
	}
	return cmd
}

// PrintSlow says where the time went.
func PrintSlow(cmd *cobra.Command, slow *answer.Slow, asJSON, wide bool) error {
	if asJSON {
		return command.PrintJSON(cmd.OutOrStdout(), slow)
	}
	for _, n := range slow.Notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "headway: note: "+n)
	}
	return printSlowText(cmd.OutOrStdout(), slow, wide)
}

// slowBar is how long the bar of a hundred per cent is.
const slowBar = 30

// printSlowText shows where the time went to a person.
func printSlowText(w io.Writer, s *answer.Slow, wide bool) error {
	command.PrintSentences(w, command.OneLine(s.Sentence), wide)
	if s.Change != "" {
		command.PrintText(w, "what would help: ", command.OneLine(s.Change), wide)
	}
	word := s.State
	if s.Running {
		word += " for"
	} else {
		word += " after"
	}
	fmt.Fprintf(w, "\n%s %s; host time by state:\n", word, s.Elapsed.Duration().Round(100*time.Millisecond))
	states := command.NewTable("", "", "~", "")
	for _, p := range s.Parts {
		hosts := ""
		if s.Running {
			hosts = command.Plural(p.Hosts, "host") + " now"
		}
		if n := s.Paused; n > 0 && p.State == string(visit.WaitHold) {
			hosts = strings.TrimPrefix(fmt.Sprintf("%s, %d paused by an operator", hosts, n), ", ")
		}
		states.Add("  "+p.State, fmt.Sprintf("%5.1f %%", 100*p.Part), hosts, strings.Repeat("▇", int(p.Part*slowBar+0.5)))
	}
	if err := states.Print(w, wide); err != nil {
		return err
	}
	if len(s.Slowest) > 0 {
		fmt.Fprintln(w, "\nslowest hosts:")
		hosts := command.NewTable("~", "", "", "~")
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
			hosts.Add("  "+h.Host.Host, paceText(h.Pace), h.Source, waiting)
		}
		if err := hosts.Print(w, wide); err != nil {
			return err
		}
	}
	if len(s.Layers) > 0 {
		fmt.Fprintln(w, "\nlimits that delayed work:")
		layers := command.NewTable("~", "~", "", "", "")
		for _, l := range s.Layers {
			limit := "no limit"
			if l.Limit > 0 {
				limit = fmt.Sprintf("%d of %d in use", l.Use, l.Limit)
			}
			layers.Add("  "+l.Name, l.Setting, limit, fmt.Sprintf("%d waiting", l.Waiting), command.RoundTime(l.Waited.Duration())+" in total")
		}
		return layers.Print(w, wide)
	}
	return nil
}
