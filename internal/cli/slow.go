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
	"headway/job"
	"headway/visit"
)

// slowMoment is how long a running crawl is watched to tell now from so far.
const slowMoment = time.Second

// slowHosts is how many hosts are looked at for what sets their interval.
const slowHosts = 1000

func slowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "slow",
		Short: "Say where the time of a crawl went, and what would make it faster",
		Long: `Say which layer took the time of a crawl, running or ended: in shares of
host-time, which add up to 100 %, because each host with work is at every instant
fetching or waiting for exactly one thing. Then whether more workers would help, and
the one change that would. A crawl that runs is watched for a second, to tell what it
waits for now from what it waited for so far.`,
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
		facts, err := past.slow(cmd.Context(), cmd.ErrOrStderr())
		if err != nil {
			return failed(err, "look at "+found+" with headway runs")
		}
		slow := answer.ExplainSlow(facts)
		if asJSON {
			return printJSON(cmd.OutOrStdout(), slow)
		}
		return printSlow(cmd.OutOrStdout(), &slow)
	}
	return cmd
}

// slow collects where the time went: by the word of the crawl if it runs, else
// by what it stored.
func (p *past) slow(ctx context.Context, errs io.Writer) (answer.SlowFacts, error) {
	var before, now *ask.Status
	if p.running {
		before = p.status(ctx)
	}
	if before != nil && p.dir == "" {
		before, now = nil, before // what the hosts of a fleet do now is told apart by job, what they did is not
	}
	if before != nil {
		select {
		case <-time.After(slowMoment):
		case <-ctx.Done():
			return answer.SlowFacts{}, ctx.Err()
		}
		now = p.status(ctx)
	}
	query := answer.HostQuery{Sort: "pace", Max: slowHosts}
	if now != nil {
		query.Sort, query.Filters = "eta", []string{"waiting"}
	} else if p.running {
		fmt.Fprintln(errs, "headway: warning: the crawl does not answer, or has just ended; this is what it has stored")
	}
	hosts, err := p.hosts(ctx, query, time.Now().UTC(), io.Discard)
	if err != nil {
		return answer.SlowFacts{}, err
	}
	if now != nil {
		facts := answer.SlowRunning(before, now, hosts.Hosts)
		if facts.Forbidden, err = p.forbidden(ctx, hosts.Hosts); err != nil || p.dir != "" {
			return facts, err
		}
		counts, err := p.view.Counts(ctx, p.job.ID)
		facts.Waiting, facts.State = counts.Waiting, string(p.job.State)
		fmt.Fprintln(errs, "headway: note: what hosts do now is of this job; host time so far is that of all jobs on its workers")
		return facts, err
	}
	points, err := p.view.Points(ctx, p.job.ID)
	if err != nil {
		return answer.SlowFacts{}, err
	}
	counts, err := p.view.Counts(ctx, p.job.ID)
	if err != nil {
		return answer.SlowFacts{}, err
	}
	facts := answer.SlowStored(p.job, counts.Waiting, points, hosts.Hosts)
	facts.Untold = p.dir == ""
	if p.job.State == job.Running && !p.running {
		facts.State = "interrupted"
	}
	return facts, nil
}

// slowForbidden is how many hosts are looked at for URLs that robots.txt forbids:
// those that take longest.
const slowForbidden = 5

// forbidden counts what robots.txt forbids of that which waits on the hosts that
// take longest.
func (p *past) forbidden(ctx context.Context, hosts []answer.Host) (map[string]answer.Forbidden, error) {
	counts := map[string]answer.Forbidden{}
	for i := range hosts[:min(len(hosts), slowForbidden)] {
		host := hosts[i].Host.Host
		n, err := answer.CountForbidden(ctx, p.view, p.job.ID, host, &p.asked, time.Now())
		if err != nil {
			return nil, err
		}
		counts[host] = n
	}
	return counts, nil
}

// status asks the crawl how it stands; nil if it does not answer.
func (p *past) status(ctx context.Context) *ask.Status {
	ctx, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	a, err := p.asker.Ask(ctx, ask.Question{Kind: ask.KindStatus, Job: p.job.ID})
	if err != nil {
		return nil
	}
	return a.Status
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
	fmt.Fprintf(w, "\n%s %s; host time by what hosts did or waited for:\n", word, s.Elapsed.Duration().Round(100*time.Millisecond))
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
				if h.ETA > 0 {
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
		fmt.Fprintln(w, "\nlayers that work waited for:")
		for _, l := range s.Layers {
			limit := "no limit"
			if l.Limit > 0 {
				limit = fmt.Sprintf("%d of %d in use", l.Use, l.Limit)
			}
			fmt.Fprintf(tab, "  %s\t%s\t%s\t%d waiting\t%s in all\n", l.Name, l.Setting, limit, l.Waiting, roundTime(l.Waited.Duration()))
		}
		return tab.Flush()
	}
	return nil
}
