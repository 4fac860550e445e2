package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/ask"
	"headway/internal/cli/command"
	"headway/store"
)

// CourtesyCommand builds `headway courtesy`.
func CourtesyCommand() *cobra.Command {
	var format string
	var asJSON, wide bool
	cmd := &cobra.Command{
		Use:   "courtesy HOST",
		Short: "Write a courtesy receipt: how a host was crawled, for its owner",
		Long: `Write a courtesy receipt for the owner of a host: who crawled it, how many
requests, how many at once and how close together, which robots.txt was obeyed,
which requests were refused and how the crawler reacted, and how to slow it
down or stop it. It is made from records written during the crawl.

The HTML form is a single file without scripts or external resources. Values of
query parameters that look like secrets are redacted.`,
		Example: `  headway courtesy example.com
  headway courtesy https://shop.example.com --format html > receipt.html`,
		Args: cobra.ExactArgs(1),
	}
	dir := command.DirFlag(cmd.Flags())
	cmd.Flags().StringVar(&format, "format", "text", "output `format`: text, json or html")
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if asJSON {
			format = "json"
		}
		write := map[string]func(io.Writer, *answer.Receipt) error{
			"text": func(w io.Writer, r *answer.Receipt) error { return printReceipt(w, r, wide) }, "html": printReceiptHTML,
			"json": func(w io.Writer, r *answer.Receipt) error { return command.PrintJSON(w, r) },
		}[format]
		if write == nil {
			return command.Usage(fmt.Errorf("invalid format %q", format), "choose one of text, json, html")
		}
		names, err := command.HostsNamed(args[0])
		if err != nil {
			return err
		}
		found, err := command.FindCrawl(*dir, names[0])
		if err != nil {
			return err
		}
		p, err := command.OpenStored(cmd.Context(), found)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.View.Close()) }()
		host, err := chosenHost(cmd.Context(), p, names, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		r, err := readReceipt(cmd.Context(), p, host, time.Now().UTC(), cmd.ErrOrStderr())
		if err != nil {
			return command.Failed(err, "inspect "+found+" with headway runs")
		}
		return write(cmd.OutOrStdout(), r)
	}
	return cmd
}

// chosenHost is the host that was meant: of https and http the one that has a part in
// the crawl.
func chosenHost(ctx context.Context, p *command.StoredCrawl, names []string, errs io.Writer) (string, error) {
	var known []string
	for _, host := range names {
		page, err := p.View.List(ctx, store.Query{Job: p.Job.ID, Host: host, Max: 1})
		if err != nil {
			return "", command.Failed(err, "inspect "+p.Dir+" with headway runs")
		}
		if len(page.Entries) > 0 {
			known = append(known, host)
		}
	}
	switch len(known) {
	case 0:
		return "", command.Usage(fmt.Errorf("host %s is not part of the crawl in %s", names[0], p.Dir), "headway hosts lists the hosts of a crawl")
	case 1:
	default:
		fmt.Fprintf(errs, "headway: showing %s; for the other scheme, give %s\n", known[0], known[1])
	}
	return known[0], nil
}

// readReceipt gathers what was recorded of a host.
func readReceipt(ctx context.Context, p *command.StoredCrawl, host string, now time.Time, errs io.Writer) (*answer.Receipt, error) {
	q := answer.ReceiptQuestion{
		Host: host, Now: now, Since: p.Job.CreatedAt, // what was before is of another crawl
		Who: answer.Who{UserAgent: p.Asked.UserAgent, Contact: p.Asked.Contact, Token: cmp.Or(p.Asked.Token, command.Product)},
	}
	if p.First.UserAgent != p.Asked.UserAgent {
		q.Earlier = p.First.UserAgent
	}
	var err error
	if q.Orders, err = ask.NewMailbox(p.Dir).Log(); err != nil {
		return nil, err
	}
	return answer.ReadReceipt(ctx, q, p.Crawl(errs))
}

// receiptRows is how many refusals and changes of pace are shown to a person: the
// latest.
const receiptRows = 20

