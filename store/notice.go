package store

import (
	"context"
	"time"

	"headway/job"
	"headway/limit"
)

// Notices stores notices about the limits of jobs.
type Notices interface {
	// Note stores a notice and reports whether it is new: for the same limit and mark
	// only the first is kept. One that stopped the job is new once in each run of the job,
	// and that of the last run is kept.
	Note(ctx context.Context, n Notice) (first bool, err error)
	// Notices returns those of a job, oldest first.
	Notices(ctx context.Context, id job.ID) ([]Notice, error)
}

// Notice says that a limit of a job was nearly reached, or stopped it.
type Notice struct {
	Job      job.ID
	At       time.Time
	Limit    limit.Name
	Layer    limit.Level
	Max      int64 // durations in nanoseconds
	Observed int64
	Percent  int    // the mark that was reached, or StoppedBy
	Text     string // for people
}

// StoppedBy is the mark of a limit that stopped a job.
const StoppedBy = 100

// NoticeOf is the notice of a limit that is nearly reached.
func NoticeOf(id job.ID, now time.Time, w limit.Warning) Notice {
	return Notice{id, now, w.Limit, w.Layer, w.Max, w.Observed, w.Percent, w.String()}
}

// StopOf is the notice of a limit that stopped a job.
func StopOf(id job.ID, now time.Time, over *limit.ExceededError) Notice {
	return Notice{id, now, over.Limit, over.Layer, over.Max, over.Observed, StoppedBy, over.Error()}
}
