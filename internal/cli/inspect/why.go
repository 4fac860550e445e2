package inspect

import (
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
	"headway/job"
	"headway/store"
	"headway/store/sqlite"
	"headway/weburl"
)

// WhyCommand builds `headway why`.
func WhyCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "why URL",
		Short: "Show what happened to a URL, and why",
		Long: `Show how a URL ended and what decided it: where it was found, the scope rule,
the line of robots.txt, the limit, the response to each attempt, what it is
waiting for, and whether it would be fetched now. Nothing is requested. It
works while the crawl runs and afterwards.`,
		Example: `  headway why https://example.com/cart
  headway why example.com/cart --dir headway-example.com --json`,
		Args: cobra.ExactArgs(1),
	}
	dir := command.DirFlag(cmd.Flags())
	command.JSONFlag(cmd, &asJSON)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		w, err := explainWhy(cmd.Context(), *dir, args[0])
		if err != nil {
			return err
		}
		if asJSON {
			return command.PrintJSON(cmd.OutOrStdout(), w)
		}
		PrintWhy(cmd.OutOrStdout(), w)
		return nil
	}
	return cmd
}

// explainWhy finds the crawl and asks it.
func explainWhy(ctx context.Context, dir, text string) (*answer.Why, error) {
	readings, err := command.ReadURL(text)
	if err != nil {
		return nil, err
	}
	found, err := command.FindCrawl(dir, readings[0].URL.Host())
	if err != nil {
		return nil, err
	}
	view, j, err := command.OpenView(ctx, found)
	if err != nil {
		return nil, err
	}
	defer view.Close()
	q := answer.WhyQuestion{Store: view, Job: j}
	if q.OptedOut, err = command.OptOutRule(); err != nil {
		return nil, err
	}
	if q.Spec, err = command.LastAsked(found, q.Job); err != nil {
		return nil, command.Failed(err, "")
	}
	running, err := sqlite.Running(found)
	if err != nil {
		return nil, command.Failed(err, "")
	}
	if running {
		q.Running = RunningURL(ask.NewMailbox(found), j.ID)
	}
	return ExplainURL(ctx, q, text, readings)
}

// ExplainURL explains a URL of a crawl, running or ended.
func ExplainURL(ctx context.Context, q answer.WhyQuestion, text string, readings []command.URLReading) (*answer.Why, error) {
	q.Now = time.Now().UTC()
	chosen, err := knownReading(ctx, q.Store, q.Job, readings)
	if err != nil {
		return nil, command.Failed(err, "")
	}
	q.Text, q.URL, q.Steps = text, chosen.URL, chosen.Steps
	w, err := answer.ExplainWhy(ctx, q)
	if err != nil {
		return nil, command.Failed(err, "")
	}
	return w, nil
}

// knownReading is the one that the crawl has met, else the first.
func knownReading(ctx context.Context, r store.Reader, j store.Job, list []command.URLReading) (command.URLReading, error) {
	if len(list) == 1 {
		return list[0], nil
	}
	for _, l := range list {
		_, err := r.Lookup(ctx, j.ID, l.URL)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return command.URLReading{}, err
		}
	}
	for _, l := range list {
		if _, err := r.Host(ctx, l.URL.Host()); err == nil {
			return l, nil
		} else if !errors.Is(err, store.ErrNotFound) {
			return command.URLReading{}, err
		}
	}
	return list[0], nil
}

// RunningURL asks a running crawl about the state of a URL.
func RunningURL(asker ask.Asker, id job.ID) func(context.Context, weburl.URL) (*ask.URL, error) {
	return func(ctx context.Context, u weburl.URL) (*ask.URL, error) {
		ctx, cancel := context.WithTimeout(ctx, whyPatience)
		defer cancel()
		a, err := asker.Ask(ctx, ask.Question{Kind: ask.KindURL, Job: id, URL: u.String()})
		if errors.Is(err, ask.ErrNoAnswer) || errors.Is(err, context.DeadlineExceeded) {
			return nil, nil //nolint:nilnil // it is just starting or ending: what is stored has to do
		}
		if err != nil {
			return nil, err
		}
		return a.URL, nil
	}
}

// whyPatience is how long a crawl that runs is waited for.
const whyPatience = 2 * time.Second

// PrintWhy prints the answer for people.
func PrintWhy(out io.Writer, w *answer.Why) {
	head := []string{"NEVER SEEN"}
	if w.Seen {
		head = []string{strings.ToUpper(string(w.Outcome))}
		switch {
		case w.Reason != "":
			head = append(head, string(w.Reason))
		case w.Wait != nil && w.Wait.Paused:
			head = append(head, "paused")
		case w.Wait != nil:
			head = append(head, string(w.Wait.Reason))
		}
		if w.Rule != "" {
			head = append(head, w.Rule)
		}
	}
	fmt.Fprintln(out, command.OneLine(strings.Join(head, "  ")))
	fmt.Fprintln(out, command.OneLine(w.URL))
	fmt.Fprintln(out)
	for _, s := range w.Story {
		fmt.Fprintln(out, command.OneLine(s))
	}
	if r := w.Robots; r != nil && len(r.Lines) > 0 {
		fmt.Fprintf(out, "\n%s, sha-256 %.12s…\n", command.OneLine(r.URL), r.SHA256)
		last := 0
		for _, l := range r.Lines {
			if last != 0 && l.N != last+1 {
				fmt.Fprintln(out, "      …")
			}
			last = l.N
			mark := " "
			if l.Mark {
				mark = ">"
			}
			fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("  %s %4d  %s", mark, l.N, command.OneLine(l.Text)), " "))
		}
	}
}
