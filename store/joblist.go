package store

import (
	"context"

	"headway/job"
)

// JobLists is an optional interface of stores behind a service: the jobs of one tenant
// among those of many.
type JobLists interface {
	// FindJobs returns jobs, the newest first, without their layers.
	FindJobs(ctx context.Context, q JobQuery) ([]Job, error)
	// CountJobs returns the counts of jobs, at most MaxPage, from one snapshot; missing
	// jobs are left out.
	CountJobs(ctx context.Context, ids []job.ID) (map[job.ID]Counts, error)
}

// JobQuery selects the jobs of a tenant, or of all.
type JobQuery struct {
	Tenant string
	All    bool      // those of all tenants
	State  job.State // empty for all
	Before job.ID    // only older ones; 0 for all
	Max    int       // at most MaxPage
}
