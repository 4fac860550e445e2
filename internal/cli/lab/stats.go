package lab

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headway/internal/cli/command"
	"headway/lab"
)

func labStatsCommand() *cobra.Command {
	var at string
	var asJSON, wide, reset bool
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show what a crawler did, as seen by the lab",
		Long: `Show what the lab has counted since it was started or reset: what was fetched,
and what a polite crawler would not have done.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var stats lab.Stats
			if err := askLab(cmd.Context(), at, "stats", &stats); err != nil {
				return err
			}
			if reset {
				if err := askLab(cmd.Context(), at, "reset", nil); err != nil {
					return err
				}
			}
			if asJSON {
				return command.PrintJSON(cmd.OutOrStdout(), stats)
			}
			return printStats(cmd.OutOrStdout(), stats, wide)
		},
	}
	atFlag(cmd, &at)
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	cmd.Flags().BoolVar(&reset, "reset", false, "reset all counters afterwards")
	return cmd
}

// printStats shows the sums, then each host that was touched.
func printStats(w io.Writer, s lab.Stats, wide bool) error {
	t := s.Total
	fmt.Fprintf(w, "%d of %d pages (%.1f %%) of %d hosts, %d requests in %v\n\n",
		t.UniquePages, s.Pages, 100*s.Complete, s.Hosts, t.Requests, time.Duration(s.SpanSeconds*float64(time.Second)).Round(time.Millisecond))
	tab := command.NewTable("~host", "requests", "pages", "+repeated", "refused", "impolite", "+trap", "concurrent", "min interval")
	row := func(name string, h lab.HostStats) {
		rude := h.RobotsViolations + h.BeforeRobots + h.Robots5xxIgnored + h.NofollowHits + h.InsideRetryAfter
		tab.Add(name, h.Requests, h.UniquePages, h.PageAnswers-h.UniquePages,
			h.Refusals, rude, h.TrapHits, h.MaxConcurrent, gap(h.MinGapMS))
	}
	for i, h := range s.PerHost {
		if i == shownHosts {
			break
		}
		row(strings.TrimPrefix(h.Host, "http://"), h)
	}
	row("all", t)
	if err := tab.Print(w, wide); err != nil {
		return err
	}
	if more := len(s.PerHost) - shownHosts; more > 0 {
		fmt.Fprintf(w, "and %d more hosts; --json lists all\n", more)
	}
	if rude := rudeness(t); len(rude) > 0 {
		fmt.Fprintf(w, "\nimpolite: %s\n", strings.Join(rude, ", "))
	}
	return nil
}

// rudeness names what a polite crawler would not have done.
func rudeness(h lab.HostStats) []string {
	var list []string
	for _, r := range []struct {
		n    int64
		what string
	}{
		{h.RobotsViolations, "requests disallowed by robots.txt"},
		{h.BeforeRobots, "requests before robots.txt was fetched"},
		{h.Robots5xxIgnored, "requests while robots.txt was unreachable"},
		{h.NofollowHits, "requests to nofollow links"},
		{h.InsideRetryAfter, "requests during Retry-After"},
	} {
		if r.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", r.n, r.what))
		}
	}
	return list
}

// gap shows milliseconds between requests; a host with one request has none.
func gap(ms float64) string {
	if ms < 0 {
		return "-"
	}
	return time.Duration(ms * float64(time.Millisecond)).Round(100 * time.Microsecond).String()
}
