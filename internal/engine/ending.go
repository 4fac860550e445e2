package engine

import (
	"context"
	"fmt"

	"headway/job"
	"headway/output"
	"headway/store"
	"headway/visit"
)

// finish completes the files people asked for.
func (c *crawler) finish(ctx context.Context, id job.ID) error {
	for _, w := range c.cfg.Outputs {
		if f, ok := w.(output.Finisher); ok {
			if err := f.Finish(ctx, ledger{c.st, id}); err != nil {
				return fmt.Errorf("finish output: %w", err)
			}
		}
	}
	return nil
}

// ledger is the store as outputs see it.
type ledger struct {
	st  store.Store
	job job.ID
}

// Ended implements [output.Ledger].
func (l ledger) Ended(ctx context.Context) (map[output.Ending]int64, error) {
	counts, err := l.st.Counts(ctx, l.job)
	if err != nil {
		return nil, err
	}
	ended := map[output.Ending]int64{}
	for e, n := range counts.Ended {
		if e.Reason != visit.OutOfScope {
			ended[output.Ending(e)] = n
		}
	}
	return ended, nil
}

// Each implements [output.Ledger].
func (l ledger) Each(ctx context.Context, e output.Ending, yield func(*visit.Visit) error) error {
	q := store.Query{Job: l.job, Outcome: e.Outcome, Reason: e.Reason, Max: store.MaxPage}
	for {
		page, err := l.st.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Entries {
			x := &page.Entries[i]
			v := x.Visit
			if v == nil {
				v = &visit.Visit{Item: x.Item, Outcome: x.Outcome, Reason: x.Reason}
			}
			if err := yield(v); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		q.After = page.Next
	}
}
