package inspect

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/ask"
	"headway/internal/cli/command"
	"headway/internal/config"
)

// hostsListed is how many hosts are shown unless told.
const hostsListed = 50

// Fleet is what `headway host` and `headway hosts` need of a fleet.
type Fleet interface {
	// Chosen tells whether a command is about a fleet and not about a crawl folder.
	Chosen(cmd *cobra.Command, dir string) (bool, error)
	// Hosts lists the hosts that the workers have in memory.
	Hosts(cmd *cobra.Command, q answer.HostQuery) (*answer.Hosts, error)
	// OrderHost gives the worker that owns a host an order.
	OrderHost(cmd *cobra.Command, name string, q ask.Question, anyway bool) (ask.Answer, error)
}

// HostsCommand builds `headway hosts`.
func HostsCommand(fleet Fleet) *cobra.Command {
	var q answer.HostQuery
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "hosts",
		Short: "Show pace, incidents and queue of each host",
		Long: `Show each host of a crawl, running or finished: its pace (the interval between
two requests) and what sets it (base, crawl_delay, learned or operator), the
floor found by refusals, consecutive clean answers and failures, incidents,
requests in flight, URLs waiting and what they wait for. The finish time of a
host is an estimate: its waiting URLs times its pace. New links make it later,
robots.txt rules sooner.

--filter takes part of a host name, source=, state= or domain= with a value, or
one of these, and repeated filters must all match:
` + strings.Join(answer.HostFilters, ", ") + `.

With --store, or HEADWAY_FLEET_STORE and no --dir, it lists all hosts that the
workers of a fleet have in memory; headway job hosts lists those of one job.`,
		Example: `  headway hosts --sort wait
  headway hosts --filter learned --sort incidents
  headway hosts --filter state=hold --json`,
		Args: cobra.NoArgs,
	}
	dir := command.DirFlag(cmd.Flags())
	HostQueryFlags(cmd, &q)
	config.RegisterStore(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if err := q.Check(); err != nil {
			return command.Usage(err, "see headway hosts --help for sort orders and filters")
		}
		inFleet, err := fleet.Chosen(cmd, *dir)
		if err != nil {
			return err
		}
		if inFleet {
			hosts, err := fleet.Hosts(cmd, q)
			if err != nil {
				return err
			}
			if asJSON {
				return command.PrintJSON(cmd.OutOrStdout(), hosts)
			}
			return PrintHosts(cmd.OutOrStdout(), hosts, wide)
		}
		found, err := command.FindCrawl(*dir, "")
		if err != nil {
			return err
		}
		past, err := command.OpenStored(cmd.Context(), found)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, past.View.Close()) }()
		hosts, err := past.Crawl(cmd.ErrOrStderr()).Hosts(cmd.Context(), q, time.Now().UTC())
		if err != nil {
			return command.Failed(err, "inspect "+found+" with headway runs")
		}
		if asJSON {
			return command.PrintJSON(cmd.OutOrStdout(), hosts)
		}
		return PrintHosts(cmd.OutOrStdout(), hosts, wide)
	}
	return cmd
}

// HostQueryFlags adds the flags that say which hosts are listed.
func HostQueryFlags(cmd *cobra.Command, q *answer.HostQuery) {
	cmd.Flags().StringVar(&q.Sort, "sort", answer.HostSorts[0], "sort by `column`, largest first: "+strings.Join(answer.HostSorts, ", "))
	cmd.Flags().StringSliceVar(&q.Filters, "filter", nil, "list only hosts that match this `filter` (repeatable), see headway hosts --help")
	cmd.Flags().IntVar(&q.Max, "max", hostsListed, "maximum hosts to list; 0 means all")
}

// PrintHosts shows hosts to a person.
func PrintHosts(w io.Writer, a *answer.Hosts, wide bool) error {
	tab := command.NewTable("~HOST", "PACE", "SET BY", "+FLOOR", "+CLEAN", "+FAILED", "INCIDENTS", "WAITING", "+DONE IN", "STATE")
	for i := range a.Hosts {
		h := &a.Hosts[i]
		tab.Add(h.Host.Host, paceText(h.Pace), h.Source, orDash(h.Floor), h.Clean, h.Failures, h.Incidents, h.Waiting, guessText(h.ETA), hostState(h, a.Running, a.At))
	}
	if err := tab.Print(w, wide); err != nil {
		return err
	}
	for i := range a.Hosts {
		if h := &a.Hosts[i]; h.Noise != "" {
			fmt.Fprintf(w, "%s: %s\n", h.Host.Host, h.Noise)
		}
	}
	hosts := command.Plural(a.Matched, "host")
	if a.Matched < a.Total {
		hosts = fmt.Sprintf("%d of %s", a.Matched, command.Plural(a.Total, "host"))
	}
	if len(a.Hosts) < a.Matched {
		hosts += fmt.Sprintf(", %d shown (--max)", len(a.Hosts))
	}
	fmt.Fprintf(w, "\n%s, %s waiting", hosts, command.Plural(int(a.Waiting), "URL"))
	if a.Last != "" {
		fmt.Fprintf(w, "; the last one finishes in %s: %s (estimate: waiting URLs x pace)", guessText(a.Longest), a.Last)
	}
	fmt.Fprintln(w)
	if !a.Running {
		state := a.State
		if state == "running" {
			state = "interrupted"
		}
		fmt.Fprintf(w, "not running; state when the crawl stopped (%s)\n", command.OneLine(strings.TrimSuffix(state+", "+a.Reason, ", ")))
	}
	return nil
}

// hostState says what a host does or waits for.
func hostState(h *answer.Host, running bool, now time.Time) string {
	until, held := h.Held(now)
	switch {
	case h.Paused:
		return "paused"
	case h.State == "" && h.Waiting == 0:
		return "done"
	case h.State == "" && held:
		return "on hold until " + until.Local().Format(time.TimeOnly)
	case h.State == "" && running:
		return "not loaded" // in the store, until it is ready, or there is room for it
	case h.State == "":
		return "not finished"
	case h.State == answer.Fetching:
		return fmt.Sprintf("%s, %d of %d", h.State, h.InFlight, h.Cap)
	case h.Until.After(now):
		return fmt.Sprintf("%s %v", h.State, max(h.Until.Sub(now).Round(time.Second), time.Second))
	default:
		return h.State
	}
}

// paceText is a pace in seconds: people compare columns.
func paceText(d ask.Seconds) string {
	if d > 0 && d.Duration() < 10*time.Millisecond {
		return d.Duration().String()
	}
	return fmt.Sprintf("%.2f s", d.Duration().Seconds())
}

func orDash(d ask.Seconds) string {
	if d == 0 {
		return "-"
	}
	return paceText(d)
}

// guessText is a time that nobody should rely on.
func guessText(d ask.Seconds) string {
	if d == 0 {
		return "-"
	}
	return "~" + max(d.Duration().Round(time.Second), time.Second).String()
}
