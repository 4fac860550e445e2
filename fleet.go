package headway

import (
	"context"
	"errors"
	"fmt"

	"headway/internal/engine"
	"headway/limit"
	"headway/store"
)

// Fleet is what a worker of a fleet has in common with the others.
type Fleet struct {
	// Open turns a stored job into what is to be crawled, from what was asked for.
	Open func(store.Job) (Job, error)
	// Safety is the operator's layer of limits, the same in all workers: no plan
	// and no job can raise it. ConcurrentCrawls is how many jobs run at once in
	// the whole fleet.
	Safety limit.Limits
}

// Work is a worker of a fleet, until ctx ends or it is drained: it takes its share
// of the slots, works on every job that runs, and gives everything back at the
// end. A worker that was taken for dead, or could not reach its store for so long
// that it may have been, starts anew by itself. The error is one that trying again
// does not help.
func Work(ctx context.Context, w Worker, f Fleet) error {
	w = w.withDefaults()
	if err := w.validate(); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	if _, ok := w.Store.(store.Queue); !ok {
		return errors.New("worker: the store is not one that a fleet can share")
	}
	if f.Open == nil {
		return errors.New("worker: nothing turns jobs into crawls")
	}
	return engine.Work(ctx, w.engine(), engine.Fleet{Safety: f.Safety, Open: func(stored store.Job) (engine.Job, error) {
		j, err := f.Open(stored)
		if err != nil {
			return engine.Job{}, err
		}
		j = j.withDefaults()
		return j.engine(), j.validate()
	}})
}
