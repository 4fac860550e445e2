package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"headway/answer"
	"headway/internal/cli/command"
	"headway/store"
)

// linkLimit is how many links are shown unless --limit is set.
const linkLimit = 20

// LinksCommand builds `headway links`.
func LinksCommand() *cobra.Command {
	var in, out, asJSON, wide bool
	var limit int
	cmd := &cobra.Command{
		Use:   "links URL",
		Short: "Show the links to and from a URL",
		Long: `Show which pages of a crawl link to a URL, and where its own links lead, with
their text. It needs a crawl with --links. Links that the crawl did not follow
are included: out of scope, blocked by robots.txt or nofollow. It works while
the crawl runs and afterwards. Nothing is requested.

For all links of a crawl, use headway export --format parquet.`,
		Example: `  headway links https://example.com/about
  headway links example.com/about --in --limit 100
  headway links https://example.com/ --out --dir headway-example.com --json`,
		Args: cobra.ExactArgs(1),
	}
	dir := command.DirFlag(cmd.Flags())
	cmd.Flags().BoolVar(&in, "in", false, "show only links to the URL")
	cmd.Flags().BoolVar(&out, "out", false, "show only links from the URL")
	cmd.Flags().IntVar(&limit, "limit", linkLimit, fmt.Sprintf("maximum links to show in each direction, up to %d", store.MaxPage))
	command.JSONFlag(cmd, &asJSON)
	command.WideFlag(cmd, &wide)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if limit < 1 || limit > store.MaxPage {
			return command.Usage(fmt.Errorf("invalid value %d for --limit", limit), fmt.Sprintf("give a number from 1 to %d; headway export --format parquet has all links", store.MaxPage))
		}
		a, err := readLinks(cmd.Context(), *dir, args[0], answer.LinkQuestion{In: in || !out, Out: out || !in, Max: limit})
		if err != nil {
			return err
		}
		if asJSON {
			return command.PrintJSON(cmd.OutOrStdout(), a)
		}
		return printLinks(cmd.OutOrStdout(), a, wide)
	}
	return cmd
}

// readLinks finds the crawl and reads the links.
func readLinks(ctx context.Context, dir, text string, q answer.LinkQuestion) (a *answer.Links, err error) {
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
	defer func() { err = errors.Join(err, view.Close()) }()
	kept, err := view.KeepsLinks(ctx, j.ID)
	if err != nil {
		return nil, command.Failed(err, "inspect "+found+" with headway runs")
	}
	asked, err := command.LastAsked(found, j)
	if err != nil {
		return nil, err
	}
	if !kept && asked.Links {
		return nil, command.Failed(fmt.Errorf("no page of the crawl in %s has links", found), "headway urls lists what happened to its URLs")
	}
	if !kept {
		return nil, command.Failed(fmt.Errorf("the crawl in %s kept no links", found), "crawl with --links to keep them; headway why shows where a URL was found first")
	}
	chosen, err := knownReading(ctx, view, j, readings)
	if err != nil {
		return nil, command.Failed(err, "")
	}
	q.Store, q.Job, q.URL = view, j.ID, chosen.URL
	if a, err = answer.ReadLinks(ctx, q); err != nil {
		return nil, command.Failed(err, "inspect "+found+" with headway runs")
	}
	return a, nil
}

// printLinks prints the links for people.
func printLinks(w io.Writer, a *answer.Links, wide bool) error {
	state := "not a URL of this crawl"
	if a.Seen {
		state = string(a.Outcome)
	}
	command.PrintText(w, "", command.OneLine(a.URL), wide)
	fmt.Fprintln(w, state)
	if a.In != nil {
		if err := printLinkList(w, "links in", "~FROM", a.In, wide); err != nil {
			return err
		}
	}
	if a.Out == nil {
		return nil
	}
	if a.Out.Missing {
		_, err := fmt.Fprintln(w, "\nlinks out: not kept, as the page was not fetched or the crawl kept no links then")
		return err
	}
	return printLinkList(w, "links out", "~TO", a.Out, wide)
}

// printLinkList prints the links in one direction.
func printLinkList(w io.Writer, title, head string, list *answer.LinkList, wide bool) error {
	n := len(list.Links)
	count := fmt.Sprint(n)
	switch {
	case list.More && list.Total > 0:
		count = fmt.Sprintf("%d of %d; --limit shows more", n, list.Total)
	case list.More:
		count = fmt.Sprintf("the first %d; --limit shows more", n)
	}
	if list.Cut {
		count += "; the page has more than were kept"
	}
	if _, err := fmt.Fprintf(w, "\n%s: %s\n", title, count); err != nil || n == 0 {
		return err
	}
	t := command.NewTable(head, "~TEXT", "KIND", "FOLLOW", "+REL", "+POSITION")
	for _, l := range list.Links {
		follow := "yes"
		if l.Nofollow {
			follow = "no"
		}
		t.Add(command.OneLine(l.URL), command.OneLine(l.Anchor), command.OneLine(l.Kind), follow, command.OneLine(l.Rel), l.Position)
	}
	return t.Print(w, wide)
}
