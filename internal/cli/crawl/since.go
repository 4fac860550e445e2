package crawl

import (
	"context"
	"errors"
	"fmt"
	"iter"

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
	cfg.Since = knownURLs(ctx, side.Reader, side.Job)
	cfg.Known = func(ctx context.Context, u weburl.URL) (*visit.Visit, error) {
		e, err := side.Reader.Lookup(ctx, side.Job, u)
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		return e.Visit, err
	}
	return side.Reader.Close, nil
}

// knownURLs are the URLs of a crawl that are worth asking for again.
func knownURLs(ctx context.Context, r store.Reader, id job.ID) iter.Seq2[visit.Item, error] {
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
				if e.Outcome == visit.Skipped {
					continue
				}
				it := e.Item
				if e.Visit != nil && e.Visit.Answer.Validators != (visit.Validators{}) {
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

// knownPage is how many URLs are read at a time.
const knownPage = 1000
