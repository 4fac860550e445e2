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
	// Turn returns what a queued job waits for; not ok for any other job.
	Turn(ctx context.Context, id job.ID) (t Turn, ok bool, err error)
	// Stops returns the limits that stopped jobs, by job and oldest first, including
	// those of earlier runs.
	Stops(ctx context.Context, ids []job.ID) (map[job.ID][]Notice, error)
}

// MaxPlace is the last place in the queue that is counted.
const MaxPlace = 100

// Turn is the place of a queued job in the queue, and what it depends on.
type Turn struct {
	// Place is 1 for the job that is next when places become free one by one. Jobs of
	// tenants that use all the places of their plan count too, so it may start sooner.
	// 0 beyond [MaxPlace], and while as many tenants have queued jobs: it is not counted.
	Place   int64
	Workers int64 // of the fleet
	Older   int64 // of them, those too old for the tables: no job starts while one is alive
	Running int64 // admitted jobs of the fleet
	Own     int64 // those of its tenant
	OwnMax  int64 // as many as its tenant's plan allows; 0 for no limit
}

// QueueReason is why a job is queued.
type QueueReason string

// The reasons.
const (
	QueuedNoWorker    QueueReason = "no_worker"    // the fleet has no worker
	QueuedOlderWorker QueueReason = "older_worker" // a worker of an older version is alive
	QueuedPlan        QueueReason = "plan_limit"   // its tenant runs as many crawls as its plan allows
	QueuedFleet       QueueReason = "fleet_limit"  // all places of the fleet are taken
	QueuedStarting    QueueReason = "starting"     // nothing else runs: a worker is about to start it
)

// Reason is why the job is queued.
func (t Turn) Reason() QueueReason {
	switch {
	case t.Workers == 0:
		return QueuedNoWorker
	case t.Older > 0:
		return QueuedOlderWorker
	case t.OwnMax > 0 && t.Own >= t.OwnMax:
		return QueuedPlan
	case t.Running > 0:
		return QueuedFleet
	default:
		return QueuedStarting
	}
}

// JobQuery selects the jobs of a tenant, or of all.
type JobQuery struct {
	Tenant string
	All    bool      // those of all tenants
	State  job.State // empty for all
	Before job.ID    // only older ones; 0 for all
	Max    int       // at most MaxPage
}
