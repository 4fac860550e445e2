package store

import (
	"context"
	"time"

	"headway/job"
)

// MaxHostTimes is how many host times one commit has at most.
const MaxHostTimes = 10_000

// HostTime is how long hosts with work of a job were in one state, in the sum of all hosts:
// "fetching", a wait reason, or "other_jobs" while the host worked or waited for another
// job.
type HostTime struct {
	Job   job.ID
	State string
	Spent time.Duration
}

// HostTimes is an optional interface of stores that many workers share: it keeps the host
// times that commits add up. Other stores reject a commit with host times; a crawl that is
// alone has them in its series.
type HostTimes interface {
	// HostTime returns the sums of a job by state; a missing job has none.
	HostTime(ctx context.Context, id job.ID) (map[string]time.Duration, error)
}
