package store

import (
	"context"

	"headway/job"
)

// JobLists is a further ability of stores behind a service: the jobs of one
// tenant among those of many.
type JobLists interface {
	// FindJobs returns jobs, the newest first.
	FindJobs(ctx context.Context, q JobQuery) ([]Job, error)
}

// JobQuery asks for the jobs of a tenant, or of all.
type JobQuery struct {
	Tenant string
	All    bool      // those of all tenants
	State  job.State // empty for all
	Before job.ID    // only older ones; 0 for all
	Max    int       // at most MaxPage
}
