package store

import (
	"context"
	"time"
)

// Queue is a further ability of stores that many workers share: jobs that wait
// for a place among the running. A job has a place from when it is set running
// until it has ended, while it is paused or draining, too, and whatever becomes
// of the workers.
type Queue interface {
	// Admit sets queued jobs running, in order, while fewer than most have a
	// place, and returns them without their Spec.
	//
	// Tenants take turns: next is the one whose first queued job has been first
	// of its tenant for longest, so between that moment and its own turn no
	// other tenant is served twice, however many come. Within a tenant jobs go in
	// the order they were queued. All workers may call it at the same time; each
	// job is returned to one of them.
	Admit(ctx context.Context, now time.Time, most int) ([]Job, error)
	// ActiveJobs returns the jobs that have a place, by number, without their
	// Spec.
	ActiveJobs(ctx context.Context) ([]Job, error)
}
