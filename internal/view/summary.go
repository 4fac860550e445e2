package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"headway"
	"headway/frontier"
	"headway/internal/humanize"
	"headway/job"
	"headway/limit"
	"headway/visit"
)

// Ended is what the summary of a crawl is made of.
type Ended struct {
	Report headway.Report
	Dir    string   // the folder of the crawl
	Named  bool     // the folder was chosen by --dir, so that later commands need it too
	Seed   string   // the first one
	More   string   // arguments, in addition to the folder, that the command to resume needs; empty for none
	Paused []string // hosts that an operator has paused
	Width  int      // of the terminal; 0: lines are not broken
}

// Summary says how a crawl ended, in numbers that add up, and what to type next.
// Each line ends with a newline.
func Summary(e Ended) string {
	r := e.Report
	var b strings.Builder
	put := func(text string) {
		if text == "" {
			return
		}
		text = clean(text)
		if e.Width == 0 || columns(text) <= e.Width {
			b.WriteString(text + "\n")
			return
		}
		for _, l := range wrap(plain, text, e.Width) {
			b.WriteString(l.paint(false) + "\n")
		}
	}
	switch {
	case r.Again:
		put(fmt.Sprintf("%s: already finished (%s); nothing to do (--fresh starts over)", r.State, r.Reason))
	case r.State == job.Running:
		put("interrupted: run the same command to resume")
	default:
		put(fmt.Sprintf("%s: %s", r.State, r.Reason))
	}
	for _, text := range r.Errors {
		put(text)
	}
	sums := humanize.Sums(r.Counts)
	put(sumLine(sums))
	for _, s := range sums {
		if s.Outcome == visit.Skipped || s.Outcome == visit.Failed {
			put(reasonsLine(s))
		}
	}
	if r.Elapsed > 0 && !r.Again {
		put(fmt.Sprintf("this run: %s, %s in %s (%.1f pages/s)",
			humanize.Plural(r.Pages, "page"), humanize.Plural(r.Requests, "request"), r.Elapsed.Round(100*time.Millisecond), float64(r.Pages)/r.Elapsed.Seconds()))
		put(politenessLine(r))
		put(sharesLine(r.Shares))
	}
	if n := len(e.Paused); n > 0 {
		hosts := strings.Join(e.Paused[:min(n, maxPaused)], ", ")
		if n > maxPaused {
			hosts += fmt.Sprintf(" and %d more", n-maxPaused)
		}
		put("paused by an operator: " + hosts)
	}
	put("folder: " + e.Dir)
	for i, step := range e.next() {
		if i == 0 {
			put("next: " + step)
		} else {
			put("      " + step)
		}
	}
	return b.String()
}

// maxPaused is how many paused hosts are named.
const maxPaused = 3

// politenessLine summarises refusals and other reactions of hosts, as far as recorded.
func politenessLine(r headway.Report) string {
	if r.Refusals == 0 && r.Incidents == 0 {
		return "politeness: no host pushed back"
	}
	line := fmt.Sprintf("politeness: hosts pushed back %s, %s (429, 503)", humanize.Plural(r.Incidents, "time"), humanize.Plural(r.Refusals, "refusal"))
	var throttled int64
	for e, n := range r.Counts.Ended {
		if e.Outcome == visit.Throttled {
			throttled += n
		}
	}
	if throttled > 0 {
		line += fmt.Sprintf("; %s still throttled (not dead)", humanize.Plural(throttled, "URL"))
	}
	return line
}

// next returns useful commands, each with what it does.
func (e Ended) next() []string {
	r := e.Report
	in := ""
	if e.Named {
		in = " --dir " + quote(e.Dir)
	}
	why := func(text string) string { return fmt.Sprintf("headway why %s%s  # %s", quote(e.Seed), in, text) }
	slow := fmt.Sprintf("headway slow%s  # shows where the time went and what would help", in)
	switch r.State {
	case job.Partial:
		if l := r.Limit; l != nil && l.Layer != limit.Job {
			return []string{fmt.Sprintf("headway config  # shows where %s.%s is set; flags cannot raise it", l.Layer, l.Limit), slow}
		}
		return []string{e.resumeCommand(), slow}
	case job.Blocked:
		return []string{why("shows the blocking rule")}
	case job.Failed, job.Cancelled:
		return []string{why("shows what was tried"), e.command("--fresh", "tries again")}
	case job.Complete:
		steps := []string{fmt.Sprintf("headway why URL%s  # explains an outcome or a missing page", in), slow}
		for ending := range r.Counts.Ended {
			if ending.Outcome == visit.Dead {
				return append(steps, fmt.Sprintf("headway urls --outcome dead%s  # lists dead URLs; works for every outcome", in))
			}
		}
		return steps
	default:
		return []string{e.command("", "resumes the crawl"), slow}
	}
}

// command is the crawl's command with more arguments, and what it does.
func (e Ended) command(more, does string) string {
	return strings.Join(slices.DeleteFunc([]string{"headway crawl --dir", quote(e.Dir), e.More, more}, func(w string) bool { return w == "" }), " ") + "  # " + does
}

// resumeCommand says how to resume a partial crawl.
func (e Ended) resumeCommand() string {
	r := e.Report
	if r.Reason == headway.DiscoveryStopped {
		return e.command("", "resumes and follows the deferred links")
	}
	name := limit.Name(r.Reason)
	if rule := name.Rule(); rule != nil && rule.Asked && rule.Extent {
		return e.command(fmt.Sprintf("--%s N", strings.ReplaceAll(string(name), "_", "-")), "resumes with a higher limit N")
	}
	switch name {
	case "disk":
		return e.command("", "resumes once there is free disk space")
	case limit.Patience:
		for ending := range r.Counts.Ended {
			if ending.Outcome == visit.Deferred {
				return e.command("--patience N", "resumes with a longer patience N")
			}
		}
		return e.command("--fresh", "tries again")
	default:
		return e.command("", "resumes with a higher limit")
	}
}

// quote quotes a text for a shell if needed.
func quote(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+,=", r))
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// sumLine is the sum of all outcomes.
func sumLine(sums []humanize.Sum) string {
	var seen int64
	var parts []string
	for _, s := range sums {
		seen += s.N
		parts = append(parts, fmt.Sprintf("%d %s", s.N, s.Outcome))
	}
	if len(parts) == 0 {
		parts = []string{"0"}
	}
	return fmt.Sprintf("seen %d = %s", seen, strings.Join(parts, " + "))
}

// reasonsLine splits an outcome by reason, the most frequent first.
func reasonsLine(s humanize.Sum) string {
	var parts []string
	for _, r := range s.Reasons {
		parts = append(parts, fmt.Sprintf("%d %s", r.N, r.Reason))
	}
	return fmt.Sprintf("%s %d = %s", s.Outcome, s.N, strings.Join(parts, " + "))
}

// sharesLine says where host time went, in parts that add up to 100 %.
func sharesLine(shares []frontier.Share) string {
	list := slices.Clone(shares)
	slices.SortStableFunc(list, func(a, b frontier.Share) int { return cmp.Compare(b.Part, a.Part) })
	parts := make([]float64, len(list))
	for i := range list {
		parts[i] = list[i].Part
	}
	var words []string
	for i, n := range whole(parts, 1000) {
		if n > 0 {
			words = append(words, fmt.Sprintf("%s %d.%d %%", list[i].State, n/10, n%10))
		}
	}
	if words == nil {
		return ""
	}
	return "host time: " + strings.Join(words, ", ")
}
