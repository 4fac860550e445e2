package store

import (
	"context"
	"time"

	"headway/job"
	"headway/limit"
)

// Notices is what is told of the limits of jobs, once and for later readers.
type Notices interface {
	// Note keeps a notice and tells whether it is new: of the same ceiling and
	// mark only the first is kept. One that stopped the job counts each time, the
	// latest is kept.
	Note(ctx context.Context, n Notice) (first bool, err error)
	// Notices returns those of a job, oldest first.
	Notices(ctx context.Context, id job.ID) ([]Notice, error)
}

// Notice is a limit of a job that came near, or stopped it.
type Notice struct {
	Job      job.ID
	At       time.Time
	Limit    limit.Name
	Layer    limit.Level
	Max      int64 // durations in nanoseconds
	Observed int64
	Percent  int    // the mark that was passed, or StoppedBy
	Text     string // for people
}

// StoppedBy is the mark of a limit that stopped a job.
const StoppedBy = 100

// NoticeOf is the notice of a limit that comes near.
func NoticeOf(id job.ID, now time.Time, w limit.Warning) Notice {
	return Notice{id, now, w.Limit, w.Layer, w.Max, w.Observed, w.Percent, w.String()}
}

// StopOf is the notice of a limit that stopped a job.
func StopOf(id job.ID, now time.Time, over *limit.ExceededError) Notice {
	return Notice{id, now, over.Limit, over.Layer, over.Max, over.Observed, StoppedBy, over.Error()}
}
