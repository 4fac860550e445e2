package crawl

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"headway/answer"
	"headway/content"
	"headway/internal/cli/command"
	"headway/job"
	"headway/store"
	"headway/visit"
	"headway/weburl"
)

// openSince reads an earlier crawl, for one that asks what changed: its URLs with
// what servers gave to ask by, and what they were. Close it after the crawl.
func (c *crawlRun) openSince(ctx context.Context, cfg *crawlConfig) (closeIt func() error, err error) {
	same, err := command.SameFolder(c.since, c.dir)
	if err != nil {
		return nil, err
	}
	if same {
		return nil, command.Usage(fmt.Errorf("--since %s is the folder of this crawl", c.since), "choose another folder for the new crawl with --dir")
	}
	side, err := command.OpenSide(ctx, c.since)
	if err != nil {
		return nil, err
	}
	sameRules := side.Spec.Extract == c.Settings.Extract.String()
	conditional := true
	switch {
	case !sameRules && c.Settings.Extract != nil:
		conditional = false
		fmt.Fprintf(c.Err, "headway: %s was crawled with other extraction rules, so every page is fetched again\n", c.since)
	case slices.ContainsFunc(c.Settings.Content, func(form string) bool { return !slices.Contains(side.Spec.Content, form) }):
		conditional = false
		fmt.Fprintf(c.Err, "headway: %s was crawled without --content %s, so every page is fetched again\n", c.since, strings.Join(c.Settings.Content, ","))
	case c.Settings.Links && !side.Spec.Links:
		conditional = false
		fmt.Fprintf(c.Err, "headway: %s was crawled without --links, so every page is fetched again\n", c.since)
	}
	cfg.Since = KnownURLs(ctx, side.Reader, side.Job, conditional)
	cfg.Known = func(ctx context.Context, u weburl.URL) (*visit.Visit, error) {
		e, err := side.Reader.Lookup(ctx, side.Job, u)
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil || e.Visit == nil {
			return e.Visit, err
		}
		if !conditional {
			e.Visit.Answer.Validators = visit.Validators{}
		}
		if e.Visit.Page.Content != nil {
			if e.Visit.Page.Content, err = c.knownContent(ctx, side, u, sameRules); err != nil {
				return nil, err
			}
		}
		switch {
		case !c.Settings.Links:
			e.Visit.Page.Links = nil
		case e.Visit.Page.Links != nil:
			err = KnownLinks(ctx, side.Reader, side.Job, e.Visit)
		}
		return e.Visit, err
	}
	return side.Reader.Close, nil
}

// knownContent is what an earlier crawl kept of a page, as far as this one keeps it.
func (c *crawlRun) knownContent(ctx context.Context, side answer.Side, u weburl.URL, sameRules bool) (*visit.Content, error) {
	keep, fields := c.Settings.ContentOptions(), sameRules && c.Settings.Extract != nil
	if keep == (content.Options{}) && !fields {
		return nil, nil
	}
	was, err := side.Reader.Content(ctx, side.Job, u)
	if err != nil || was == nil {
		return nil, err
	}
	is := *was
	if keep == (content.Options{}) {
		is = visit.Content{Fields: is.Fields, FieldProblems: is.FieldProblems}
	}
	if !fields {
		is.Fields, is.FieldProblems = "", ""
	}
	if !keep.Text {
		is.Text = ""
	}
	if !keep.Markdown {
		is.Markdown = ""
	}
	return &is, nil
}

// KnownLinks reads the links that an earlier crawl kept of a page into its visit.
func KnownLinks(ctx context.Context, r store.Reader, id job.ID, v *visit.Visit) (err error) {
	if v.Links, err = r.Links(ctx, id, v.Item.URL); len(v.Links) < v.Page.Links.Count {
		v.Page.Links, v.Links = nil, nil // that crawl has opened the URL again
	}
	return err
}

// KnownURLs are the URLs of a crawl that are worth requesting again, with the validators of
// the pages it has if unchanged ones need not be sent. URLs that robots.txt or an opt-out
// forbade are among them: it may say otherwise now, and unchanged pages with links to them are
// not read again.
func KnownURLs(ctx context.Context, r store.Reader, id job.ID, conditional bool) iter.Seq2[visit.Item, error] {
	return func(yield func(visit.Item, error) bool) {
		q := store.Query{Job: id, Max: knownPage}
		for {
			page, err := r.List(ctx, q)
			if err != nil {
				yield(visit.Item{}, err)
				return
			}
			for i := range page.Entries {
				e := &page.Entries[i]
				if e.Outcome == visit.Skipped && !wasForbidden(e.Reason) {
					continue // the rules of the crawl skip it again if a page links to it
				}
				it := e.Item
				it.Validators = visit.Validators{}
				if conditional && (e.Outcome == visit.Fetched || e.Outcome == visit.NotModified) && e.Visit != nil {
					it.Validators = e.Visit.Answer.Validators
				}
				if !yield(it, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			q.After = page.Next
		}
	}
}

// wasForbidden reports whether a URL that belongs to the crawl was skipped because its host
// did not allow it.
func wasForbidden(why visit.Reason) bool {
	return why == visit.RobotsDisallow || why == visit.RobotsUnreachable || why == visit.CrawlDelayTooLong || why == visit.OptedOut
}

// knownPage is how many URLs are read at a time.
const knownPage = 1000
