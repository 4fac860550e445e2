package store

import (
	"context"
	"time"

	"headway/job"
)

// Retention is an optional interface of stores behind a service: deleting old results.
type Retention interface {
	// Expired returns jobs that ended longer ago than their results are kept, the oldest
	// first. The retention is the shortest of the tenant's current plan, the safety layer
	// and the job itself; without any, results are kept. The caller deletes them with
	// [Jobs.Drop].
	Expired(ctx context.Context, now time.Time, most int) ([]job.ID, error)
	// ForgetEvents deletes the oldest events if they are older than EventLife, at most
	// MaxEvents, and returns how many.
	ForgetEvents(ctx context.Context, now time.Time) (int, error)
}
