package gauge

import (
	"time"

	"headway/ask"
	"headway/frontier"
	"headway/job"
	"headway/limit"
	"headway/store"
)

// Report says how a crawl ended. It adds up: Counts.Seen is the sum of all outcomes.
type Report struct {
	Job     job.ID
	State   job.State // final state; running if it can be resumed
	Reason  string    // for people
	Success bool      // false for timeout, blocked, failed, cancelled
	Resumed bool      // it resumed an earlier run
	Again   bool      // it was already finished; nothing was done
	Errors  []string  // limits that stopped it
	// Limit stopped it with work left; nil for none.
	Limit *limit.Ceiling

	Counts    store.Counts
	Spent     limit.Use     // all runs together
	Elapsed   time.Duration // this run
	Shares    []frontier.Share
	Requests  int64 // this run
	Pages     int64 // this run
	Incidents int64
	Refusals  int64 // refusals in this run: 429, 503
	Warnings  []string
}

// Progress is a snapshot of a running crawl.
type Progress struct {
	At         time.Time
	Elapsed    time.Duration
	Counts     store.Counts // slightly older than At
	Spent      limit.Use
	Rate       float64 // recent pages per second
	Frontier   frontier.Stats
	Shares     []frontier.Share // host time so far
	Slowest    []ask.Host
	Resumed    bool      // it resumed an earlier run
	Before     limit.Use // spent by earlier runs
	AtLeast    bool      // one of them was killed: Before.Requests is a minimum
	Warnings   []string
	Ceilings   []limit.Ceiling
	Stopping   string // why no further requests are sent
	Layers     []Layer
	Commits    int64
	CommitTime time.Duration // total
	LastCommit time.Duration
}
