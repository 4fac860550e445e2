package headway

import (
	"context"
	"errors"
	"fmt"

	"headway/internal/engine"
	"headway/store"
)

// Fleet is the configuration that all workers of a fleet share.
type Fleet struct {
	// Open turns a stored job into what is to be crawled.
	Open func(store.Job) (Job, error)
	// Settings are the settings of the fleet from which Terms and CommitGap of the worker were
	// taken. When the stored lease or commit gap differ from them, Work leaves the fleet and
	// returns [store.ErrSettingsChanged]. The zero value does not check. The safety limits
	// are always those in the store.
	Settings store.FleetSettings
}

// Work runs a worker of a fleet until ctx ends or it is drained: it acquires its share of
// the slots, works on every running job, and releases everything at the end. A worker that
// loses its lease, or its store for that long, rejoins by itself. It returns only errors
// that a retry does not help, and [store.ErrSettingsChanged].
func Work(ctx context.Context, w Worker, f Fleet) error {
	w = w.withDefaults()
	if err := w.validate(); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	if _, ok := w.Store.(store.Queue); !ok {
		return errors.New("worker: the store cannot be shared by a fleet")
	}
	if f.Open == nil {
		return errors.New("worker: Fleet.Open is required")
	}
	bodies := w.takeBodies()
	err := engine.Work(ctx, w.engine(), engine.Fleet{Settings: f.Settings, Open: func(stored store.Job) (engine.Job, error) {
		j, err := f.Open(stored)
		if err != nil {
			return engine.Job{}, err
		}
		j = j.withDefaults()
		return j.engine(), errors.Join(j.validate(), w.fits(&j))
	}})
	return errors.Join(err, bodies.Close())
}
