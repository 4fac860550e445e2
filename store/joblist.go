package store

import (
	"context"

	"headway/job"
)

// JobLists is a further ability of stores behind a service: the jobs of one
// tenant among those of many.
type JobLists interface {
	// FindJobs returns jobs, the newest first. It leaves their layers out.
	FindJobs(ctx context.Context, q JobQuery) ([]Job, error)
	// CountJobs returns the counts of jobs, at most MaxPage, as of one moment; a
	// job that is not there has none.
	CountJobs(ctx context.Context, ids []job.ID) (map[job.ID]Counts, error)
}

// JobQuery asks for the jobs of a tenant, or of all.
type JobQuery struct {
	Tenant string
	All    bool      // those of all tenants
	State  job.State // empty for all
	Before job.ID    // only older ones; 0 for all
	Max    int       // at most MaxPage
}