// printReceipt shows a receipt as text.
func printReceipt(w io.Writer, r *answer.Receipt, wide bool) error {
	fmt.Fprintf(w, "Courtesy receipt for %s\n", r.Host)
	fmt.Fprintf(w, "created %s", utc(r.MadeAt))
	if r.Running {
		fmt.Fprint(w, "; the crawl is still running")
	}
	fmt.Fprint(w, "\n\nWho we are\n")
	for _, row := range whoRows(r) {
		command.PrintText(w, fmt.Sprintf("  %-19s ", row.Name), command.OneLine(row.Value), wide)
	}
	fmt.Fprint(w, "\nWhat we did\n")
	for _, row := range didRows(r) {
		command.PrintText(w, fmt.Sprintf("  %-19s ", row.Name), row.Value, wide)
	}
	fmt.Fprint(w, "\nrobots.txt we obeyed\n")
	for _, v := range r.Robots {
		fmt.Fprintf(w, "  %s\n", v.SHA256)
		command.PrintText(w, "  ", fmt.Sprintf("%s, %d decisions, %d URLs skipped", sizeText(v.Bytes), v.Decisions, v.Disallowed), wide)
		command.PrintText(w, "  ", fmt.Sprintf("fetched %s, last confirmed %s", utc(v.First), utc(v.Last)), wide)
	}
	if len(r.Robots) == 0 {
		fmt.Fprintln(w, "  "+noRobots(r))
	}
	printReactions(w, r, wide)
	if len(r.Orders) > 0 {
		fmt.Fprint(w, "\nOperator actions\n")
		for _, o := range lastRows(r.Orders) {
			command.PrintText(w, fmt.Sprintf("  %s  ", utc(o.At)), orderText(&o), wide)
		}
	}
	fmt.Fprint(w, "\nHow to slow or stop us\n")
	for _, s := range r.Instructions {
		command.PrintText(w, "  ", fmt.Sprintf("%s: %s.", s.Goal, command.OneLine(s.How)), wide)
		command.PrintText(w, "    ", s.Effect, wide)
	}
	fmt.Fprint(w, "\nLimits of these numbers\n")
	for _, n := range r.Notes {
		command.PrintText(w, "  - ", command.OneLine(n), wide)
	}
	return nil
}

// printReactions shows refusals and what followed.
func printReactions(w io.Writer, r *answer.Receipt, wide bool) {
	fmt.Fprint(w, "\nRefusals and how we reacted\n")
	if r.Refusals == 0 {
		fmt.Fprintln(w, "  no page request was refused")
	}
	for _, x := range lastRows(r.Incidents) {
		line := fmt.Sprintf("  %s  %s  %s", utc(x.At), answersText(&x), command.OneLine(x.URL))
		if !wide {
			line = command.Cut(line, command.LineWidth)
		}
		fmt.Fprintln(w, line)
		command.PrintText(w, "    ", reaction(&x), wide)
	}
	if n := len(lastRows(r.Incidents)); n < len(r.Incidents) {
		fmt.Fprintf(w, "  (latest %d of %d; --json lists more)\n", n, len(r.Incidents))
	}
	if r.Now != nil && r.Now.Noise != "" {
		command.PrintText(w, "  ", r.Now.Noise, wide)
	}
	if len(r.PaceChanges) == 0 {
		return
	}
	fmt.Fprint(w, "\nPace changes\n")
	for _, p := range lastRows(r.PaceChanges) {
		command.PrintText(w, fmt.Sprintf("  %s  %s to %s  ", utc(p.At), paceText(p.From), paceText(p.To)), causeText(p.Cause), wide)
	}
	if n := len(lastRows(r.PaceChanges)); n < len(r.PaceChanges) {
		fmt.Fprintf(w, "  (latest %d of %d; --json lists all)\n", n, len(r.PaceChanges))
	}
}

func lastRows[T any](list []T) []T { return list[max(0, len(list)-receiptRows):] }

// factRow is a name and a value for people.
type factRow struct{ Name, Value string }

func whoRows(r *answer.Receipt) []factRow {
	contact := r.Who.Contact
	if contact == "" {
		contact = "none: only hosts owned by the operator were crawled"
	}
	agent := r.Who.UserAgent
	if agent == "" {
		agent = "not recorded by the version that ran this crawl"
	}
	return []factRow{{"user agent", agent}, {"contact", contact}, {"robots.txt token", r.Who.Token}}
}

func didRows(r *answer.Receipt) []factRow {
	if r.Requests == 0 {
		rows := []factRow{{"page requests", "none"}}
		if r.Disallowed > 0 {
			rows = append(rows, factRow{"not requested", command.Plural(int(r.Disallowed), "URL") + ", disallowed by robots.txt"})
		}
		return rows
	}
	rows := []factRow{
		{"period", utc(r.From) + " to " + utc(r.To)},
		{"page requests", requestsText(r)},
		{"pages", fmt.Sprintf("%d, %s", r.Pages, command.Bytes(r.Bytes))},
		{"responses", statusesText(r.Statuses)},
		{"peak concurrency", fmt.Sprint(r.PeakConcurrency)},
		{"smallest interval", gapText(r)},
		{"busiest minute", command.Plural(r.BusiestMinute, "request")},
	}
	if r.Disallowed > 0 {
		rows = append(rows, factRow{"not requested", command.Plural(int(r.Disallowed), "URL") + ", disallowed by robots.txt"})
	}
	if r.Refusals > 0 {
		rows = append(rows, factRow{"refusals", refusalsText(r)}, factRow{"during Retry-After", command.Plural(r.SentInside, "request")})
	}
	if r.Unsent > 0 {
		rows = append(rows, factRow{"not connected", command.Plural(int(r.Unsent), "attempt")})
	}
	if h := r.Now; h != nil {
		rows = append(rows, factRow{"current pace", paceText(h.Pace) + " between requests, " + sourceText(h.Source)})
	}
	return rows
}

