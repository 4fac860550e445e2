package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/ask"
	"headway/internal/config"
	"headway/store/postgres"
)

// hostsListed is how many hosts are shown unless told.
const hostsListed = 50

func hostsCommand() *cobra.Command {
	var q answer.HostQuery
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "hosts",
		Short: "Show how the hosts of a crawl stand: pace, what sets it, incidents, queue",
		Long: `Show each host of a crawl, running or ended: the pace and what sets it (base,
crawl_delay, learned or operator), the floor that refusals have shown, clean answers
and failures in a row, how often it pushed back, what is in flight and waits, and
what it waits for. When a host is done is a guess: the URLs that wait now, one pace
each. Links that are still to be found make it longer, URLs that robots.txt turns
out to forbid shorter.

--filter takes a part of a host's name, one of ` + strings.Join(answer.HostFilters, ", ") + `,
or source=, state= or domain= with a value. Several must all hold.

With --store, or HEADWAY_FLEET_STORE and no --dir, the workers of a fleet are asked for
all hosts that they have in memory, whatever the job; headway job hosts JOB lists
those of one job, also those at rest.`,
		Example: `  headway hosts --sort wait
  headway hosts --filter learned --sort incidents
  headway hosts --filter state=hold --json`,
		Args: cobra.NoArgs,
	}
	dir := dirFlag(cmd.Flags())
	hostQueryFlags(cmd, &q)
	config.RegisterStore(cmd.Flags())
	jsonFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if err := q.Check(); err != nil {
			return usage(err, "headway hosts --help lists them")
		}
		if fleet, err := meansFleet(cmd, *dir); fleet || err != nil {
			if err != nil {
				return err
			}
			return inFleet(cmd, func(ctx context.Context, _ *config.Settings, st *postgres.Store) error {
				hosts, err := fleetHosts(ctx, st, q, cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				if asJSON {
					return printJSON(cmd.OutOrStdout(), hosts)
				}
				return printHostList(cmd.OutOrStdout(), hosts)
			})
		}
		found, err := findCrawl(*dir, "")
		if err != nil {
			return err
		}
		past, err := openPast(cmd.Context(), found)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, past.view.Close()) }()
		hosts, err := past.hosts(cmd.Context(), q, time.Now().UTC(), cmd.ErrOrStderr())
		if err != nil {
			return failed(err, "look at "+found+" with headway runs")
		}
		if asJSON {
			return printJSON(cmd.OutOrStdout(), hosts)
		}
		return printHostList(cmd.OutOrStdout(), hosts)
	}
	return cmd
}

// hostQueryFlags adds the flags that say which hosts are listed.
func hostQueryFlags(cmd *cobra.Command, q *answer.HostQuery) {
	cmd.Flags().StringVar(&q.Sort, "sort", answer.HostSorts[0], "the largest first: `order` is "+strings.Join(answer.HostSorts, ", "))
	cmd.Flags().StringSliceVar(&q.Filters, "filter", nil, "only hosts that are so, see headway hosts --help")
	cmd.Flags().IntVar(&q.Max, "max", hostsListed, "how many are shown; 0 is all")
}

// soon is how long a running crawl is given to answer before what is stored must
// do.
const soon = 2 * time.Second

// hosts lists the hosts that have a part in the crawl.
func (p *past) hosts(ctx context.Context, q answer.HostQuery, now time.Time, errs io.Writer) (*answer.Hosts, error) {
	return p.crawl(errs).Hosts(ctx, q, now)
}

// printHostList shows hosts to a person.
func printHostList(w io.Writer, a *answer.Hosts) error {
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "HOST\tPACE\tSET BY\tFLOOR\tCLEAN\tFAILED\tINCIDENTS\tWAITING\tDONE IN\tSTATE")
	for i := range a.Hosts {
		h := &a.Hosts[i]
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\n", h.Host.Host, paceText(h.Pace), h.Source, orDash(h.Floor), h.Clean, h.Failures, h.Incidents,
			h.Waiting, guessText(h.ETA), hostState(h, a.Running, a.At))
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	for i := range a.Hosts {
		if h := &a.Hosts[i]; h.Noise != "" {
			fmt.Fprintf(w, "%s: %s\n", h.Host.Host, h.Noise)
		}
	}
	hosts := plural(a.Matched, "host")
	if a.Matched < a.Total {
		hosts = fmt.Sprintf("%d of %s", a.Matched, plural(a.Total, "host"))
	}
	if len(a.Hosts) < a.Matched {
		hosts += fmt.Sprintf(", %d shown (--max)", len(a.Hosts))
	}
	fmt.Fprintf(w, "\n%s, %s waiting", hosts, plural(int(a.Waiting), "URL"))
	if a.Last != "" {
		fmt.Fprintf(w, "; the last one done in %s: %s (a guess: URLs that wait now x pace)", guessText(a.Longest), a.Last)
	}
	fmt.Fprintln(w)
	if !a.Running {
		state := a.State
		if state == "running" {
			state = "interrupted"
		}
		fmt.Fprintf(w, "nothing runs; as the crawl left it (%s)\n", oneLine(strings.TrimSuffix(state+", "+a.Reason, ", ")))
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
		return "nothing waits"
	case h.State == "" && held:
		return "held to " + until.Local().Format(time.TimeOnly)
	case h.State == "" && running:
		return "at rest" // in the store, until it is ready, or there is room for it
	case h.State == "":
		return "left waiting"
	case h.State == answer.Fetching:
		return fmt.Sprintf("%s, %d of %d", h.State, h.InFlight, h.Cap)
	case h.Until.After(now):
		return fmt.Sprintf("%s %v", h.State, max(h.Until.Sub(now).Round(time.Second), time.Second))
	default:
		return h.State
	}
}

// paceText is a pace in seconds: people compare columns.
func paceText(d ask.Millis) string {
	if d > 0 && d.Duration() < 10*time.Millisecond {
		return d.Duration().String()
	}
	return fmt.Sprintf("%.2f s", d.Duration().Seconds())
}

func orDash(d ask.Millis) string {
	if d == 0 {
		return "-"
	}
	return paceText(d)
}

// guessText is a time that nobody should rely on.
func guessText(d ask.Millis) string {
	if d == 0 {
		return "-"
	}
	return "~" + max(d.Duration().Round(time.Second), time.Second).String()
}
