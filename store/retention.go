package store

import (
	"context"
	"time"

	"headway/job"
)

// Retention is a further ability of stores behind a service: what is to be
// forgotten.
type Retention interface {
	// Expired returns jobs that ended longer ago than their results are kept, the
	// oldest first. How long that is the plan of their tenant says now, or the
	// safety layer or the job itself if they say less; where nobody says anything
	// results are kept. Whoever forgets one calls [Jobs.Drop].
	Expired(ctx context.Context, now time.Time, most int) ([]job.ID, error)
	// ForgetEvents forgets the oldest events if they are older than EventLife, at
	// most MaxEvents, and returns how many.
	ForgetEvents(ctx context.Context, now time.Time) (int, error)
}
