package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"headway"
	"headway/frontier"
	"headway/job"
	"headway/store"
	"headway/visit"
)

// slowPace is the pace from which on a line names who is slowest.
const slowPace = 2 * time.Second

// slowCommit is how long storing may take before a line says so.
const slowCommit = 500 * time.Millisecond

// Times of progress in plain lines.
const (
	firstLine = time.Second
	nextLine  = 5 * time.Second
)

// lines prints how a crawl stands, until it is stopped.
type lines struct {
	quit chan struct{}
	done chan struct{}
}

func newLines(w io.Writer, c *headway.Crawl, quiet bool) *lines {
	l := &lines{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		if quiet {
			<-l.quit
			return
		}
		timer := time.NewTimer(firstLine)
		defer timer.Stop()
		for {
			select {
			case <-l.quit:
				return
			case <-timer.C:
			}
			if p := c.Progress(); p != nil {
				fmt.Fprintln(w, progressLine(p))
			}
			timer.Reset(nextLine)
		}
	}()
	return l
}

func (l *lines) stop() {
	close(l.quit)
	<-l.done
}

// progressLine is one line about how a crawl stands.
func progressLine(p *headway.Progress) string {
	parts := []string{
		fmt.Sprintf("%s  %d pages", clockTime(p.Elapsed), p.Spent.Pages),
		fmt.Sprintf("%.1f/s", p.Rate),
		fmt.Sprintf("%d waiting", p.Counts.Waiting),
		fmt.Sprintf("%d in flight", p.Frontier.InFlight),
		fmt.Sprintf("%d hosts", p.Frontier.Working),
	}
	if on := waitingOn(p.Shares); on != "" {
		parts = append(parts, "waiting on "+on)
	}
	if len(p.Slowest) > 0 && p.Slowest[0].Pace >= slowPace {
		parts = append(parts, fmt.Sprintf("slowest %s, %s", p.Slowest[0].Host, p.Slowest[0].Pace.Round(10*time.Millisecond)))
	}
	if p.LastCommit > slowCommit {
		parts = append(parts, fmt.Sprintf("storing takes %s", p.LastCommit.Round(10*time.Millisecond)))
	}
	if p.Stopping != "" {
		parts = append(parts, "stopping: "+p.Stopping)
	}
	return strings.Join(parts, "  ")
}

// mostShares is how many reasons a line names.
const mostShares = 3

// waitingOn names what hosts wait for now.
func waitingOn(shares []frontier.Share) string {
	now := slices.DeleteFunc(slices.Clone(shares), func(s frontier.Share) bool { return s.Hosts == 0 || s.State == frontier.Fetching })
	slices.SortStableFunc(now, func(a, b frontier.Share) int { return cmp.Compare(b.Hosts, a.Hosts) })
	var words []string
	for _, s := range now[:min(len(now), mostShares)] {
		words = append(words, fmt.Sprintf("%s %d", s.State, s.Hosts))
	}
	return strings.Join(words, ", ")
}

// clockTime is a time in minutes and seconds, or hours too.
func clockTime(d time.Duration) string {
	s := int(d.Seconds())
	if s < 3600 {
		return fmt.Sprintf("%02d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// printSummary says how a crawl ended, in numbers that add up.
func printSummary(w io.Writer, dir string, r headway.Report) {
	switch {
	case r.Again:
		fmt.Fprintf(w, "%s: had ended before (%s)\n", r.State, r.Reason)
	case r.State == job.Running:
		fmt.Fprintf(w, "interrupted: the same command goes on\n")
	default:
		fmt.Fprintf(w, "%s: %s\n", r.State, r.Reason)
	}
	for _, e := range r.Errors {
		fmt.Fprintln(w, e)
	}
	fmt.Fprintln(w, sumLine(r.Counts))
	for _, outcome := range []visit.Outcome{visit.Skipped, visit.Failed} {
		if line := reasonsLine(r.Counts, outcome); line != "" {
			fmt.Fprintln(w, line)
		}
	}
	if r.Elapsed > 0 && !r.Again {
		fmt.Fprintf(w, "this run: %d pages, %d requests in %s (%.1f pages/s), %d times a host pushed back\n",
			r.Pages, r.Requests, r.Elapsed.Round(100*time.Millisecond), float64(r.Pages)/r.Elapsed.Seconds(), r.Incidents)
	}
	if line := sharesLine(r.Shares); line != "" {
		fmt.Fprintln(w, "host time: "+line)
	}
	fmt.Fprintln(w, "folder: "+dir)
	if r.State == job.Partial {
		fmt.Fprintln(w, nextStep(r))
	}
}

// nextStep says how to go on with a crawl that is partial.
func nextStep(r headway.Report) string {
	if r.Reason != "patience" {
		return "the same command with a higher limit goes on"
	}
	for e := range r.Counts.Ended {
		if e.Outcome == visit.Deferred {
			return "the same command with more --patience goes on"
		}
	}
	return "the same command with --fresh tries again"
}

// sumLine is the sum of all outcomes.
func sumLine(c store.Counts) string {
	sums := map[visit.Outcome]int64{}
	for e, n := range c.Ended {
		sums[e.Outcome] += n
	}
	sums[visit.Pending] += c.Waiting
	var parts []string
	for _, o := range visit.Outcomes {
		if n := sums[o]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	if len(parts) == 0 {
		parts = []string{"0"}
	}
	return fmt.Sprintf("seen %d = %s", c.Seen(), strings.Join(parts, " + "))
}

// reasonsLine splits an outcome by reason, the most frequent first.
func reasonsLine(c store.Counts, o visit.Outcome) string {
	reasons := map[visit.Reason]int64{}
	var sum int64
	for e, n := range c.Ended {
		if e.Outcome == o {
			reasons[e.Reason] += n
			sum += n
		}
	}
	if sum == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(reasons), func(a, b visit.Reason) int {
		return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, r := range names {
		parts = append(parts, fmt.Sprintf("%d %s", reasons[r], r))
	}
	return fmt.Sprintf("%s %d = %s", o, sum, strings.Join(parts, " + "))
}

// sharesLine says where host-time went.
func sharesLine(shares []frontier.Share) string {
	list := slices.Clone(shares)
	slices.SortStableFunc(list, func(a, b frontier.Share) int { return cmp.Compare(b.Part, a.Part) })
	var parts []string
	for _, s := range list {
		if s.Part >= 0.0005 {
			parts = append(parts, fmt.Sprintf("%s %.1f %%", s.State, 100*s.Part))
		}
	}
	return strings.Join(parts, ", ")
}