func requestsText(r *answer.Receipt) string {
	text := fmt.Sprint(r.Requests)
	if r.Repeated > 0 {
		text += fmt.Sprintf(", %d of them retried later", r.Repeated)
	}
	return text
}

func gapText(r *answer.Receipt) string {
	if r.SmallestGap == nil {
		return "only one request was sent"
	}
	return fmt.Sprintf("%.3f s between two requests, at %s; median %.3f s", r.SmallestGap.Duration().Seconds(), utc(r.SmallestGapAt), r.MedianGap.Duration().Seconds())
}

func statusesText(list []answer.StatusCount) string {
	var parts []string
	for _, s := range list {
		if s.Status == 0 {
			parts = append(parts, fmt.Sprintf("%d without a response", s.N))
		} else {
			parts = append(parts, fmt.Sprintf("%d x %d", s.N, s.Status))
		}
	}
	return strings.Join(parts, ", ")
}

// sourceText says what sets a pace.
func sourceText(source string) string {
	switch source {
	case "crawl_delay":
		return "set by Crawl-delay"
	case "learned":
		return "learned from refusals"
	case "operator":
		return "set by the operator"
	default:
		return "the default"
	}
}

// causeText says why a pace changed.
func causeText(cause string) string {
	switch cause {
	case "incident":
		return "the host pushed back"
	case "probe":
		return "probing a shorter interval"
	case "probe_failed":
		return "the host pushed back, so the shorter interval was dropped"
	case "noise":
		return "refusals did not depend on our pace"
	case "url":
		return "one URL was refused regardless of pace"
	default:
		return command.OneLine(cause)
	}
}

// orderText says what the operator told the crawl.
func orderText(o *answer.Order) string {
	text := map[ask.Kind]string{
		ask.KindPause: "paused", ask.KindResume: "resumed", ask.KindSlow: "minimum interval set", ask.KindForget: "learned pace discarded",
	}[o.Order]
	return command.OneLine(fmt.Sprintf("%s (before: %s; after: %s)", cmp.Or(text, string(o.Order)), o.Before, o.After))
}

func refusalsText(r *answer.Receipt) string {
	return fmt.Sprintf("%d, in %s", r.Refusals, command.Plural(len(r.Incidents), "incident"))
}

// answersText counts the refusals of an incident.
func answersText(x *answer.Incident) string {
	if x.Answers == 1 {
		return fmt.Sprint(x.Status)
	}
	return fmt.Sprintf("%d x %d", x.Answers, x.Status)
}

// reaction says what followed an incident.
func reaction(x *answer.Incident) string {
	var parts []string
	if x.RetryAfter != "" {
		parts = append(parts, "Retry-After "+command.Shorten(command.OneLine(x.RetryAfter), 40))
	}
	if x.PaceTo != nil {
		parts = append(parts, fmt.Sprintf("pace %s to %s", paceText(*x.PaceFrom), paceText(*x.PaceTo)))
	} else {
		parts = append(parts, "pace unchanged")
	}
	if x.Next != nil {
		parts = append(parts, fmt.Sprintf("next request %.1f s later", x.Next.Duration().Seconds()))
	} else {
		parts = append(parts, "no request sent since")
	}
	if x.SentInside > 0 {
		parts = append(parts, command.Plural(x.SentInside, "request")+" sent before Retry-After had passed")
	}
	return strings.Join(parts, ", ")
}

func noRobots(r *answer.Receipt) string {
	switch {
	case r.RobotsIgnored > 0:
		return "none: robots.txt was ignored with the host owner's permission"
	case r.RobotsNone > 0:
		return "the host has no robots.txt, or it could not be read"
	default:
		return "no decision used a robots.txt"
	}
}

func sizeText(n int) string {
	if n < 0 {
		return "text no longer stored"
	}
	return command.Plural(n, "byte")
}

// utc is a moment that means the same to whoever reads it.
func utc(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
